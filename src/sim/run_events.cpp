#include <algorithm>
#include <vector>

#include "cairn/core/assert.h"
#include "cairn/sim/event_queue.h"
#include "cairn/sim/task_graph.h"
#include "cycle.h"
#include "waiting_lines.h"

namespace cairn::sim {
namespace {

// Queues and observers cost nothing where there are none.
template <bool has_queues, bool observed>
class EventLoop {
 public:
  EventLoop(const TaskGraph& graph, TaskObserver* observer)
      : graph_(graph), observer_(observer), lines_(graph), remaining_(predecessor_counts(graph)) {
    times_.end.resize(graph.tasks());
  }

  TaskTimes run() {
    for (TaskId task = 0; task < graph_.tasks(); ++task)
      if (remaining_[task] == 0) make_ready(task);
    TaskId ended = 0;
    for (; !events_.empty(); ++ended) end(events_.pop());
    if (ended < graph_.tasks()) raise_cycle("tasks", graph_.successor_begin, graph_.successors, remaining_);
    times_.makespan = events_.now();
    return std::move(times_);
  }

 private:
  void make_ready(TaskId task) {
    if (has_queues && graph_.queue[task] != k_no_resource && !lines_.enter(task)) return;
    start(task);
  }

  void start(TaskId task) {
    if (observed) observer_->on_start(task, events_.now());
    events_.push(events_.now() + graph_.duration[task], task);
  }

  void end(TaskId task) {
    times_.end[task] = events_.now();
    if (observed) observer_->on_end(task, events_.now());
    if (has_queues && graph_.queue[task] != k_no_resource) {
      const TaskId next = lines_.leave(task);
      if (next != WaitingLines::k_nobody) start(next);
    }
    for (const TaskId successor : graph_.successors_of(task))
      if (--remaining_[successor] == 0) make_ready(successor);
  }

  const TaskGraph& graph_;
  TaskObserver* observer_;
  WaitingLines lines_;
  std::vector<std::uint32_t> remaining_;  // predecessors that have not ended
  EventQueue<TaskId> events_;
  TaskTimes times_;
};

}  // namespace

TaskTimes run_events(const TaskGraph& graph, TaskObserver* observer) {
  CAIRN_ASSERT(graph.successor_begin.size() == graph.duration.size() + 1);
  CAIRN_ASSERT(graph.queues == 0 || graph.queue.size() == graph.duration.size());
  if (graph.queues > 0)
    return observer ? EventLoop<true, true>(graph, observer).run() : EventLoop<true, false>(graph, observer).run();
  return observer ? EventLoop<false, true>(graph, observer).run() : EventLoop<false, false>(graph, observer).run();
}

}  // namespace cairn::sim
