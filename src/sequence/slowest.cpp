#include <algorithm>
#include <utility>

#include "cairn/sequence/folds.h"
#include "cairn/sequence/scheme.h"

namespace cairn::sequence {

RankList slowest(const Scheme& scheme, const Problem& problem, const Grid& grid, Pass pass) {
  constexpr std::int64_t k_all = 64;
  constexpr std::int64_t k_some = 8;
  const std::int64_t last = grid.ranks() - 1;
  const std::int64_t looked_at = last < k_all ? last : k_some - 1;
  RankList result = scheme.list(problem, grid, pass, 0);
  std::int64_t most_pairs = pairs(problem, result);
  const auto moved = [&](const RankList& list) {
    return std::max(bytes_sent(problem, list), bytes_received(problem, list));
  };
  std::int64_t most_bytes = moved(result);
  for (std::int64_t i = 1; i <= looked_at; ++i) {
    RankList other = scheme.list(problem, grid, pass, i * last / looked_at);
    result.stages = std::max(result.stages, other.stages);
    if (const std::int64_t bytes = moved(other); bytes > most_bytes) {
      most_bytes = bytes;
      result.calls = std::move(other.calls);
    }
    if (const std::int64_t computed = pairs(problem, other); computed > most_pairs) {
      most_pairs = computed;
      result.tiles = std::move(other.tiles);
    }
  }
  return result;
}

}  // namespace cairn::sequence
