// Who waits for the resources that serve in order of arrival.
#pragma once

#include <vector>

#include "cairn/sim/task_graph.h"

namespace cairn::sim {

// Tasks waiting for arrival-order resources: one linked list per resource, threaded through the tasks.
class WaitingLines {
 public:
  explicit WaitingLines(const TaskGraph& graph) : graph_(graph), lines_(graph.queues) {
    if (graph.queues > 0) behind_.assign(graph.tasks(), k_nobody);
  }

  // True when the task may start now; otherwise it stands in line.
  bool enter(TaskId task) {
    Line& line = lines_[graph_.queue[task]];
    if (!line.busy) return line.busy = true;
    if (line.first == k_nobody)
      line.first = task;
    else
      behind_[line.last] = task;
    line.last = task;
    return false;
  }

  // The task that may start because this one has ended, or k_nobody.
  TaskId leave(TaskId task) {
    Line& line = lines_[graph_.queue[task]];
    const TaskId next = line.first;
    if (next == k_nobody)
      line.busy = false;
    else
      line.first = behind_[next];
    return next;
  }

  static constexpr TaskId k_nobody = ~TaskId{0};

 private:
  struct Line {
    bool busy = false;
    TaskId first = k_nobody;
    TaskId last = k_nobody;
  };
  const TaskGraph& graph_;
  std::vector<Line> lines_;
  std::vector<TaskId> behind_;
};

}  // namespace cairn::sim
