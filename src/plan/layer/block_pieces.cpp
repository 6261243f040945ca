// Products cut along their tokens, and halves of the tokens that take turns.
#include <algorithm>

#include <fmt/format.h>

#include "block_builder.h"
#include "cairn/core/diagnostics.h"
#include "cairn/plan/token_halves.h"

namespace cairn::plan {

namespace {

constexpr std::string_view k_key = "key";

std::string divisors(std::int64_t n) {
  constexpr std::int64_t k_most = 64;
  std::string text;
  for (std::int64_t d = 2; d <= std::min(n, k_most); ++d)
    if (n % d == 0) text += (text.empty() ? "" : ", ") + std::to_string(d);
  return text;
}

}  // namespace

bool BlockBuilder::leaves_in_pieces(const ir::Operator& op, std::size_t position,
                                    const std::vector<ir::OperatorId>& order) const {
  return std::any_of(op.accesses.begin(), op.accesses.end(), [&](const ir::Access& access) {
    if (access.mode == ir::Mode::read || is_accumulator(access.tensor) ||
        is_fresh_gradient(graph_.tensor(access.tensor)))
      return false;
    const Placements made = wanted(op, access);
    const auto next = next_wanted(access.tensor, position, order);
    for (std::size_t rule = 0; next && rule < made.size(); ++rule)
      if (layer_.options_.rules[rule].axis == Axis::tensor && made[rule].kind == Placement::Kind::partial) return true;
    return false;
  });
}

BlockBuilder::Pieces BlockBuilder::pieces_of(std::size_t position, const std::vector<ir::OperatorId>& order) const {
  const TensorPieces& pieces = layer_.options_.pieces;
  const bool chunked = pieces.kind == TensorPieces::Kind::chunked;
  if (!chunked && pieces.kind != TensorPieces::Kind::triggered) return {};
  const ir::Operator& op = graph_.op(order[position]);
  const ir::Operator& product = op.forward >= 0 ? graph_.op(op.forward) : op;
  const int dim = op.domain.find("sequence");
  if (op.kind != ir::Kind::contraction || !product.is_plain_contraction() || dim < 0) return {};
  bool arrives = false;
  for (const ir::Access& access : op.accesses) {
    const bool has_tokens = uses(access.projection, static_cast<loopnest::DimId>(dim));
    if (access.mode != ir::Mode::read && !has_tokens) return {};  // sums over tokens
    if (access.mode != ir::Mode::read || !has_tokens) continue;
    const Placements want = wanted(op, access);
    for (std::size_t rule = 0; rule < want.size(); ++rule)
      arrives = arrives || (layer_.options_.rules[rule].axis == Axis::tensor &&
                            redistribute(placements_[at(access.tensor)][rule], want[rule]) == Collective::all_gather);
  }
  const bool leaves = leaves_in_pieces(op, position, order);
  if (!leaves && !(arrives && chunked)) return {};
  std::int64_t count = pieces.count;
  for (const SplitRule& rule : layer_.options_.rules)
    if (!chunked && rule.axis == Axis::tensor) count = rule.size;
  const std::int64_t tokens = layer_.box(op)[static_cast<std::size_t>(dim)].extent();
  if (chunked && tokens % count != 0)
    throw core::ConfigurationError("strategy.overlap.tp.chunks",
                                   fmt::format("{} does not divide the {} tokens of '{}'", count, tokens, op.name),
                                   fmt::format("choose one of {}", divisors(tokens)));
  return {.count = static_cast<std::int32_t>(count), .dim = dim};
}

bool BlockBuilder::halves() const {
  return layer_.options_.pieces.kind == TensorPieces::Kind::halves && layer_.layer_.position == ir::Position::body &&
         without_tokens(graph_) == nullptr;
}

// Later tokens see earlier ones: forward begins with the first half, backward with the second.
std::array<int, 2> BlockBuilder::half_order(Term term) const {
  return backward_ && term != Term::recompute ? std::array{1, 0} : std::array{0, 1};
}

void BlockBuilder::turn_to(int half) {
  if (half == half_) return;
  std::swap(placements_, other_.placements);
  std::swap(ready_, other_.ready);
  std::swap(copies_, other_.copies);
  std::swap(blocking_, other_.blocking);
  std::swap(last_compute_, other_.last_compute);
  std::swap(last_transfer_, other_.last_transfer);
  std::swap(kept_copies_, other_.kept_copies);
  half_ = half;
}

bool BlockBuilder::has_work(const ir::Operator& op) const {
  if (half_ < 0 || last_) return true;
  return has_tokens(op);
}

double BlockBuilder::share(ir::TensorId tensor) const {
  if (half_ < 0) return 1.0;
  const auto& dims = graph_.tensor(tensor).dims;
  return std::any_of(dims.begin(), dims.end(), [](const ir::TensorDim& dim) { return counts_tokens(dim.name); }) ? 0.5
                                                                                                                 : 1.0;
}

loopnest::Box BlockBuilder::box(const ir::Operator& op) const {
  loopnest::Box box = layer_.box(op);
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

// Where the whole would wait for a transfer before an operator, or start one after it, the halves take turns.
std::vector<char> BlockBuilder::segment_starts(const std::vector<ir::OperatorId>& order, const std::vector<Term>& terms,
                                               const GradientSync& sync) const {
  std::vector<char> starts(order.size() + 1, 0);
  BlockBuilder whole(*this);
  for (std::size_t position = 0; position < order.size(); ++position) {
    whole.last_transfer_ = -1;
    whole.emit(position, order, terms[position]);
    if (whole.last_transfer_ >= 0) starts[position] = 1;
    whole.last_transfer_ = -1;
    whole.resolve_partials(graph_.op(order[position]), position, order);
    if (whole.last_transfer_ >= 0) starts[position + 1] = 1;
    if (position > 0 && terms[position] != terms[position - 1]) starts[position] = 1;
  }
  (void)sync;
  return starts;
}

void BlockBuilder::run_halves(const std::vector<ir::OperatorId>& order, const std::vector<Term>& terms,
                              const GradientSync& sync) {
  const std::vector<char> starts = segment_starts(order, terms, sync);
  other_ = HalfState{.placements = placements_,
                     .ready = ready_,
                     .copies = copies_,
                     .blocking = blocking_,
                     .last_compute = last_compute_,
                     .last_transfer = -1,
                     .kept_copies = 0};
  // The layer below has seen to it that the half it began with has arrived.
  half_ = half_order(Term::compute)[0];
  blocking_.clear();
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && !starts[end]) ++end;
    for (const int half : half_order(terms[begin])) {
      turn_to(half);
      last_ = half == half_order(terms[begin])[1];
      for (std::size_t position = begin; position < end; ++position) step(position, order, terms, sync);
    }
    begin = end;
  }
  last_ = true;
}

void BlockBuilder::wait_for_first_half() {
  if (layer_.options_.pieces.kind != TensorPieces::Kind::halves) return;
  if (halves()) turn_to(half_order(Term::compute)[0]);
  if (last_transfer_ >= 0) add_step(Step{.kind = StepKind::wait, .stream = Stream::compute}, {last_transfer_});
}

}  // namespace cairn::plan
