#include "cairn/pebble/wavefront.h"

#include "cairn/core/random.h"
#include "cairn/pebble/exact.h"
#include "cairn/pebble/generators.h"
#include "catch.h"
#include "pebble/games.h"
#include "pebble/golden.h"
#include "pebble/graphs.h"

using namespace cairn;
using namespace cairn::pebble;

TEST_CASE("wavefront: equals the tabulated bound on every row") {
  const auto rows = testing::golden_rows();
  if (rows.empty()) WARN("skipped: CAIRN_DATA is not set");
  for (const auto& row : rows) {
    if (!row.wavefront) continue;
    INFO(row.text);
    const LowerBound bound = wavefront_bound(generate(row.graph, row.parameters), row.fast);
    REQUIRE(bound.words == *row.wavefront);
    REQUIRE(bound.words <= row.optimal);
    REQUIRE(bound.games.contains(row.game));
  }
}

TEST_CASE("wavefront: the cut is convex, separates, and its values add up to the flow") {
  core::Random random(11);
  for (int i = 0; i < 60; ++i) {
    const Cdag graph = testing::random_graph(random, {.vertices = 14, .max_in_degree = 3});
    for (Vertex x = 0; x < graph.size(); ++x) {
      const MinimumCut cut = wavefront_cut(graph, x, 2);
      if (cut.capacity == 0) continue;
      Words sum = 0;
      for (Vertex v : cut.live) sum += graph.is_input(v) || graph.is_output(v) ? 1 : 2;
      REQUIRE(sum == cut.capacity);
      REQUIRE(cut.done[x] != 0);
      for (Vertex v = 0; v < graph.size(); ++v) {
        for (Vertex p : graph.predecessors(v)) {
          if (cut.done[v] != 0) REQUIRE(cut.done[p] != 0);
          if (p == x) REQUIRE(cut.done[v] == 0);
        }
      }
    }
  }
}

TEST_CASE("wavefront: softmax keeps all exponentials and their sum alive") {
  // n = 6, S = 4: after the last addition e_1..e_6 and s are alive, 7 interior words; 7 * 2 - 2 * 4 = 6 beyond the 12
  // compulsory.
  CHECK(wavefront_bound(softmax_graph(6), 4).words == 12 + 6);
}

TEST_CASE("wavefront: refuted under Hong-Kung rules, so never offered there") {
  const Cdag ladder = ladder_graph(4, 2);
  const LowerBound bound = wavefront_bound(ladder, 3);
  CHECK(bound.words > solve_exactly(ladder, k_hk, 3).cost->total());
  CHECK(bound.words <= solve_exactly(ladder, k_rbw, 3).cost->total());
  CHECK_FALSE(bound.games.contains(k_hk));
}

TEST_CASE("wavefront: sampled and stretched bounds never exceed the optimum") {
  core::Random random(12);
  for (int i = 0; i < 60; ++i) {
    const Cdag graph = testing::random_graph(random, {.vertices = 12, .max_in_degree = 3});
    const Words fast = minimum_fast_words(graph, k_rbw);
    const Words exact = solve_exactly(graph, k_rbw, fast).cost->total();
    REQUIRE(wavefront_bound(graph, fast, 3).words <= wavefront_bound(graph, fast).words);
    REQUIRE(wavefront_bound(graph, fast).words <= exact);
    for (std::size_t stretches : {2, 3, 5})
      REQUIRE(wavefront_bound_by_stretches(graph, fast, stretches).words <= exact);
  }
}

TEST_CASE("wavefront: a sample of the values is said to be one") {
  core::Random random(5);
  const Cdag graph = testing::random_graph(random, {.vertices = 12, .max_in_degree = 3});
  const Words fast = minimum_fast_words(graph, k_rbw);
  const LowerBound whole = wavefront_bound(graph, fast), some = wavefront_bound(graph, fast, 3);
  CHECK(whole.method == "wavefront");
  CHECK(whole.assumptions.empty());
  CHECK(some.method == "wavefront, cuts after 3 of 12 values");
  REQUIRE(some.assumptions.size() == 1);
  CHECK(wavefront_bound_by_stretches(graph, fast, 2, 2).method ==
        "wavefronts in 2 stretches of the order, cuts after 4 of 12 values");
}
