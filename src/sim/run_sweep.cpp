#include <algorithm>
#include <vector>

#include "cairn/core/assert.h"
#include "cairn/sim/task_graph.h"
#include "cycle.h"

namespace cairn::sim {
namespace {

// end[task] holds the ready time until the task is settled.
void settle(const TaskGraph& graph, TaskId task, TaskTimes& times) {
  const core::Picoseconds end = times.end[task] += graph.duration[task];
  times.makespan = std::max(times.makespan, end);
}

// Ids are a topological order when every edge leads upwards. False, with nothing to be kept, as soon as one does not.
bool sweep_by_id(const TaskGraph& graph, TaskTimes& times) {
  for (TaskId task = 0; task < graph.tasks(); ++task) {
    settle(graph, task, times);
    const core::Picoseconds end = times.end[task];
    for (const TaskId successor : graph.successors_of(task)) {
      if (successor <= task) return false;
      times.end[successor] = std::max(times.end[successor], end);
    }
  }
  return true;
}

void sweep_by_readiness(const TaskGraph& graph, TaskTimes& times) {
  std::vector<std::uint32_t> remaining = predecessor_counts(graph);
  std::vector<TaskId> order;  // settled tasks and, behind them, those that are ready
  order.reserve(graph.tasks());
  for (TaskId task = 0; task < graph.tasks(); ++task)
    if (remaining[task] == 0) order.push_back(task);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const TaskId task = order[i];
    settle(graph, task, times);
    const core::Picoseconds end = times.end[task];
    for (const TaskId successor : graph.successors_of(task)) {
      times.end[successor] = std::max(times.end[successor], end);
      if (--remaining[successor] == 0) order.push_back(successor);
    }
  }
  if (order.size() < graph.tasks()) raise_cycle("tasks", graph.successor_begin, graph.successors, remaining);
}

}  // namespace

TaskTimes run_sweep(const TaskGraph& graph) {
  CAIRN_ASSERT(graph.successor_begin.size() == graph.duration.size() + 1);
  CAIRN_ASSERT(graph.queues == 0);
  TaskTimes times{.end = std::vector<core::Picoseconds>(graph.tasks(), 0), .makespan = 0};
  if (sweep_by_id(graph, times)) return times;
  std::fill(times.end.begin(), times.end.end(), 0);
  times.makespan = 0;
  sweep_by_readiness(graph, times);
  return times;
}

}  // namespace cairn::sim
