#include "cairn/pebble/exact.h"

#include "cairn/core/diagnostics.h"
#include "cairn/pebble/generators.h"
#include "catch.h"
#include "pebble/games.h"
#include "pebble/graphs.h"
#include "support/share.h"

using namespace cairn;
using namespace cairn::pebble;
using cairn::pebble::testing::Labels;
using cairn::pebble::testing::random_graph;

namespace {

Words optimum(const Cdag& graph, Game game, Words fast) {
  const ExactResult result = solve_exactly(graph, game, fast);
  REQUIRE(result.cost.has_value());
  const Verdict verdict = verify(graph, game, fast, result.play);
  if (verdict.illegal)
    FAIL(to_string(game) << " S=" << fast << ": move " << verdict.illegal->move << ": " << verdict.illegal->reason);
  CHECK(verdict.cost->loads == result.cost->loads);
  CHECK(verdict.cost->stores == result.cost->stores);
  return result.cost->total();
}

// Solvers agree in both costs on `count` random graphs, each in every game, at a memory between the minimum and the
// minimum + 3.
void compare_solvers(std::uint64_t seed, std::size_t count, std::size_t max_vertices, Words max_weight) {
  core::Random random(seed);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t vertices = 2 + random.below(max_vertices - 1);
    const Labels labels = random.below(2) == 0 ? Labels::compulsory : Labels::flexible;
    const Cdag graph =
        random_graph(random, {.vertices = vertices, .max_in_degree = 3, .labels = labels, .max_weight = max_weight});
    for (Game game : k_all_games) {
      const Words fast = std::max<Words>(1, minimum_fast_words(graph, game)) + static_cast<Words>(random.below(4));
      const Words found = optimum(graph, game, fast);
      const auto expected = solve_literally(graph, game, fast);
      REQUIRE(expected.has_value());
      INFO("graph " << i << " game " << to_string(game) << " S=" << fast);
      REQUIRE(found == expected->total());
      REQUIRE(solve_exactly(graph, game, fast).cost->stores == expected->stores);
    }
  }
}

}  // namespace

TEST_CASE("exact: costs that follow by hand") {
  CHECK(optimum(chain_graph(5), k_rbw, 2) == 2);       // one load, one store
  CHECK(optimum(linear_sum_graph(6), k_rbw, 3) == 7);  // every term once, the sum once
  // Binary tree of 2^k leaves: 2^k + 1 + 2 max(0, 2^(k-S+2) - 1).
  CHECK(optimum(binary_tree_graph(8), k_rbw, 3) == 8 + 1 + 2 * 3);
  CHECK(optimum(binary_tree_graph(8), k_hk, 4) == 8 + 1 + 2 * 1);
  CHECK(optimum(binary_tree_graph(8), k_hk, 5) == 8 + 1);
  // y_i = f(sum, x_i): n loads, n stores, and of n + 2 words wanted at the end of the sum those beyond S are read
  // again.
  CHECK(optimum(reduce_broadcast_graph(5), k_rbw, 4) == 2 * 5 + (5 + 2 - 4));
  // Without recomputation an unkept exponential is stored and reloaded; with it, its input is reloaded.
  CHECK(optimum(softmax_graph(4), k_rbw, 4) == 2 * 4 + 2 * (4 + 2 - 4));
  CHECK(optimum(softmax_graph(4), k_hk, 4) == 2 * 4 + (4 + 2 - 4));
}

TEST_CASE("exact: recomputation makes the ladder free") {
  CHECK(optimum(ladder_graph(4, 2), k_hk, 3) == 2);
  CHECK(optimum(ladder_graph(4, 2), k_rbw, 3) > 2);
}

TEST_CASE("exact: labels decide what must move") {
  CdagBuilder builder;
  const Vertex source = builder.vertex();  // computed out of nothing
  const Vertex idle = builder.input();
  const Vertex both = builder.input();
  builder.label_output(both);
  builder.compute({source});  // never stored
  const Cdag graph = builder.build();
  CHECK(graph.is_input(idle));
  CHECK(optimum(graph, k_rbw, 2) == 2);  // both inputs are loaded once
  CHECK(optimum(graph, k_hk, 2) == 0);   // the only output already lies in slow memory
}

TEST_CASE("exact: a spent budget leaves a valid lower bound") {
  const Cdag graph = fft_graph(8);
  const ExactResult cut = solve_exactly(graph, k_rbw, 5, 2000);
  CHECK_FALSE(cut.cost.has_value());
  CHECK(cut.lower >= 16);  // inputs and outputs
  CHECK(cut.lower <= 27);  // the optimum
}

TEST_CASE("exact: refuses what it cannot play") {
  CHECK_THROWS_AS(solve_exactly(fft_graph(4), k_rbw, 2), core::ConfigurationError);
  CHECK_THROWS_AS(solve_exactly(fft_graph(32), k_rbw, 8), core::ConfigurationError);
}

TEST_CASE("exact: agrees with the literal solver on random graphs") { compare_solvers(1, 400 / test::k_share, 7, 1); }
TEST_CASE("exact: agrees with the literal solver on weighted graphs") { compare_solvers(2, 150 / test::k_share, 6, 3); }
