#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <tuple>

#include "cairn/core/diagnostics.h"
#include "cairn/pebble/generators.h"
#include "cairn/pebble/horizontal.h"
#include "cairn/pebble/operation.h"
#include "cairn/pebble/parallel_bounds.h"
#include "cairn/pebble/parallel_game.h"
#include "catch.h"
#include "pebble/graphs.h"

using namespace cairn;
using namespace cairn::pebble;

namespace {

using Kind = ParallelMoveKind;

ParallelMove at(Kind kind, Vertex v, std::uint32_t unit, std::size_t level = 0, std::uint32_t from = 0) {
  return {.kind = kind, .vertex = v, .unit = unit, .level = level, .from = from};
}

using Mask = std::uint32_t;
constexpr Mask bit(Vertex v) { return Mask{1} << v; }
Mask operands(const Cdag& graph, Vertex v) {
  Mask mask = 0;
  for (Vertex p : graph.predecessors(v)) mask |= bit(p);
  return mask;
}

// The least words received on two nodes by the letter of the rules: memories unbounded, every input taken in once, no
// node computes more than `most` values. Copies are never worth erasing.
Words least_received(const Cdag& graph, std::size_t most) {
  using State = std::tuple<Mask, Mask, Mask>;  // held by either node, computed by the first
  const Mask all = bit(static_cast<Vertex>(graph.size())) - 1;
  Mask inputs = 0;
  for (Vertex v = 0; v < graph.size(); ++v) inputs |= graph.is_input(v) ? bit(v) : 0;
  std::map<State, Words> best{{State{0, 0, 0}, 0}};
  std::deque<State> queue{State{0, 0, 0}};
  while (!queue.empty()) {  // free moves first
    const State state = queue.front();
    queue.pop_front();
    const Words words = best.at(state);
    const std::array<Mask, 2> held{std::get<0>(state), std::get<1>(state)};
    const Mask white = held[0] | held[1], first = std::get<2>(state);
    if (white == all) return words;
    const auto reach = [&](int node, Vertex v, Words price, Mask computed) {
      std::array<Mask, 2> next = held;
      next[static_cast<std::size_t>(node)] |= bit(v);
      const State to{next[0], next[1], computed};
      const auto [slot, fresh] = best.try_emplace(to, words + price);
      if (!fresh && slot->second <= words + price) return;
      slot->second = words + price;
      price == 0 ? queue.push_front(to) : queue.push_back(to);
    };
    const std::array<Mask, 2> computed{first, white & ~inputs & ~first};
    for (Vertex v = 0; v < graph.size(); ++v)
      for (int node : {0, 1}) {
        const auto here = static_cast<std::size_t>(node);
        if ((white & bit(v)) != 0) {
          if ((held[here] & bit(v)) == 0) reach(node, v, 1, first);
        } else if (graph.is_input(v)) {
          reach(node, v, 0, first);
        } else if ((operands(graph, v) & ~held[here]) == 0 &&
                   static_cast<std::size_t>(std::popcount(computed[here])) < most) {
          reach(node, v, 0, node == 0 ? first | bit(v) : first);
        }
      }
  }
  return -1;
}

// Whether some play on two nodes of `fast` words keeps either node's words in and out at or below `most`.
bool playable_within(const Cdag& graph, Words fast, int most) {
  using State = std::tuple<Mask, Mask, Mask, Mask, int, int>;  // held by either, white, blue, words of either
  const Mask all = bit(static_cast<Vertex>(graph.size())) - 1;
  Mask blue = 0, outputs = 0;
  for (Vertex v = 0; v < graph.size(); ++v) {
    blue |= graph.is_input(v) ? bit(v) : 0;
    outputs |= graph.is_output(v) ? bit(v) : 0;
  }
  std::set<State> seen;
  std::vector<State> open;
  const auto reach = [&](const State& state) {
    const auto& [a, b, white, stored, x, y] = state;
    if (std::popcount(a) > fast || std::popcount(b) > fast || x > most || y > most) return;
    if (seen.insert(state).second) open.push_back(state);
  };
  reach({0, 0, 0, blue, 0, 0});
  while (!open.empty()) {
    const auto [a, b, white, stored, x, y] = open.back();
    open.pop_back();
    if (white == all && (outputs & ~stored) == 0) return true;
    for (Vertex v = 0; v < graph.size(); ++v) {
      const Mask m = bit(v);
      if ((stored & m) != 0)
        reach({a | m, b, white | m, stored, x + 1, y}), reach({a, b | m, white | m, stored, x, y + 1});
      if ((a & m) != 0) {
        reach({a, b, white, stored | m, x + 1, y});
        reach({a, b | m, white, stored, x + 1, y + 1});
        reach({a & ~m, b, white, stored, x, y});
      }
      if ((b & m) != 0) {
        reach({a, b, white, stored | m, x, y + 1});
        reach({a | m, b, white, stored, x + 1, y + 1});
        reach({a, b & ~m, white, stored, x, y});
      }
      if (graph.is_input(v) || (white & m) != 0) continue;
      if ((operands(graph, v) & ~a) == 0) reach({a | m, b, white | m, stored, x, y});
      if ((operands(graph, v) & ~b) == 0) reach({a, b | m, white | m, stored, x, y});
    }
  }
  return false;
}

Words best(const std::vector<LowerBound>& bounds) {
  Words most = 0;
  for (const LowerBound& bound : bounds) {
    Words sum = 0;
    for (const Part& part : bound.parts) sum += part.words;
    REQUIRE(sum == bound.words);
    most = std::max(most, bound.words);
  }
  return most;
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
  const auto algorithms = matmul_algorithms(1024, 64);
  CHECK(algorithms.back().name == "3d");
  CHECK(bound(1024, 1024, 1024, 64) == Approx(algorithms.back().words));
  CHECK(matmul_25d(1024, 64, 4).words == Approx(algorithms.back().words));  // as many copies as a cube's side
  // 128 = 8 x 8 x 2; 2 is no square, and no cube.
  const auto names = [](double devices) {
    std::vector<std::string> all;
    for (const ParallelAlgorithm& each : matmul_algorithms(1024, devices)) all.push_back(each.name);
    return all;
  };
  CHECK(names(128) == std::vector<std::string>{"1d", "2.5d, 2 copies"});
  CHECK(names(2) == std::vector<std::string>{"1d"});
}

TEST_CASE("parallel bounds: no algorithm beats the bound of devices that hold what it needs") {
  for (int p = 1; p <= 1100; ++p) {
    for (const double n : {7.0, 1024.0}) {
      for (const ParallelAlgorithm& each : matmul_algorithms(n, p)) {
        for (const double spare : {1.0, 1.7, 100.0}) {
          const double memory = each.memory * spare;
          INFO(each.name << " of " << n << " on " << p << " devices of " << memory << " words");
          const ParallelMatmul problem{.m = n, .n = n, .k = n, .devices = static_cast<double>(p)};
          if (each.words < matmul_bound(problem, memory).words * (1 - 1e-12)) FAIL_CHECK(each.words);
        }
      }
    }
  }
}

TEST_CASE("parallel bounds: attention of several sequences") {
  const auto words = [](std::int64_t sequences, double devices, bool causal = false) {
    return attention_exchange_bound({1024, 64, 64, devices, sequences}, causal).words;
  };
  const double rows = 1024.0 * 64.0;
  CHECK(words(4, 4) == 0.0);
  CHECK(words(8, 4, true) == 0.0);
  CHECK(words(4, 16) == Approx(words(1, 4)));
  // By hand, three sequences on two devices: one whole and half of another, 4 + 4 / sqrt(2) rows, 6 of them its own.
  CHECK(words(3, 2) == Approx((4.0 + 4.0 / std::sqrt(2.0) - 6.0) * rows));
  for (std::int64_t sequences = 1; sequences <= 24; ++sequences)
    for (std::int64_t devices = 1; devices <= 64; ++devices)
      for (const double kv : {64.0, 16.0}) {
        const auto bracket = attention_over_devices({1024, 64, kv, static_cast<double>(devices), sequences}, false);
        for (const auto& each : bracket.algorithms)
          if (each.outside.empty()) {
            CAPTURE(sequences, devices, kv, each.name, each.words, bracket.lower.words);
            REQUIRE(each.words >= bracket.lower.words * (1.0 - 1e-12));
          }
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

TEST_CASE("horizontal: the worked example, fan-out and components") {
  const Cdag tree = binary_tree_graph(4);
  CHECK(best(received_lower_bounds(tree, 2)) == 1);
  CHECK(best(busiest_lower_bounds(tree, 2, 3)) == 4);
  const Distribution placed = distribute(tree, 2, 3);
  CHECK(placed.busiest() == 4);
  CHECK(distribute(tree, 2, {}).cost.horizontal_total() == 1);
  // A sum of 30 that 30 terms read: 59 values, 29 additions and 30 terms, at most 15 on each of four nodes.
  // What 30 terms read is wanted on two nodes, what joins four nodes is three words.
  const Cdag wide = reduce_broadcast_graph(30);
  const auto bounds = received_lower_bounds(wide, 4);
  CHECK(bounds[0].words == 1);
  CHECK(bounds[1].words == 3);
  CHECK(distribute(wide, 4, {}).cost.horizontal_total() >= 3);
  // Two chains that never meet: each node takes one, and nothing crosses.
  CdagBuilder builder;
  for (int chain = 0; chain < 2; ++chain) {
    Vertex last = builder.input();
    for (int i = 0; i < 5; ++i) last = builder.compute({last});
    builder.label_output(last);
  }
  CHECK(best(received_lower_bounds(builder.build(), 2)) == 0);
  CHECK(distribute(builder.build(), 2, {}).cost.horizontal_total() == 0);
  CHECK_THROWS_AS(received_lower_bounds(tree, 0), core::ConfigurationError);
  CHECK_THROWS_AS(busiest_lower_bounds(tree, 2, 2), core::ConfigurationError);
  CHECK_THROWS_AS(distribute(tree, 2, 2), core::ConfigurationError);
}

TEST_CASE("horizontal: words received, bound <= exact by two searches <= a verified play") {
  core::Random random(20140418);
  int beyond = 0, fanned = 0, attained = 0;
  constexpr int k_rounds = 150;
  for (int round = 0; round < k_rounds; ++round) {
    const Cdag graph = testing::random_graph(random, {.vertices = 3 + random.below(4), .max_in_degree = 3});
    const std::size_t computed = graph.size() - graph.input_count();
    if (computed == 0) continue;
    INFO("round " << round);
    const Words exact = least_received(graph, (computed + 1) / 2);
    REQUIRE(exact == least_horizontal_words(graph, 2));
    const auto bounds = received_lower_bounds(graph, 2);
    REQUIRE(best(bounds) <= exact);
    const Words placed = distribute(graph, 2, {}).cost.horizontal_total();
    REQUIRE(placed >= exact);
    attained += placed == exact ? 1 : 0;
    fanned += std::max(bounds[0].words, bounds[1].words) == exact ? 1 : 0;  // without the exhaustive one
    beyond += std::max(bounds[0].words, bounds[1].words) > 0 ? 1 : 0;
  }
  CHECK(beyond > k_rounds / 4);
  CHECK(fanned > k_rounds / 4);  // a bound of one word more would be refuted as often
  CHECK(attained > k_rounds / 2);
}

TEST_CASE("horizontal: words in and out of the busiest node, bound <= exact <= a verified play") {
  core::Random random(20140419);
  int tight = 0, solved = 0;
  for (int round = 0; round < 60; ++round) {
    const Cdag graph = testing::random_graph(random, {.vertices = 3 + random.below(2), .max_in_degree = 2});
    if (graph.size() == graph.input_count()) continue;
    const Words fast = static_cast<Words>(graph.max_in_degree()) + 1 + static_cast<Words>(random.below(2));
    INFO("round " << round);
    const Words lower = best(busiest_lower_bounds(graph, 2, fast));
    const Words upper = distribute(graph, 2, fast).busiest();
    REQUIRE(lower <= upper);
    if (lower > 0) REQUIRE_FALSE(playable_within(graph, fast, static_cast<int>(lower) - 1));
    REQUIRE(playable_within(graph, fast, static_cast<int>(upper)));
    ++solved;
    tight += playable_within(graph, fast, static_cast<int>(lower)) ? 1 : 0;
  }
  CHECK(solved >= 40);
  CHECK(tight >= solved / 3);
}

TEST_CASE("horizontal: flow that balanced nodes must pass") {
  // A chain of 10 computed values on two nodes, five each: flow from the value at i to that at j passes the edges
  // between, so over the edge from the value at k pass 2 k (10 - k) units of the 10 x 5 that end elsewhere; the middle
  // one has 50: one word.
  const auto paths = [](const Cdag& graph, std::uint32_t nodes) { return received_lower_bounds(graph, nodes)[2]; };
  CHECK(paths(chain_graph(10), 2).method == "paths");
  CHECK(paths(chain_graph(10), 2).words == 1);
  // A grid of 30 x 30 on two nodes: a side and a half of values do; flow crowds in the middle, so that the bound is
  // some share of a side, and grows with it.
  const Words grid = paths(diamond_graph(30), 2).words;
  CHECK(grid >= 30 / 4);
  CHECK(grid <= 45);
  CHECK(3 * paths(diamond_graph(20), 2).words <= 2 * grid + 3);
  CHECK(distribute(diamond_graph(30), 2, {}).cost.horizontal_total() >= grid);
}

TEST_CASE("horizontal: a stencil is cut where few values cross") {
  // 40 points, 30 steps, two nodes: in time, all 40 values of the middle step cross; in space, at the border two in
  // each step, one each way, 60.
  CHECK(distribute(jacobi1d_graph(40, 30), 2, {}).cost.horizontal_total() <= 40);
  // 40 points, 10 steps, four nodes: in time 3 x 40, in space three borders of two values in each of 10 steps.
  CHECK(distribute(jacobi1d_graph(40, 10), 4, {}).cost.horizontal_total() <= 3 * 2 * 10);
}

TEST_CASE("horizontal: larger graphs keep within their memories and above their bounds") {
  for (const Cdag& graph :
       {matmul_graph({.m = 4, .n = 4, .k = 4}), fft_graph(16), jacobi1d_graph(12, 6), cholesky_graph(6)})
    for (std::uint32_t nodes : {2U, 3U, 8U}) {
      const auto fast = static_cast<Words>(graph.max_in_degree()) + 3;
      const Distribution small = distribute(graph, nodes, fast), large = distribute(graph, nodes, {});
      CHECK(verify(graph, {.levels = {{.units = nodes, .capacity = fast}}}, small.play).cost.has_value());
      CHECK(small.busiest() >= best(busiest_lower_bounds(graph, nodes, fast)));
      CHECK(large.cost.horizontal_total() == horizontal_words(graph, large.owner));
      CHECK(large.cost.horizontal_total() >= best(received_lower_bounds(graph, nodes)));
      CHECK(best(received_lower_bounds(graph, nodes)) >= 1);
    }
}
