#include "product_cuts.h"

#include <algorithm>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"

namespace cairn::plan {

namespace {

std::string divisors(std::int64_t n) {
  constexpr std::int64_t k_most = 64;
  std::string text;
  for (std::int64_t d = 2; d <= std::min(n, k_most); ++d)
    if (n % d == 0) text += (text.empty() ? "" : ", ") + std::to_string(d);
  return text;
}

bool has_tokens(const ir::Access& access, int dim) {
  return uses(access.projection, static_cast<loopnest::DimId>(dim));
}

}  // namespace

ProductCut ProductCuts::of(std::size_t position, const OperatorOrder& order) const {
  if (!chunked() && pass_.options().settings.tensor_pieces.kind != TensorPieces::Kind::triggered) return {};
  const ir::Operator& op = pass_.op(order, position);
  const ir::Operator& product = op.forward >= 0 ? pass_.graph().op(op.forward) : op;
  const int dim = op.domain.find("sequence");
  if (op.kind != ir::Kind::contraction || !product.is_plain_contraction() || dim < 0) return {};
  const bool sums_over_tokens = std::any_of(op.accesses.begin(), op.accesses.end(), [&](const ir::Access& access) {
    return access.mode != ir::Mode::read && !has_tokens(access, dim);
  });
  if (sums_over_tokens) return {};
  if (!leaves(op, position, order) && !(chunked() && arrives(op, dim))) return {};
  return {.count = static_cast<std::int32_t>(count(op, dim)), .dim = dim};
}

bool ProductCuts::arrives(const ir::Operator& op, int dim) const {
  const LayerOptions& options = pass_.options();
  for (const ir::Access& access : op.accesses) {
    if (access.mode != ir::Mode::read || !has_tokens(access, dim)) continue;
    const Placements wanted = pass_.layer.placements(op, access);
    for (std::size_t rule = 0; rule < wanted.size(); ++rule)
      if (options.rules[rule].axis == Axis::tensor &&
          redistribute(progress_.placements[at(access.tensor)][rule], wanted[rule]) == Collective::all_gather)
        return true;
  }
  return false;
}

bool ProductCuts::leaves(const ir::Operator& op, std::size_t position, const OperatorOrder& order) const {
  const ir::Graph& graph = pass_.graph();
  return std::any_of(op.accesses.begin(), op.accesses.end(), [&](const ir::Access& access) {
    if (access.mode == ir::Mode::read || is_accumulator(graph, access.tensor) ||
        is_fresh_gradient(graph.tensor(access.tensor)))
      return false;
    const std::optional<Placements> wanted = uses_.next_wanted(access.tensor, position, order);
    if (!wanted) return false;
    const Placements made = pass_.layer.placements(op, access);
    for (std::size_t rule = 0; rule < made.size(); ++rule)
      if (pass_.options().rules[rule].axis == Axis::tensor && made[rule].kind == Placement::Kind::partial &&
          made[rule] != (*wanted)[rule])
        return true;
    return false;
  });
}

std::int64_t ProductCuts::count(const ir::Operator& op, int dim) const {
  std::int64_t count = pass_.options().settings.tensor_pieces.count;
  for (const SplitRule& rule : pass_.options().rules)
    if (!chunked() && rule.axis == Axis::tensor) count = rule.size;
  const std::int64_t tokens = pass_.layer.box(op)[static_cast<std::size_t>(dim)].extent();
  if (chunked() && tokens % count != 0)
    throw core::ConfigurationError("strategy.overlap.tp.chunks",
                                   fmt::format("{} does not divide the {} tokens of '{}'", count, tokens, op.name),
                                   fmt::format("choose one of {}", divisors(tokens)));
  return count;
}

}  // namespace cairn::plan
