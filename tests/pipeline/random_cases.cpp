// The sweep against an independent simulator on random settings, stage times and latencies.
#include <algorithm>
#include <map>
#include <tuple>

#include "cairn/core/random.h"
#include "cairn/pipeline/generators.h"
#include "cairn/pipeline/sweep.h"
#include "catch.h"

using namespace cairn;
using pipeline::Operation;
using pipeline::Phase;
using pipeline::Schedule;

namespace {

using Time = std::int64_t;
using Key = std::tuple<int, int, int>;  // phase, global stage, micro-batch

// Starts everything at 0 and pushes operations later until every constraint holds: the least solution, whatever the
// order.
std::map<Key, Time> simulate(const Schedule& schedule, const pipeline::StageTimes& times) {
  std::map<Key, Time> end;
  const int stages = schedule.stages * schedule.chunks;
  for (bool changed = true; changed;) {
    changed = false;
    for (int device = 0; device < schedule.stages; ++device) {
      Time free = 0;
      for (const Operation& operation : schedule.row(device)) {
        const int stage = operation.chunk * schedule.stages + device;
        const bool forward = operation.phase == Phase::forward;
        const int from = forward ? stage - 1 : stage + 1;
        Time start = free;
        if (from >= 0 && from < stages) {
          const Time latency = schedule.stages == 1 ? 0 : times.delay(from, operation.phase);
          start = std::max(start, end[{static_cast<int>(operation.phase), from, operation.micro_batch}] + latency);
        }
        free = start + times.duration(stage, operation.phase);
        Time& known = end[{static_cast<int>(operation.phase), stage, operation.micro_batch}];
        changed |= known != free;
        known = free;
      }
    }
  }
  return end;
}

pipeline::StageTimes random_times(const Schedule& schedule, core::Random& random) {
  pipeline::StageTimes times(schedule.virtual_stages());
  for (int stage = 0; stage < schedule.virtual_stages(); ++stage)
    for (const Phase phase : {Phase::forward, Phase::backward}) {
      times.set_duration(stage, phase, static_cast<Time>(random.below(20)));
      times.set_delay(stage, phase, static_cast<Time>(random.below(8)));
    }
  return times;
}

}  // namespace

TEST_CASE("sweep equals an independent simulator on random cases") {
  core::Random random(20);
  for (int round = 0; round < 3000; ++round) {
    const auto& generator = pipeline::generators()[random.below(pipeline::generators().size())];
    pipeline::Settings settings{.stages = 1 + static_cast<int>(random.below(6)),
                                .micro_batches = 1 + static_cast<int>(random.below(9))};
    if (generator.kind == "interleaved-1f1b") {
      settings.chunks = 1 + static_cast<int>(random.below(3));
      settings.micro_batches = settings.stages * (1 + static_cast<int>(random.below(3)));
    }
    const Schedule schedule = pipeline::generate(generator.kind, settings);
    const pipeline::StageTimes times = random_times(schedule, random);
    const pipeline::SweepOrder order = pipeline::sweep_order(schedule);
    const pipeline::SweepResult result = pipeline::sweep(order, times);
    std::map<Key, Time> expected = simulate(schedule, times);
    REQUIRE(order.steps.size() == expected.size());
    Time last = 0;
    std::vector<Time> free(settings.stages, 0);
    for (std::size_t i = 0; i < order.steps.size(); ++i) {
      const pipeline::SweepStep& step = order.steps[i];
      const Key key{static_cast<int>(step.operation.phase), step.virtual_stage, step.operation.micro_batch};
      REQUIRE(result.end[i] == expected.at(key));
      REQUIRE(result.start[i] >= free[step.device]);  // one thing at a time
      REQUIRE(step.producer < static_cast<int>(i));
      free[step.device] = result.end[i];
      last = std::max(last, result.end[i]);
    }
    REQUIRE(result.makespan == last);
  }
}

TEST_CASE("makespan with jumps equals the plain sweep") {
  core::Random random(21);
  for (int round = 0; round < 3000; ++round) {
    const auto& generator = pipeline::generators()[random.below(pipeline::generators().size())];
    pipeline::Settings settings{.stages = 1 + static_cast<int>(random.below(7)),
                                .micro_batches = 1 + static_cast<int>(random.below(120))};
    if (generator.kind == "interleaved-1f1b") {
      settings.chunks = 1 + static_cast<int>(random.below(3));
      settings.micro_batches = settings.stages * (1 + static_cast<int>(random.below(20)));
    }
    const Schedule schedule = pipeline::generate(generator.kind, settings);
    const pipeline::SweepOrder order = pipeline::sweep_order(schedule);
    for (int again = 0; again < 3; ++again) {
      pipeline::StageTimes times = random_times(schedule, random);
      if (again == 0) {
        times.set_duration(Phase::forward, 10);
        times.set_duration(Phase::backward, 20);
      }
      INFO(generator.kind << " p=" << settings.stages << " m=" << settings.micro_batches << " v=" << settings.chunks);
      REQUIRE(pipeline::makespan(order, times) == pipeline::sweep(order, times).makespan);
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
