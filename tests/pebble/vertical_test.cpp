// Words across the links of a machine with levels: bounds against the least there is.
#include "cairn/pebble/vertical.h"

#include <algorithm>

#include "cairn/pebble/generators.h"
#include "catch.h"
#include "pebble/graphs.h"

using namespace cairn;
using namespace cairn::pebble;
using cairn::pebble::testing::random_graph;

namespace {

constexpr std::size_t k_states = 400'000;

Words best(const Cdag& graph, const Machine& machine, std::size_t level) {
  Words most = 0;
  for (const LowerBound& bound : vertical_lower_bounds(graph, machine, level)) {
    Words sum = 0;
    for (const Part& part : bound.parts) sum += part.words;
    REQUIRE(sum == bound.words);
    most = std::max(most, bound.words);
  }
  return most;
}

}  // namespace

TEST_CASE("vertical: the worked example, and an input that nothing reads") {
  // x comes up, y goes down.
  const Machine two{.levels = {{.units = 2, .capacity = 2}, {.units = 1, .capacity = 4}}};
  CHECK(best(chain_graph(1), two, 0) == 2);
  CHECK(least_vertical_words(chain_graph(1), two, 0, k_states) == 2);
  CdagBuilder builder;
  const Vertex x = builder.input();
  builder.input();
  builder.label_output(builder.compute({x}));
  const Cdag graph = builder.build();
  CHECK(best(graph, two, 0) == 2);
  CHECK(least_vertical_words(graph, two, 0, k_states) == 2);
}

TEST_CASE("vertical: what one processor cannot keep, two together can") {
  // A sum read again by every term: with S words in one processor some terms come twice, with twice as many words none.
  const Cdag graph = reduce_broadcast_graph(2);  // x0, x1, s, y0, y1
  const Machine one{.levels = {{.units = 1, .capacity = 3}, {.units = 1, .capacity = 8}}};
  const auto alone = least_vertical_words(graph, one, 0, k_states);
  REQUIRE(alone.has_value());
  CHECK(*alone == 5);               // 2 n + max(0, n + 2 - S) with n = 2, S = 3
  CHECK(best(graph, one, 0) == 4);  // inputs and outputs: three live words fit
  const Machine pair{.levels = {{.units = 2, .capacity = 3}, {.units = 1, .capacity = 8}}};
  // The bound for one memory of six words is 4; the sum has to cross for the second processor, or a term twice.
  CHECK(best(graph, pair, 0) == 4);
  CHECK(*least_vertical_words(graph, pair, 0, k_states) >= 4);
}

TEST_CASE("vertical: no play of a small random graph beats its bounds") {
  core::Random random(20140417);
  int solved = 0, tight = 0;
  for (int round = 0; round < 150; ++round) {
    const Cdag graph = random_graph(random, {.vertices = 3 + random.below(2), .max_in_degree = 2});
    const auto most = static_cast<Words>(graph.max_in_degree());
    const std::uint32_t processors = 1 + static_cast<std::uint32_t>(random.below(2));
    const Machine machine{.levels = {{.units = processors, .capacity = most + 1 + static_cast<Words>(random.below(2))},
                                     {.units = 1, .capacity = 2 + static_cast<Words>(random.below(4))}}};
    const auto least = least_vertical_words(graph, machine, 0, k_states);
    if (!least) continue;
    ++solved;
    const Words bound = best(graph, machine, 0);
    INFO("round " << round);
    REQUIRE(bound <= *least);
    tight += bound == *least ? 1 : 0;
  }
  CHECK(solved >= 120);
  CHECK(tight >= solved / 2);  // a bound of one more word would be refuted as often
}

TEST_CASE("vertical: a middle level counts everything below it") {
  // Registers of 3 words under a cache of 1 under a node: softmax of 6 in 4 words, 6 exponentials and their sum alive
  // at once: 12 + 2 x 7 - 2 x 4 = 18. Above the registers alone, 12 + 14 - 6.
  const Machine machine{
      .levels = {{.units = 1, .capacity = 3}, {.units = 1, .capacity = 1}, {.units = 1, .capacity = 16}}};
  CHECK(best(softmax_graph(6), machine, 1) == 18);
  CHECK(best(softmax_graph(6), machine, 0) == 20);
}
