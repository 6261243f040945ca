#include "cairn/pebble/schedule.h"

#include "cairn/core/random.h"
#include "cairn/pebble/exact.h"
#include "catch.h"
#include "pebble/golden.h"
#include "pebble/graphs.h"

using namespace cairn;
using namespace cairn::pebble;

namespace {

void require_verified(const Cdag& graph, Words fast, const UpperBound& bound) {
  for (Game game : k_all_games) {
    if (!bound.games.contains(game)) continue;
    const Verdict verdict = verify(graph, game, fast, bound.play);
    if (verdict.illegal) FAIL(to_string(game) << " move " << verdict.illegal->move << ": " << verdict.illegal->reason);
    REQUIRE(verdict.cost->loads == bound.loads);
    REQUIRE(verdict.cost->stores == bound.stores);
  }
}

}  // namespace

TEST_CASE("schedule: index order with farthest next use, on every tabulated row") {
  const auto rows = testing::golden_rows();
  if (rows.empty()) WARN("skipped: CAIRN_DATA is not set");
  for (const auto& row : rows) {
    if (!row.belady) continue;
    INFO(row.text);
    const Cdag graph = generate(row.graph, row.parameters);
    const UpperBound bound = play_in_order(graph, row.game.sliding, row.fast, {.order = graph.order()});
    require_verified(graph, row.fast, bound);
    REQUIRE(bound.words >= row.optimal);
    REQUIRE(bound.words == *row.belady);
  }
}

TEST_CASE("schedule: every order gives a legal play that costs at least the optimum") {
  core::Random random(21);
  for (int i = 0; i < 150; ++i) {
    const Cdag graph = testing::random_graph(
        random,
        {.vertices = 6 + random.below(6), .max_in_degree = 3, .max_weight = 1 + static_cast<Words>(random.below(2))});
    for (Sliding sliding : {Sliding::forbidden, Sliding::allowed}) {
      const Game game{Rules::red_blue_white, sliding};
      const Words fast = std::max<Words>(1, minimum_fast_words(graph, game)) + static_cast<Words>(random.below(3));
      const Words exact = solve_exactly(graph, game, fast).cost->total();
      for (const auto& order :
           {graph.order(), depth_first_order(graph), greedy_order(graph), convex_partition_order(graph, fast)}) {
        for (Replacement rule : {Replacement::farthest_next_use, Replacement::least_recently_used}) {
          const UpperBound bound = play_in_order(graph, sliding, fast, {.order = order, .replacement = rule});
          require_verified(graph, fast, bound);
          REQUIRE(bound.words >= exact);
        }
      }
      require_verified(graph, fast, best_ordered_play(graph, sliding, fast));
    }
  }
}

TEST_CASE("schedule: the depth-first order of a binary tree is best") {
  // Children right before their parent: the optimum 2^k + 1 + 2 max(0, 2^(k-S+2) - 1) of the tree.
  const Cdag tree = binary_tree_graph(64);
  for (Words fast : {3, 5, 8}) {
    const Words optimum = 64 + 1 + 2 * std::max<Words>(0, (Words{1} << std::max<Words>(0, 6 - fast + 2)) - 1);
    CHECK(play_in_order(tree, Sliding::forbidden, fast, {.order = depth_first_order(tree)}).words == optimum);
  }
}

TEST_CASE("schedule: convex parts move less than sweep by sweep") {
  // 64 points, 32 sweeps, 16 words: a sweep reads and writes all 64 points; parts skewed through time keep most of
  // them.
  const Cdag sweeps = jacobi1d_graph(64, 32);
  const Words by_sweep = play_in_order(sweeps, Sliding::forbidden, 16, {.order = sweeps.order()}).words;
  const Words by_part =
      play_in_order(sweeps, Sliding::forbidden, 16, {.order = convex_partition_order(sweeps, 16)}).words;
  CHECK(by_sweep >= 2 * 64 * 32 - 2 * 16 * 32);
  CHECK(2 * by_part <= by_sweep);
}
