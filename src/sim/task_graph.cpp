#include "cairn/sim/task_graph.h"

#include <cstddef>
#include <limits>

#include "cairn/core/assert.h"

namespace cairn::sim {
namespace {

constexpr TaskId k_no_task = ~TaskId{0};

}  // namespace

ResourceId TaskGraphBuilder::add_resource(Discipline discipline) {
  const ResourceId queue = discipline == Discipline::arrival_order ? queues_++ : k_no_resource;
  resources_.push_back({.queue = queue, .last_task = k_no_task});
  return static_cast<ResourceId>(resources_.size() - 1);
}

TaskId TaskGraphBuilder::add_task(core::Picoseconds duration, ResourceId resource) {
  CAIRN_ASSERT(duration >= 0);
  CAIRN_ASSERT(resource == k_no_resource || resource < resources_.size());
  CAIRN_ASSERT(duration_.size() < k_no_task);
  const auto task = static_cast<TaskId>(duration_.size());
  duration_.push_back(duration);
  ResourceId queue = k_no_resource;
  if (resource != k_no_resource) {
    Resource& r = resources_[resource];
    queue = r.queue;
    if (queue == k_no_resource && r.last_task != k_no_task) dependencies_.emplace_back(r.last_task, task);
    r.last_task = task;
  }
  queue_.push_back(queue);
  return task;
}

void TaskGraphBuilder::add_dependency(TaskId before, TaskId after) {
  CAIRN_ASSERT(before < duration_.size() && after < duration_.size());
  dependencies_.emplace_back(before, after);
}

TaskGraph TaskGraphBuilder::build() const {
  CAIRN_ASSERT(dependencies_.size() <= std::numeric_limits<std::uint32_t>::max());
  TaskGraph graph;
  graph.duration = duration_;
  graph.queues = queues_;
  if (queues_ > 0) graph.queue = queue_;
  graph.successor_begin.assign(duration_.size() + 1, 0);
  for (const auto& [before, after] : dependencies_) ++graph.successor_begin[before + 1];
  for (std::size_t task = 0; task < duration_.size(); ++task)
    graph.successor_begin[task + 1] += graph.successor_begin[task];
  graph.successors.resize(dependencies_.size());
  std::vector<std::uint32_t> cursor(graph.successor_begin.begin(), graph.successor_begin.end() - 1);
  for (const auto& [before, after] : dependencies_) graph.successors[cursor[before]++] = after;
  return graph;
}

}  // namespace cairn::sim
