#include "cycle.h"

#include <algorithm>
#include <string>
#include <vector>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"

namespace cairn::sim {

std::vector<std::uint32_t> predecessor_counts(const TaskGraph& graph) {
  std::vector<std::uint32_t> counts(graph.tasks(), 0);
  for (const TaskId successor : graph.successors) ++counts[successor];
  return counts;
}

void raise_cycle(const TaskGraph& graph, std::span<const std::uint32_t> remaining) {
  // Every blocked task has a blocked predecessor: walking back ends in a cycle.
  constexpr TaskId k_unknown = ~TaskId{0};
  std::vector<TaskId> blocker(graph.tasks(), k_unknown);
  TaskId task = k_unknown;
  for (TaskId before = 0; before < graph.tasks(); ++before) {
    if (remaining[before] == 0) continue;
    for (const TaskId after : graph.successors_of(before)) blocker[after] = before;
    task = before;
  }
  CAIRN_ASSERT(task != k_unknown);
  std::vector<bool> visited(graph.tasks(), false);
  for (; !visited[task]; task = blocker[task]) visited[task] = true;
  std::vector<TaskId> cycle{task};
  for (TaskId before = blocker[task]; before != task; before = blocker[before]) cycle.push_back(before);
  std::reverse(cycle.begin(), cycle.end());  // ends with `task`, so it reads task -> ... -> task

  constexpr std::size_t k_named = 12;
  std::string text = std::to_string(task);
  for (std::size_t i = 0; i < std::min(cycle.size(), k_named); ++i) text += " -> " + std::to_string(cycle[i]);
  if (cycle.size() > k_named) text += " -> ... (" + std::to_string(cycle.size()) + " tasks in all)";
  throw core::ConfigurationError("tasks", "tasks wait for each other: " + text, "remove one of these dependencies");
}

}  // namespace cairn::sim
