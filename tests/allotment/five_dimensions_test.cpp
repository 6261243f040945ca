#include "cairn/allotment/five_dimensions.h"

#include <array>
#include <map>
#include <vector>

#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "catch.h"

namespace cairn::allotment {
namespace {

using FiveNumbers = std::array<std::int64_t, 5>;  // tensor, pipeline, optimizer, rematerialised, data

FiveNumbers numbers_of(const FiveDimensions& of) {
  return {of.tensor, of.pipeline, of.optimizer, of.rematerialised, of.data};
}

// All numbers up to their limits in the order of ties, of which those that obey the rules are kept.
std::vector<FiveDimensions> candidates_of_five(const FiveDimensionsProblem& problem) {
  std::vector<FiveDimensions> result;
  for (std::int64_t tensor = 1; tensor <= problem.heads; ++tensor)
    for (std::int64_t pipeline = 1; pipeline <= problem.layers; ++pipeline) {
      const std::int64_t data = problem.devices / (tensor * pipeline);
      if (data * tensor * pipeline != problem.devices) continue;
      if (problem.heads % tensor + problem.layers % pipeline + problem.batch % data != 0) continue;
      for (std::int64_t optimizer = 1; optimizer <= data; ++optimizer)
        for (std::int64_t layers = 0; layers * pipeline <= problem.layers; ++layers)
          if (data % optimizer == 0)
            result.push_back({.data = data,
                              .tensor = tensor,
                              .pipeline = pipeline,
                              .optimizer = optimizer,
                              .rematerialised = layers});
    }
  return result;
}

// Costs by sums of drawn steps, many of them zero so that there are ties: time rises and memory falls along both walks.
struct DrawnCosts {
  std::vector<std::int64_t> time_of_optimizer, time_of_layers, memory_of_optimizer, memory_of_layers;
  std::int64_t work = 0, state = 0, activation = 0, send = 0;

  DrawnCosts(core::Random& random, std::int64_t devices, std::int64_t layers) {
    const auto steps = [&](std::int64_t count, std::uint64_t range) {
      std::vector<std::int64_t> sums = {0};
      for (std::int64_t i = 0; i < count; ++i)
        sums.push_back(sums.back() + (random.below(3) > 0 ? static_cast<std::int64_t>(random.below(range)) : 0));
      return sums;
    };
    time_of_optimizer = steps(devices, 1 + random.below(4));
    time_of_layers = steps(layers, 1 + random.below(20));
    memory_of_optimizer = steps(devices, 1 + random.below(8));
    memory_of_layers = steps(layers, 1 + random.below(30));
    work = static_cast<std::int64_t>(random.below(400));
    state = static_cast<std::int64_t>(random.below(400));
    activation = static_cast<std::int64_t>(random.below(200));
    send = static_cast<std::int64_t>(random.below(20));
  }

  core::Picoseconds time(const FiveDimensions& of) const {
    return work / (of.data * of.tensor) + send * (of.tensor + of.pipeline) +
           time_of_optimizer[static_cast<std::size_t>(of.optimizer - 1)] +
           time_of_layers[static_cast<std::size_t>(of.rematerialised)];
  }
  std::int64_t memory(const FiveDimensions& of) const {
    return 1'000 + state / (of.tensor * of.pipeline * of.optimizer) + activation / of.tensor -
           memory_of_optimizer[static_cast<std::size_t>(of.optimizer - 1)] -
           memory_of_layers[static_cast<std::size_t>(of.rematerialised)];
  }
};

struct DrawnProblem {
  FiveDimensionsProblem problem = {};
  DrawnCosts costs;
};

DrawnProblem random_problem_of_five(core::Random& random) {
  const std::array<std::int64_t, 12> devices = {1, 2, 4, 6, 8, 12, 16, 24, 32, 36, 48, 64};
  FiveDimensionsProblem problem{.devices = devices[random.below(devices.size())],
                                .heads = std::int64_t{1} << random.below(5),
                                .layers = 1 + static_cast<std::int64_t>(random.below(10))};
  problem.batch = random.below(4) == 0 ? 16 : 2 * 2 * 2 * 2 * 2 * 2 * 9;
  return {.problem = problem, .costs = DrawnCosts(random, problem.devices, problem.layers)};
}

}  // namespace

// By hand. Memory 10 / optimizer + 4 (2 - rematerialised): for 4 data parallel ranks 18, 14, 10 bytes with an optimizer
// degree of 1, 13, 9, 5 with 2 and 10, 6, 2 with 4. Within 9 bytes: (2, 1) and (4, 1), of which 2 is the faster.
TEST_CASE("Five dimensions by hand") {
  FiveDimensionsProblem problem{.devices = 4, .heads = 1, .layers = 2, .batch = 4, .capacity = 9};
  problem.time = [](const FiveDimensions& of) { return 100 * of.pipeline + 10 * of.rematerialised + 3 * of.optimizer; };
  problem.memory = [](const FiveDimensions& of) { return 10 / of.optimizer + 4 * (2 - of.rematerialised); };
  const FiveDimensionsAnswer answer = fastest_dimensions(problem);
  CHECK(answer.best == FiveDimensions{.data = 4, .optimizer = 2, .rematerialised = 1});
  CHECK(answer.time == 116);
  CHECK(answer.memory == 9);
  CHECK(answer.candidates == 3 * 3 + 2 * 2);
  // With 8 bytes less is saved by two rematerialised layers (5 bytes, 126) than by twice the degree (6 bytes, 122).
  problem.capacity = 8;
  CHECK(fastest_dimensions(problem).best == FiveDimensions{.data = 4, .optimizer = 4, .rematerialised = 1});
  problem.capacity = 1;
  const FiveDimensionsAnswer none = fastest_dimensions(problem);
  CHECK_FALSE(none.best.has_value());
  CHECK(none.candidates == 13);
}

// Time falls with the optimizer degree: with both promises the first that fits would be taken, (1, 0) in 100.
TEST_CASE("An optimizer degree that saves time is found where it may") {
  FiveDimensionsProblem problem{.devices = 4, .heads = 1, .layers = 2, .batch = 4, .capacity = 18};
  problem.time = [](const FiveDimensions& of) { return 104 * of.pipeline + 10 * of.rematerialised - 4 * of.optimizer; };
  problem.memory = [](const FiveDimensions& of) { return 10 / of.optimizer + 4 * (2 - of.rematerialised); };
  CHECK(fastest_dimensions(problem).time == 100);
  problem.time_of_optimizer = Promise::anything;
  const FiveDimensionsAnswer answer = fastest_dimensions(problem);
  CHECK(answer.best == FiveDimensions{.data = 4, .optimizer = 4});
  CHECK(answer.time == 88);
  CHECK(answer.memory == 10);
}

TEST_CASE("What is found fits where memory grows with the optimizer degree against the promise") {
  FiveDimensionsProblem problem{.devices = 4, .heads = 1, .layers = 1, .batch = 4, .capacity = 10};
  problem.time_of_optimizer = Promise::anything;
  problem.time = [](const FiveDimensions& of) { return 104 * of.pipeline - 4 * of.optimizer; };
  problem.memory = [](const FiveDimensions& of) { return 10 * of.optimizer; };
  const FiveDimensionsAnswer answer = fastest_dimensions(problem);
  CHECK(answer.best == FiveDimensions{.data = 4});
  CHECK(answer.time == 100);
  CHECK(answer.memory == 10);
}

TEST_CASE("The header's example of five dimensions has 21 candidates") {
  FiveDimensionsProblem problem{.devices = 4, .heads = 2, .layers = 2, .batch = 4};
  problem.time = problem.memory = [](const FiveDimensions&) { return std::int64_t{0}; };
  const FiveDimensionsAnswer answer = fastest_dimensions(problem);
  CHECK(answer.candidates == 21);
  CHECK(answer.best == FiveDimensions{.data = 4});  // all are equal: the first in the order of ties
}

TEST_CASE("Five dimensions are those that trying every candidate finds, on 3,000 random costs") {
  core::Random random(20261127);
  std::size_t binding = 0, infeasible = 0, tied = 0, fewer = 0;
  std::int64_t evaluated = 0, candidates = 0;
  for (int i = 0; i < 3'000; ++i) {
    DrawnProblem search = random_problem_of_five(random);
    std::map<FiveNumbers, int> asked;
    search.problem.time = [&](const FiveDimensions& of) {
      ++asked[numbers_of(of)];
      return search.costs.time(of);
    };
    search.problem.memory = [&](const FiveDimensions& of) {
      ++asked[numbers_of(of)];
      return search.costs.memory(of);
    };
    const std::vector<FiveDimensions> all = candidates_of_five(search.problem);
    // The memory of some candidate, or a little less.
    if (!all.empty())
      search.problem.capacity =
          search.costs.memory(all[random.below(all.size())]) - static_cast<std::int64_t>(random.below(4));
    const FiveDimensionsAnswer answer = fastest_dimensions(search.problem);
    const FiveDimensions* best = nullptr;
    std::size_t as_fast = 0;
    bool faster_is_too_large = false;
    for (const FiveDimensions& each : all) {
      if (search.costs.memory(each) > search.problem.capacity) continue;
      if (best == nullptr || search.costs.time(each) < search.costs.time(*best)) {
        best = &each;
        as_fast = 0;
      }
      if (search.costs.time(each) == search.costs.time(*best)) ++as_fast;
    }
    for (const FiveDimensions& each : all)
      if (best != nullptr && search.costs.time(each) < search.costs.time(*best)) faster_is_too_large = true;

    REQUIRE(answer.candidates == static_cast<std::int64_t>(all.size()));
    REQUIRE(answer.evaluated == static_cast<std::int64_t>(asked.size()));
    REQUIRE(answer.evaluated <= answer.candidates);
    REQUIRE(answer.best.has_value() == (best != nullptr));
    evaluated += answer.evaluated;
    candidates += answer.candidates;
    if (answer.evaluated < answer.candidates) ++fewer;
    if (best == nullptr) {
      ++infeasible;
      continue;
    }
    REQUIRE(*answer.best == *best);
    REQUIRE(answer.time == search.costs.time(*best));
    REQUIRE(answer.memory == search.costs.memory(*best));
    if (faster_is_too_large) ++binding;
    if (as_fast > 1) ++tied;
  }
  CHECK(binding > 500);
  CHECK(infeasible > 100);
  CHECK(tied > 300);
  CHECK(fewer > 1'500);
  CHECK(2 * evaluated < candidates);
}

// 64 ranks and 63 layers: 7 optimizer degrees, 64 numbers of rematerialised layers.
TEST_CASE("A walk along the stairs is no longer than both of its sides") {
  core::Random random(9);
  for (int i = 0; i < 200; ++i) {
    const DrawnCosts costs(random, 64, 64);
    FiveDimensionsProblem problem{.devices = 64, .layers = 63, .batch = 64};
    problem.capacity = static_cast<std::int64_t>(random.below(1'500));
    problem.time = [&](const FiveDimensions& of) { return costs.time(of); };
    problem.memory = [&](const FiveDimensions& of) { return costs.memory(of); };
    const FiveDimensionsAnswer answer = fastest_dimensions(problem);
    REQUIRE(answer.candidates == 7 * 64);  // no pipeline degree divides both 64 and 63
    REQUIRE(answer.evaluated <= 7 + 64);
  }
}

TEST_CASE("Five dimensions of what is no problem") {
  FiveDimensionsProblem problem{.devices = 4, .heads = 1, .layers = 1, .batch = 2};
  CHECK_THROWS_AS(fastest_dimensions(problem), core::ConfigurationError);
  problem.time = problem.memory = [](const FiveDimensions&) { return std::int64_t{0}; };
  CHECK(fastest_dimensions(problem).candidates == 0);  // neither heads, layers nor batch take 4 devices
  CHECK_FALSE(fastest_dimensions(problem).best.has_value());
  for (std::int64_t FiveDimensionsProblem::*const field :
       {&FiveDimensionsProblem::devices, &FiveDimensionsProblem::heads, &FiveDimensionsProblem::layers,
        &FiveDimensionsProblem::batch}) {
    FiveDimensionsProblem wrong = problem;
    wrong.*field = 0;
    CHECK_THROWS_AS(fastest_dimensions(wrong), core::ConfigurationError);
  }
}

}  // namespace cairn::allotment
