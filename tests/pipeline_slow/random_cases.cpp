// Every kind against an independent simulator on random settings, stage times and latencies.
#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "cairn/pipeline/generators.h"
#include "cairn/pipeline/sweep.h"
#include "catch.h"
#include "pipeline/event_simulator.h"

using namespace cairn;
using pipeline::Phase;
using pipeline::Schedule;

namespace {

using simulated::Time;

template <typename Value>
Value one_of(core::Random& random, std::initializer_list<Value> values) {
  return values.begin()[random.below(values.size())];
}

// Kinds that search for their order take a while for each.
int cases(const pipeline::Generator& generator, int usual) {
  constexpr int k_fewer = 20;
  return generator.kind == "zb-auto" ? usual / k_fewer : usual;
}

// Random settings that the kind takes.
std::optional<Schedule> random_schedule(const pipeline::Generator& generator, core::Random& random,
                                        int most_micro_batches) {
  namespace takes = pipeline::takes;
  const auto taken = [&](std::uint32_t option) { return (generator.options & option) != 0; };
  pipeline::Settings s{.stages = 1 + static_cast<int>(random.below(8)),
                       .micro_batches = 1 + static_cast<int>(random.below(most_micro_batches))};
  if (random.below(2) == 0) s.micro_batches = s.stages * (1 + static_cast<int>(random.below(3)));
  if (taken(takes::k_chunks)) s.chunks = 1 + static_cast<int>(random.below(3));
  if (taken(takes::k_group)) s.group = static_cast<int>(random.below(2 * s.stages));
  if (taken(takes::k_waves)) s.waves = 1 + static_cast<int>(random.below(3));
  if (taken(takes::k_pipelines)) s.pipelines = one_of(random, {2, 2, 4});
  if (taken(takes::k_weight_gradients))
    s.weight_gradients = one_of(random, {pipeline::WeightGradients::last, pipeline::WeightGradients::fill});
  if (taken(takes::k_continuation))
    s.continuation = one_of(random, {pipeline::Continuation::concatenate, pipeline::Continuation::double_forward,
                                     pipeline::Continuation::halve_backward});
  if (taken(takes::k_reorder)) s.reorder = random.below(2) == 0;
  using pipeline::Vocabulary;
  if (random.below(4) == 0) s.vocabulary = one_of(random, {Vocabulary::one, Vocabulary::two, Vocabulary::interlaced});
  if (taken(takes::k_durations))
    s.durations = {.forward = 1 + static_cast<Time>(random.below(4)),
                   .input_gradient = 1 + static_cast<Time>(random.below(4)),
                   .weight_gradient = 1 + static_cast<Time>(random.below(4)),
                   .delay = static_cast<Time>(random.below(3))};
  try {
    return pipeline::generate(generator.kind, s);
  } catch (const core::ConfigurationError&) {
    return std::nullopt;
  }
}

pipeline::StageTimes random_times(const Schedule& schedule, core::Random& random) {
  pipeline::StageTimes times(schedule.virtual_stages());
  for (int stage = 0; stage < schedule.virtual_stages(); ++stage) {
    for (int phase = 0; phase < pipeline::k_phases; ++phase)
      times.set_duration(stage, static_cast<Phase>(phase), 2 + static_cast<Time>(random.below(20)));
    for (const Phase phase : {Phase::forward, Phase::backward})
      times.set_delay(stage, phase, static_cast<Time>(random.below(8)));
    times.set_saving(stage, static_cast<Time>(random.below(3)));
  }
  return times;
}

}  // namespace

TEST_CASE("sweep equals an event by event simulation on random cases of every kind") {
  constexpr int k_cases_per_kind = 600;
  core::Random random(20);
  int all = 0;
  for (const pipeline::Generator& generator : pipeline::generators()) {
    int of_kind = 0;
    const int wanted = cases(generator, k_cases_per_kind);
    for (int attempt = 0; of_kind < wanted && attempt < 20 * wanted; ++attempt) {
      const std::optional<Schedule> schedule = random_schedule(generator, random, 12);
      if (!schedule) continue;
      INFO(generator.kind << " p=" << schedule->stages << " m=" << schedule->micro_batches
                          << " v=" << schedule->chunks);
      REQUIRE_NOTHROW(pipeline::validate(*schedule));
      const pipeline::StageTimes times = random_times(*schedule, random);
      const pipeline::SweepOrder order = pipeline::sweep_order(*schedule);
      const pipeline::SweepResult result = pipeline::sweep(order, times);
      simulated::EventSimulator simulator(*schedule, times);
      simulator.run();
      REQUIRE(order.steps.size() == schedule->operations.size());
      std::vector<int> next(schedule->row_begin.begin(), schedule->row_begin.end() - 1);
      for (std::size_t i = 0; i < order.steps.size(); ++i) {
        const int operation = next[order.steps[i].device]++;
        REQUIRE(order.steps[i].operation == schedule->operations[operation]);
        REQUIRE(result.start[i] == simulator.start[operation]);
        REQUIRE(result.end[i] == simulator.end[operation]);
      }
      REQUIRE(result.makespan == simulator.makespan());
      ++of_kind;
      ++all;
    }
    CHECK(of_kind == wanted);
  }
  CHECK(all >= 10'000);
}

TEST_CASE("makespan with jumps equals the plain sweep") {
  constexpr int k_cases_per_kind = 150;
  core::Random random(21);
  for (const pipeline::Generator& generator : pipeline::generators()) {
    for (int round = 0; round < cases(generator, k_cases_per_kind); ++round) {
      const std::optional<Schedule> schedule = random_schedule(generator, random, 120);
      if (!schedule) continue;
      const pipeline::SweepOrder order = pipeline::sweep_order(*schedule);
      for (int again = 0; again < 3; ++again) {
        pipeline::StageTimes times = random_times(*schedule, random);
        if (again == 0) {
          times.set_duration(Phase::forward, 10);
          times.set_duration(Phase::backward, 20);
        }
        INFO(generator.kind << " p=" << schedule->stages << " m=" << schedule->micro_batches
                            << " v=" << schedule->chunks);
        REQUIRE(pipeline::makespan(order, times) == pipeline::sweep(order, times).makespan);
      }
    }
  }
}

TEST_CASE("steady schedules repeat, and nearly all of a long one is repetition") {
  // 1f1b and interleaved are steady in the middle; gpipe has one stretch of forwards and one of backwards.
  const auto covered = [](std::string_view kind, const pipeline::Settings& settings) {
    const pipeline::SweepOrder order = pipeline::sweep_order(pipeline::generate(kind, settings));
    int steps = 0;
    for (const pipeline::Repetition& stretch : order.repetitions) steps += stretch.last - stretch.first;
    return static_cast<double>(steps) / static_cast<double>(order.steps.size());
  };
  CHECK(covered("1f1b", {.stages = 4, .micro_batches = 400}) > 0.95);
  CHECK(covered("gpipe", {.stages = 4, .micro_batches = 400}) > 0.95);
  CHECK(covered("interleaved-1f1b", {.stages = 4, .micro_batches = 400, .chunks = 2}) > 0.95);
  CHECK(covered("1f1b", {.stages = 4, .micro_batches = 1}) == 0.0);
}
