// A ring all-reduce as explicit messages, and the loop around a heap that anyone would write to run it.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "cairn/core/random.h"
#include "cairn/sim/task_graph.h"

namespace cairn::support {

// 2 (P-1) steps of P messages; each follows what its rank sent and received in the step before. Random durations, so
// that events do not fall together.
inline sim::TaskGraph ring_tasks(std::uint32_t ranks) {
  core::Random random(1);
  sim::TaskGraphBuilder builder;
  const std::uint32_t steps = 2 * (ranks - 1);
  for (std::uint32_t i = 0; i < ranks * steps; ++i)
    builder.add_task(80'000'000 + static_cast<core::Picoseconds>(random.below(1'000'000)));
  for (std::uint32_t s = 0; s + 1 < steps; ++s)
    for (std::uint32_t r = 0; r < ranks; ++r) {
      builder.add_dependency(s * ranks + r, (s + 1) * ranks + r);
      builder.add_dependency(s * ranks + r, (s + 1) * ranks + (r + 1) % ranks);
    }
  return builder.build();
}

// Returns the makespan.
inline core::Picoseconds run_by_priority_queue(const sim::TaskGraph& graph) {
  using Event = std::pair<core::Picoseconds, sim::TaskId>;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  std::vector<std::uint8_t> remaining(graph.tasks(), 0);
  for (const sim::TaskId task : graph.successors) ++remaining[task];
  for (sim::TaskId task = 0; task < graph.tasks(); ++task)
    if (remaining[task] == 0) events.emplace(graph.duration[task], task);
  std::vector<core::Picoseconds> end(graph.tasks());
  core::Picoseconds now = 0;
  while (!events.empty()) {
    const auto [time, task] = events.top();
    events.pop();
    end[task] = now = time;
    for (const sim::TaskId next : graph.successors_of(task))
      if (--remaining[next] == 0) events.emplace(now + graph.duration[next], next);
  }
  return now;
}

}  // namespace cairn::support
