// Activations over time: against the count along the order lists, and against a literal recount at every operation.
#include <algorithm>
#include <set>
#include <utility>

#include "cairn/core/diagnostics.h"
#include "cairn/pipeline/generators.h"
#include "cairn/pipeline/residency.h"
#include "catch.h"

using namespace cairn;
using pipeline::Phase;
using pipeline::Release;

namespace {

pipeline::StageTimes times_of(const pipeline::Schedule& schedule) {
  pipeline::StageTimes times(schedule.virtual_stages());
  for (int phase = 0; phase < pipeline::k_phases; ++phase) times.set_duration(static_cast<Phase>(phase), 3 + phase);
  times.set_delay(1);
  return times;
}

// Which sets are there while an operation starts: asked anew for every instant at which something starts.
int most_alive(const pipeline::SweepOrder& order, const pipeline::SweepResult& result, int device, Release release) {
  std::size_t most = 0;
  for (std::size_t at = 0; at < order.steps.size(); ++at) {
    const std::int64_t now = result.start[at];
    std::set<std::pair<int, int>> alive, away;
    // In the order of time, what has ended by now and what starts at or before it.
    std::vector<std::pair<std::int64_t, std::size_t>> events;
    for (std::size_t i = 0; i < order.steps.size(); ++i)
      if (order.row_device[order.steps[i].device] == device && result.start[i] <= now)
        events.emplace_back(result.start[i], i);
    std::stable_sort(events.begin(), events.end());
    for (const auto& [start, i] : events) {
      const pipeline::Operation& o = order.steps[i].operation;
      const std::pair set{o.chunk, o.micro_batch};
      const bool ended = result.end[i] <= now;
      const bool frees =
          o.phase == Phase::backward ||
          (o.phase == (release == Release::at_input_gradient ? Phase::input_gradient : Phase::weight_gradient));
      if (o.phase == Phase::forward || o.phase == Phase::reload) alive.insert(set);
      if (ended && (frees || o.phase == Phase::offload)) alive.erase(set);
    }
    most = std::max(most, alive.size());
  }
  return static_cast<int>(most);
}

}  // namespace

TEST_CASE("residency equals the count along the lists, and a recount at every operation") {
  for (const pipeline::Generator& generator : pipeline::generators()) {
    INFO(generator.kind);
    const bool chunks = (generator.options & pipeline::takes::k_chunks) != 0;
    const auto schedule =
        pipeline::generate(generator.kind, {.stages = 4, .micro_batches = 8, .chunks = chunks ? 2 : 1});
    const auto order = pipeline::sweep_order(schedule);
    const auto result = pipeline::sweep(order, times_of(schedule));
    for (const Release release : {Release::at_input_gradient, Release::at_weight_gradient}) {
      const auto peaks = pipeline::peak_residency(schedule, order, result, release);
      if (generator.kind != "pipeoffload") CHECK(peaks == pipeline::peak_activations(schedule, release));
      for (int device = 0; device < schedule.stages; ++device)
        CHECK(peaks[device] == most_alive(order, result, device, release));
    }
  }
}

TEST_CASE("pipeoffload: copies that keep up leave less alive") {
  for (const std::int32_t p : {4, 8}) {
    const auto schedule = pipeline::generate("pipeoffload", {.stages = p, .micro_batches = 4 * p, .chunks = 2});
    const auto order = pipeline::sweep_order(schedule);
    pipeline::StageTimes times(schedule.virtual_stages());
    times.set_duration(Phase::forward, 10);
    times.set_duration(Phase::backward, 20);
    times.set_duration(Phase::offload, 5);
    times.set_duration(Phase::reload, 5);
    const auto result = pipeline::sweep(order, times);
    const auto there = pipeline::peak_residency(schedule, order, result, Release::at_input_gradient);
    const auto kept = pipeline::peak_activations(schedule, Release::at_input_gradient);
    // One of two chunks leaves, the one whose activations live longest: more than a quarter of the memory.
    CHECK(4 * there[0] < 3 * kept[0]);
    // And the copies, a third of the time of the compute, delay nothing: without them it is as fast.
    times.set_duration(Phase::offload, 0);
    times.set_duration(Phase::reload, 0);
    CHECK(result.makespan == pipeline::sweep(order, times).makespan);
  }
}
