#include "cairn/pebble/partition.h"

#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "cairn/pebble/exact.h"
#include "catch.h"
#include "pebble/golden.h"
#include "pebble/graphs.h"

using namespace cairn;
using namespace cairn::pebble;

TEST_CASE("partition: worked example") {
  // Four sums of two inputs each, all out. S = 3: T transfers allow parts of w vertices with 2 w <= 3 + loads and w <=
  // 3 + stores. T = 3: w = 3 needs 3 loads; w = 4 needs 5 loads and 1 store. So two stretches: Q >= 4. T = 5: w = 4
  // needs 6 in all: Q >= 6.
  CdagBuilder builder;
  std::vector<Vertex> inputs;
  for (int i = 0; i < 8; ++i) inputs.push_back(builder.input());
  for (int i = 0; i < 8; i += 2) builder.label_output(builder.compute({inputs[i], inputs[i + 1]}));
  CHECK(partition_bound(builder.build(), 3).words == 6);
}

TEST_CASE("partition: never above the optimum") {
  for (const auto& row : testing::golden_rows()) {
    const Cdag graph = generate(row.graph, row.parameters);
    if (row.game.rules != Rules::red_blue_white || row.vertices - row.inputs > 16) continue;
    INFO(row.text);
    REQUIRE(partition_bound(graph, row.fast).words <= row.optimal);
  }
  core::Random random(41);
  for (int i = 0; i < 150; ++i) {
    const Cdag graph = testing::random_graph(random, {.vertices = 12, .max_in_degree = 3});
    for (Sliding sliding : {Sliding::forbidden, Sliding::allowed}) {
      const Game game{Rules::red_blue_white, sliding};
      const Words fast = std::max<Words>(1, minimum_fast_words(graph, game));
      REQUIRE(partition_bound(graph, fast).words <= solve_exactly(graph, game, fast).cost->total());
    }
  }
}

TEST_CASE("partition: large graphs are refused") {
  CHECK_THROWS_AS(partition_bound(fft_graph(16), 8), core::ConfigurationError);
}
