#include "cairn/allotment/layer_strategies.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "catch.h"

namespace cairn::allotment {
namespace {

// Memories are multiples of `grain`; the faster a strategy, the more memory it tends to take; the capacity is anything
// up to what all layers can take.
LayerProblem random_layers(core::Random& random, std::int64_t grain) {
  LayerProblem problem;
  const std::size_t layers = 1 + random.below(6);
  std::int64_t most = 0;
  for (std::size_t l = 0; l < layers; ++l) {
    std::vector<LayerStrategy>& own = problem.layers.emplace_back(1 + random.below(5));
    std::int64_t most_of_layer = 0;
    for (LayerStrategy& each : own) {
      const auto units = static_cast<std::int64_t>(random.below(20));
      each = {.time = 4 * (20 - units) + static_cast<core::Picoseconds>(random.below(40)), .memory = grain * units};
      most_of_layer = std::max(most_of_layer, each.memory);
    }
    most += most_of_layer;
  }
  problem.capacity = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most) + 1));
  const std::uint64_t seed = random.next();
  const std::uint64_t range = 1 + random.below(40);
  problem.change_time = [seed, range](std::size_t layer, std::size_t from, std::size_t to) {
    return static_cast<core::Picoseconds>(core::Random(seed + 100 * layer + 10 * from + to).below(range));
  };
  return problem;
}

struct TriedLayers {
  bool fits = false;
  core::Picoseconds time = 0;
  std::int64_t memory = 0;
};

// Adds up every choice of the layers from `layer` on; what comes before takes (time, memory).
void try_layers(const LayerProblem& problem, std::size_t layer, std::size_t before, core::Picoseconds time,
                std::int64_t memory, std::int64_t capacity, TriedLayers& best) {
  if (layer == problem.layers.size()) {
    if (memory > capacity) return;
    if (!best.fits || std::tie(time, memory) < std::tie(best.time, best.memory)) best = {true, time, memory};
    return;
  }
  for (std::size_t s = 0; s < problem.layers[layer].size(); ++s)
    try_layers(problem, layer + 1, s,
               time + problem.layers[layer][s].time + (layer > 0 ? problem.change_time(layer - 1, before, s) : 0),
               memory + problem.layers[layer][s].memory, capacity, best);
}

TriedLayers try_all_layers(const LayerProblem& problem, std::int64_t capacity) {
  TriedLayers best;
  try_layers(problem, 0, 0, 0, 0, capacity, best);
  return best;
}

// What a choice takes, added up from the problem.
TriedLayers layers_added_up(const LayerProblem& problem, const std::vector<std::size_t>& strategies) {
  REQUIRE(strategies.size() == problem.layers.size());
  TriedLayers sum{.fits = true};
  for (std::size_t l = 0; l < strategies.size(); ++l) {
    const LayerStrategy& own = problem.layers[l].at(strategies[l]);
    sum.time += own.time + (l > 0 ? problem.change_time(l - 1, strategies[l - 1], strategies[l]) : 0);
    sum.memory += own.memory;
  }
  return sum;
}

LayerProblem layers_of_the_header(std::int64_t capacity) {
  const std::vector<LayerStrategy> layer = {{.time = 10, .memory = 8}, {.time = 30, .memory = 2}};
  return {.layers = {layer, layer},
          .change_time = [](std::size_t, std::size_t from, std::size_t to) { return from == to ? 0 : 5; },
          .capacity = capacity};
}

}  // namespace

// By hand: both first 10 + 10, one of them 10 + 5 + 30, both second 30 + 30; memories 16, 10, 4.
TEST_CASE("The layers of the header's example") {
  CHECK(fastest_strategies(layers_of_the_header(16))->time == 20);
  CHECK(fastest_strategies(layers_of_the_header(15))->time == 45);
  CHECK(fastest_strategies(layers_of_the_header(10))->time == 45);
  CHECK(fastest_strategies(layers_of_the_header(9))->strategies == std::vector<std::size_t>{1, 1});
  CHECK(fastest_strategies(layers_of_the_header(4))->time == 60);
  CHECK_FALSE(fastest_strategies(layers_of_the_header(3)).has_value());
  // In units of 3 the memories are 3 and 1.
  CHECK(fastest_strategies_by_units(layers_of_the_header(18), 3)->time == 20);
  CHECK(fastest_strategies_by_units(layers_of_the_header(17), 3)->time == 45);
  CHECK(fastest_strategies_by_units(layers_of_the_header(6), 3)->memory == 4);
  CHECK_FALSE(fastest_strategies_by_units(layers_of_the_header(5), 3).has_value());
}

TEST_CASE("Strategies of layers are those that trying every choice finds, on 4,000 random problems") {
  core::Random random(20261127);
  std::size_t binding = 0, infeasible = 0;
  for (int i = 0; i < 4'000; ++i) {
    const LayerProblem problem = random_layers(random, 7);
    const TriedLayers best = try_all_layers(problem, problem.capacity);
    const std::optional<LayerChoice> found = fastest_strategies(problem);
    REQUIRE(found.has_value() == best.fits);
    if (!best.fits) {
      ++infeasible;
      continue;
    }
    REQUIRE(std::tie(found->time, found->memory) == std::tie(best.time, best.memory));
    const TriedLayers sum = layers_added_up(problem, found->strategies);
    REQUIRE(std::tie(found->time, found->memory) == std::tie(sum.time, sum.memory));
    REQUIRE(found->memory <= problem.capacity);
    if (best.time > try_all_layers(problem, std::numeric_limits<std::int64_t>::max()).time) ++binding;
  }
  CHECK(binding > 1'000);
  CHECK(infeasible > 200);
}

TEST_CASE("Units of memory lose time, never memory, and nothing where they divide all memories") {
  core::Random random(31);
  std::size_t slower = 0, lost = 0, divided = 0;
  for (int i = 0; i < 3'000; ++i) {
    const std::int64_t unit = 2 + static_cast<std::int64_t>(random.below(6));
    const bool divides = random.below(2) == 0;
    const LayerProblem problem = random_layers(random, divides ? 3 * unit : 1);
    const std::optional<LayerChoice> exact = fastest_strategies(problem);
    const std::optional<LayerChoice> found = fastest_strategies_by_units(problem, unit);
    if (found.has_value()) {
      const TriedLayers sum = layers_added_up(problem, found->strategies);
      REQUIRE(std::tie(found->time, found->memory) == std::tie(sum.time, sum.memory));
      REQUIRE(found->memory <= problem.capacity);
      REQUIRE(exact.has_value());
      REQUIRE(found->time >= exact->time);
      if (found->time > exact->time) ++slower;
    } else if (exact.has_value()) {
      ++lost;
    }
    if (divides) {
      REQUIRE(found.has_value() == exact.has_value());
      if (found.has_value()) REQUIRE(found->time == exact->time);
      if (found.has_value()) ++divided;
    }
    const auto layers = static_cast<std::int64_t>(problem.layers.size());
    const TriedLayers within = try_all_layers(problem, problem.capacity - (layers + 1) * (unit - 1));
    if (within.fits) REQUIRE(found.has_value());
    if (within.fits) REQUIRE(found->time <= within.time);
  }
  CHECK(slower > 100);
  CHECK(lost > 50);
  CHECK(divided > 500);
}

TEST_CASE("More memory never makes layers slower") {
  core::Random random(5);
  for (int i = 0; i < 200; ++i) {
    LayerProblem problem = random_layers(random, 5);
    std::optional<LayerChoice> before;
    for (problem.capacity = 0; problem.capacity < 620; problem.capacity += 20) {
      const std::optional<LayerChoice> found = fastest_strategies(problem);
      if (before.has_value()) REQUIRE(found.has_value());
      if (before.has_value()) REQUIRE(found->time <= before->time);
      before = found;
    }
    REQUIRE(before.has_value());  // at most six layers of at most 95 bytes
  }
}

// 32 layers of 22 strategies: 22^32 choices. Memories of layers that are alike have few sums, so that few are compared.
TEST_CASE("A deep stage of layers that are alike") {
  std::vector<LayerStrategy> layer;
  for (std::int64_t s = 0; s < 22; ++s) layer.push_back({.time = 1'000 / (s + 1), .memory = 64 * (s + 1)});
  const LayerProblem problem{.layers = std::vector<std::vector<LayerStrategy>>(32, layer), .capacity = 32 * 64 * 5};
  const std::optional<LayerChoice> exact = fastest_strategies(problem);
  REQUIRE(exact.has_value());
  CHECK(exact->time <= 32 * (1'000 / 5));  // all layers alike
  CHECK(fastest_strategies_by_units(problem, 64)->time == exact->time);
}

TEST_CASE("Problems of layers that are none") {
  CHECK(fastest_strategies({})->strategies.empty());
  CHECK(fastest_strategies_by_units({}, 1)->time == 0);
  CHECK_FALSE(fastest_strategies({.capacity = -1}).has_value());
  LayerProblem problem = layers_of_the_header(16);
  CHECK_THROWS_AS(fastest_strategies_by_units(problem, 0), core::ConfigurationError);
  problem.capacity = std::int64_t{1} << 40;
  problem.layers[0][0].memory = problem.capacity;
  CHECK_THROWS_AS(fastest_strategies_by_units(problem, 1), core::ConfigurationError);
  problem.layers[0][0].memory = -1;
  CHECK_THROWS_AS(fastest_strategies(problem), core::ConfigurationError);
  problem.layers[0][0] = {.time = core::k_reach, .memory = 1};
  CHECK_THROWS_AS(fastest_strategies(problem), core::ConfigurationError);
  problem = layers_of_the_header(16);
  problem.change_time = [](std::size_t, std::size_t, std::size_t) { return core::Picoseconds{-1}; };
  CHECK_THROWS_AS(fastest_strategies(problem), core::ConfigurationError);
  problem.layers[1].clear();
  CHECK_THROWS_AS(fastest_strategies(problem), core::ConfigurationError);
}

// All rows of at most three (kind, degree), of which those that obey the rules are picked afterwards.
TEST_CASE("Leaves of the decision trees are the rows that obey the rules") {
  using Row = std::vector<std::pair<int, std::int64_t>>;
  for (const std::int64_t devices : {1, 2, 4, 8, 16, 64}) {
    std::vector<Row> rows = {{}};
    std::set<Row> expected;
    for (std::size_t next = 0; next < rows.size(); ++next) {
      const Row row = rows[next];
      std::int64_t product = 1;
      std::vector<int> times(3, 0);
      for (const auto& [kind, degree] : row) {
        product *= degree;
        ++times[static_cast<std::size_t>(kind)];
      }
      const bool once = *std::max_element(times.begin(), times.end()) <= 1;
      if (product == devices && once && !(times[0] > 0 && times[1] > 0)) expected.insert(row);
      if (row.size() == 3) continue;
      for (const int kind : {0, 1, 2})
        for (std::int64_t degree = 2; degree <= devices; ++degree) {
          if (devices % degree != 0) continue;
          rows.push_back(row);
          rows.back().emplace_back(kind, degree);
        }
    }
    std::set<Row> found;
    const std::vector<ParallelStrategy> plain = parallel_strategies(devices, Recomputation::never);
    for (const ParallelStrategy& each : plain) {
      CHECK_FALSE(each.recompute);
      Row row;
      for (const ParallelDegree& one : each.degrees) row.emplace_back(static_cast<int>(one.kind), one.degree);
      found.insert(std::move(row));
    }
    CHECK(found == expected);
    CHECK(found.size() == plain.size());
    const std::vector<ParallelStrategy> both = parallel_strategies(devices, Recomputation::optional);
    REQUIRE(both.size() == 2 * plain.size());
    for (std::size_t i = 0; i < plain.size(); ++i) {
      CHECK(both[i] == plain[i]);
      CHECK(both[plain.size() + i] == ParallelStrategy{.degrees = plain[i].degrees, .recompute = true});
    }
  }
}

// What the authors' program lists for 8 GPUs in 1, 2, 4 and 8 stages: data and tensor degrees of which neither is 1 in
// two orders, each data degree above 1 plain or sharded, and all of it once more with recomputation.
TEST_CASE("Eight devices have 22 strategies over all numbers of stages, 44 with recomputation") {
  std::size_t plain = 0, both = 0;
  for (const std::int64_t stages : {1, 2, 4, 8}) {
    plain += parallel_strategies(8 / stages, Recomputation::never).size();
    both += parallel_strategies(8 / stages, Recomputation::optional).size();
  }
  CHECK(plain == 22);
  CHECK(both == 44);
  for (const std::int64_t devices : {0, -8, 6, 12})
    CHECK_THROWS_AS(parallel_strategies(devices, Recomputation::never), core::ConfigurationError);
}

}  // namespace cairn::allotment
