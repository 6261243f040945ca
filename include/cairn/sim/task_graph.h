// Tasks with durations, what must end before what starts, and resources that serve one task at a time.
//
//   ready(t) = max over predecessors u of end(u), 0 without any
//   start(t) = ready(t), or later if the resource of t serves others first
//   end(t)   = start(t) + duration(t)
//
// A resource serves its tasks either
//   in program order: in the order of their ids, fixed beforehand (a stream of a device). This is a chain of
//     dependencies and is stored as such; it needs no decision at run time.
//   in arrival order: first come, first served, by (ready time, sequence), where sequence is the order in which
//     the tasks became ready: completions of one instant count in the order in which they were started, the successors
//     of one completion in the order of their edges.
// Ids are 32-bit and everything lies in flat arrays: 12 bytes per task (16 with arrival order) and 4 per edge.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cairn/core/time.h"

namespace cairn::sim {

using TaskId = std::uint32_t;
using ResourceId = std::uint32_t;
inline constexpr ResourceId k_no_resource = ~ResourceId{0};

enum class Discipline : std::uint8_t { program_order, arrival_order };

struct TaskGraph {
  std::vector<core::Picoseconds> duration;     // by task, >= 0
  std::vector<std::uint32_t> successor_begin;  // tasks + 1 offsets into successors
  std::vector<TaskId> successors;              // the chains of program-order resources included
  std::vector<ResourceId> queue;  // by task: its arrival-order resource or k_no_resource; empty when there are none
  std::uint32_t queues = 0;       // arrival-order resources

  std::uint32_t tasks() const { return static_cast<std::uint32_t>(duration.size()); }
  std::span<const TaskId> successors_of(TaskId task) const {
    return std::span(successors).subspan(successor_begin[task], successor_begin[task + 1] - successor_begin[task]);
  }
};

class TaskGraphBuilder {
 public:
  ResourceId add_resource(Discipline discipline);
  // duration >= 0 [ps].
  TaskId add_task(core::Picoseconds duration, ResourceId resource = k_no_resource);
  // `after` starts no earlier than `before` ends. Both exist.
  void add_dependency(TaskId before, TaskId after);
  TaskGraph build() const;

 private:
  struct Resource {
    ResourceId queue;  // its number among the arrival-order resources; k_no_resource: program order
    TaskId last_task;  // added so far
  };
  std::vector<Resource> resources_;
  std::vector<core::Picoseconds> duration_;
  std::vector<ResourceId> queue_;  // by task
  std::uint32_t queues_ = 0;
  std::vector<std::pair<TaskId, TaskId>> dependencies_;
};

// Sees every task start and end, in the order (time, sequence). Owns nothing, is called synchronously.
class TaskObserver {
 public:
  virtual ~TaskObserver() = default;
  virtual void on_start(TaskId task, core::Picoseconds time) = 0;
  virtual void on_end(TaskId task, core::Picoseconds time) = 0;
};

struct TaskTimes {
  std::vector<core::Picoseconds> end;  // by task; start = end - duration
  core::Picoseconds makespan = 0;
};

// Event loop: serves every graph. 12 bytes per task beyond the graph and the pending events (16 more with arrival
// queues). Throws core::ConfigurationError naming the cycle when tasks wait for each other.
TaskTimes run_events(const TaskGraph& graph, TaskObserver* observer = nullptr);

// No queue, no clock: solves the equations above in topological order; bit-equal to run_events. 8 bytes per task beyond
// the graph when every edge leads to a higher id, 16 otherwise. The graph has no arrival-order resource (its order is
// decided by time). Throws as run_events.
TaskTimes run_sweep(const TaskGraph& graph);

}  // namespace cairn::sim
