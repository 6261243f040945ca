#include "token_turns.h"

#include <algorithm>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/plan/token_halves.h"

namespace cairn::plan {

namespace {

constexpr std::string_view k_key = "key";

}  // namespace

TokenTurns::TokenTurns(const LayerPass& pass)
    : pass_(pass),
      taken_(pass.options().settings.tensor_pieces.kind == TensorPieces::Kind::halves &&
             pass.layer.layer().position == ir::Position::body && without_tokens(pass.graph()) == nullptr) {}

std::array<int, 2> TokenTurns::order(Term term) const {
  return pass_.backward && term != Term::recompute ? std::array{1, 0} : std::array{0, 1};
}

void TokenTurns::begin(Progress& whole) {
  other_ = whole;
  other_->transferred = -1;
  other_->kept_copies = 0;
  half_ = order(Term::compute)[0];
  whole.blocking.clear();
}

void TokenTurns::turn_to(int half, Progress& progress) {
  if (half == half_) return;
  std::swap(progress, *other_);
  half_ = half;
}

bool TokenTurns::has_work(const ir::Operator& op) const { return half_ < 0 || last_ || has_tokens(op); }

double TokenTurns::share(ir::TensorId tensor) const {
  if (half_ < 0) return 1.0;
  const auto& dims = pass_.graph().tensor(tensor).dims;
  const bool has_tokens =
      std::any_of(dims.begin(), dims.end(), [](const ir::TensorDim& dim) { return counts_tokens(dim.name); });
  return has_tokens ? 0.5 : 1.0;
}

loopnest::Box TokenTurns::box(const ir::Operator& op) const {
  loopnest::Box box = pass_.layer.box(op);
  if (half_ < 0) return box;
  for (std::size_t dim = 0; dim < box.size(); ++dim) {
    const std::string& name = op.domain.dims()[dim].name;
    if (!counts_tokens(name)) continue;
    loopnest::Interval& tokens = box[dim];
    if (tokens.extent() % 2 != 0)
      throw core::ConfigurationError("strategy.overlap.tp",
                                     fmt::format("the {} tokens of '{}' cannot be halved", tokens.extent(), op.name),
                                     "use an even number of tokens on every rank, or another kind");
    const std::int64_t middle = tokens.begin + tokens.extent() / 2;
    if (half_ == 0)
      tokens.end = middle;
    else if (name != k_key)  // the second half sees the first
      tokens.begin = middle;
  }
  return box;
}

}  // namespace cairn::plan
