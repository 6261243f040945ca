#include <array>
#include <cmath>

#include "cairn/core/diagnostics.h"
#include "cairn/pebble/generators.h"
#include "cairn/pebble/operation.h"
#include "cairn/pebble/parallel_bounds.h"
#include "cairn/pebble/parallel_game.h"
#include "catch.h"

using namespace cairn;
using namespace cairn::pebble;

namespace {

using Kind = ParallelMoveKind;

ParallelMove at(Kind kind, Vertex v, std::uint32_t unit, std::size_t level = 0, std::uint32_t from = 0) {
  return {.kind = kind, .vertex = v, .unit = unit, .level = level, .from = from};
}

}  // namespace

TEST_CASE("parallel game: vertical per link and horizontal per node are told apart") {
  // x0 + x1 on processor 0 of node 0; x1 starts in node 1.
  const Cdag graph = linear_sum_graph(2);
  const Machine machine{.levels = {{.units = 2, .capacity = 3}, {.units = 2, .capacity = 4}}};
  const ParallelPlay play = {at(Kind::input, 0, 0), at(Kind::input, 1, 1), at(Kind::get, 1, 0, 0, 1),
                             at(Kind::up, 0, 0),    at(Kind::up, 1, 0),    at(Kind::compute, 2, 0),
                             at(Kind::down, 2, 0),  at(Kind::output, 2, 0)};
  const ParallelVerdict verdict = verify(graph, machine, play);
  REQUIRE(verdict.cost.has_value());
  CHECK(verdict.cost->horizontal == std::vector<Words>{1, 0});
  CHECK(verdict.cost->vertical[0] == std::vector<Words>{3, 0});
  CHECK(verdict.cost->blue == std::vector<Words>{2, 1});
  CHECK(verdict.cost->horizontal_total() == 1);
  CHECK(verdict.cost->vertical_total(0) == 3);
}

TEST_CASE("parallel game: the first illegal move is named") {
  const Cdag graph = linear_sum_graph(2);
  const Machine machine{.levels = {{.units = 2, .capacity = 2}, {.units = 1, .capacity = 4}}};
  const auto reason = [&](const ParallelPlay& play) { return verify(graph, machine, play).illegal.value().reason; };
  CHECK(reason({at(Kind::up, 0, 0)}) == "the parent does not hold it");
  CHECK(reason({at(Kind::get, 0, 0, 0, 0)}) == "no other node of that number holds it");
  CHECK(reason({at(Kind::input, 0, 0), at(Kind::up, 0, 0), at(Kind::compute, 2, 0)}) ==
        "its predecessor 1 is not with the processor");
  CHECK(reason({at(Kind::input, 0, 0), at(Kind::input, 1, 0), at(Kind::up, 0, 0), at(Kind::up, 1, 1),
                at(Kind::compute, 2, 0)}) == "its predecessor 1 is not with the processor");
  CHECK(reason({at(Kind::input, 0, 0), at(Kind::input, 1, 0), at(Kind::up, 0, 0), at(Kind::up, 1, 0),
                at(Kind::compute, 2, 0)}) == "the unit would hold more than its 2 words");
  CHECK(reason({at(Kind::input, 0, 0)}) == "vertex 1 was never computed or taken in");
  const Machine uneven{.levels = {{.units = 3, .capacity = 2}, {.units = 2, .capacity = 4}}};
  CHECK_THROWS_AS(verify(graph, uneven, {}), core::ConfigurationError);
}

TEST_CASE("parallel game: horizontal words of a placement") {
  // Two halves of a 4-leaf tree on two nodes: one partial sum crosses, and no balanced placement does better.
  const Cdag tree = binary_tree_graph(4);  // 0 1 -> 2, 3 4 -> 5, {2, 5} -> 6
  CHECK(horizontal_words(tree, std::vector<std::uint32_t>{0, 0, 0, 1, 1, 1, 0}) == 1);
  CHECK(least_horizontal_words(tree, 2) == 1);
  CHECK(least_horizontal_words(tree, 1) == 0);
  // An outer product of 2 x 2 on two nodes: by rows, both b are wanted on both nodes.
  CHECK(least_horizontal_words(outer_product_graph(2, 2), 2) == 2);
}

TEST_CASE("parallel bounds: the three cases of matmul meet, and known algorithms attain them") {
  const auto bound = [](double m, double n, double k, double p) {
    return matmul_memory_independent({.m = m, .n = n, .k = k, .devices = p}).words;
  };
  for (const auto& [m, n, k] : {std::array<double, 3>{4096, 512, 64}, {1000, 1000, 10}, {8192, 64, 64}}) {
    for (double border : {m / n, m * n / (k * k)})
      CHECK(bound(m, n, k, border * (1 + 1e-9)) == Approx(bound(m, n, k, border)).epsilon(1e-6).margin(1e-3));
    CHECK(bound(k, m, n, 16) == bound(m, n, k, 16));  // order of sides does not matter
  }
  // Case 1: rows cut, the small matrix gathered: nk (1 - 1/P). Case 3: the cube.
  CHECK(bound(4096, 512, 64, 8) == Approx(512 * 64 * (1 - 1.0 / 8)));
  const auto algorithms = matmul_algorithms(1024, 64, 4);
  CHECK(bound(1024, 1024, 1024, 64) == Approx(algorithms[3].words));
  for (const ParallelAlgorithm& algorithm : matmul_algorithms(1024, 64, 4)) {
    INFO(algorithm.name);
    CHECK(algorithm.words >=
          matmul_bound({.m = 1024, .n = 1024, .k = 1024, .devices = 64}, algorithm.memory).words * (1 - 1e-12));
  }
}

TEST_CASE("parallel bounds: attention schemes") {
  const ParallelAttention full{.tokens = 65536, .width = 4096, .kv_width = 4096, .devices = 64};
  const double bound = attention_exchange_bound(full, false).words;
  CHECK(bound == Approx(4.0 * (8 - 1) * 65536 * 4096 / 64));
  CHECK(grid_attention_words(full, 8) == Approx(bound));               // the square grid is optimal
  CHECK(ring_attention_words(full) / bound == Approx((8 + 1) / 2.0));  // (sqrt(p) + 1) / 2
  // Grouped queries: the best grid is not square, 2 d p_kv + 2 d_kv p_q is least at p_q = sqrt(p d / d_kv).
  const ParallelAttention grouped{.tokens = 65536, .width = 4096, .kv_width = 1024, .devices = 64};
  CHECK(grid_attention_words(grouped, 16) < grid_attention_words(grouped, 8));
  CHECK(grid_attention_words(grouped, 16) == Approx(attention_exchange_bound(grouped, false).words));
  CHECK(attention_exchange_bound(full, true).words < bound);
  CHECK(exchange_words(Exchange::all_reduce, 100, 4).words == Approx(150));
  CHECK(exchange_words(Exchange::all_reduce, 100, 1).words == 0);
}

TEST_CASE("parallel bounds: a unit's share of a product") {
  // mnk/P points and X = 2 S + T: T = 4 S, U = (2 S)^{3/2}, so sqrt(2) mnk / (P sqrt(S)) to lower order, -4 S.
  const Contraction product = matmul_operation({.m = 4096, .n = 4096, .k = 4096}).contractions[0];
  const double points = 4096.0 * 4096 * 4096, s = 16384;
  for (Words units : {1, 16, 128}) {
    const LowerBound bound = projection_bound_of_share(product, units, 16384);
    CHECK(static_cast<double>(bound.words) >=
          std::sqrt(2.0) * points / static_cast<double>(units) / std::sqrt(s) - 4 * s - 1);
    CHECK_FALSE(bound.games.contains({Rules::hong_kung, Sliding::forbidden}));
  }
  // More units than work: nothing is proved, and nothing is claimed.
  CHECK(projection_bound_of_share(product, Words{1} << 40, 16384).words == 0);
  CHECK_THROWS_AS(projection_bound_of_share(product, 0, 16384), core::ConfigurationError);
  const Contraction scores = attention_operation({.sequence = 64, .head_dim = 8}).contractions[0];
  CHECK_THROWS_AS(projection_bound_of_share(scores, 4, 64), core::ConfigurationError);
}
