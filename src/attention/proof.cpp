#include "cairn/attention/proof.h"

#include <algorithm>
#include <array>

#include "cairn/sequence/oracle.h"

namespace cairn::attention {
namespace {

constexpr std::int64_t k_head_dim = 4;
constexpr std::int64_t k_tokens_per_rank = 4;
constexpr std::uint64_t k_seed = 1;

std::int64_t least_factor(std::int64_t number) {
  for (std::int64_t factor = 2; factor * factor <= number; ++factor)
    if (number % factor == 0) return factor;
  return number;
}

// The window divides the columns before and after.
void cut(sequence::Grid& grid) {
  const std::array sides{&grid.columns, &grid.rows, &grid.head_ranks};
  std::int64_t& largest = **std::max_element(sides.begin(), sides.end(), [](auto* a, auto* b) { return *a < *b; });
  if (&largest == &grid.columns && grid.window > 1 && grid.window * grid.window >= grid.columns)
    grid.window /= least_factor(grid.window);
  largest /= least_factor(largest);
  if (grid.columns % grid.window != 0) grid.window = 1;
}

sequence::Grid small(sequence::Grid grid) {
  while (grid.ranks() > k_most_proven) cut(grid);
  return grid;
}

sequence::Problem small(const sequence::Problem& of, const sequence::Grid& grid) {
  const std::int64_t group = std::min<std::int64_t>(of.group(), 2);
  return {.tokens = k_tokens_per_rank * grid.ranks(),
          .heads = grid.head_ranks * group,
          .kv_heads = grid.head_ranks,
          .head_dim = k_head_dim,
          .mask = of.mask};
}

}  // namespace

Proof prove(const sequence::Scheme& scheme, const sequence::Grid& grid, const sequence::Problem& problem,
            bool backward) {
  const sequence::Grid ranks = small(grid);
  Proof proof{.grid = ranks, .problem = small(problem, ranks)};
  const auto run = [&](sequence::Pass pass) {
    const sequence::Verdict verdict = sequence::verify(scheme, proof.problem, ranks, pass, k_seed);
    if (!proof.fault) proof.fault = verdict.fault;
    proof.largest_error = std::max(proof.largest_error, verdict.largest_error);
    return verdict.pairs;
  };
  proof.pairs = run(sequence::Pass::forward);
  if (backward) run(sequence::Pass::backward);
  return proof;
}

}  // namespace cairn::attention
