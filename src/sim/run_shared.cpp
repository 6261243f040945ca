#include <cmath>
#include <string>
#include <vector>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "cairn/sim/event_queue.h"
#include "cairn/sim/shared_tasks.h"
#include "cairn/sim/shared_work.h"
#include "cycle.h"
#include "waiting_lines.h"

namespace cairn::sim {
namespace {

void complain(core::Diagnostics& found, const std::string& what, std::size_t number, std::string message,
              std::string hint) {
  found.add({.file = {},
             .key_path = what + " " + std::to_string(number),
             .message = std::move(message),
             .hint = std::move(hint)});
}

bool positive(double value) { return value > 0.0 && std::isfinite(value); }

void check(const TaskGraph& graph, const SharedResources& resources) {
  CAIRN_ASSERT(resources.demand_begin.size() == graph.duration.size() + 1);
  CAIRN_ASSERT(resources.demand_begin.back() == resources.demands.size());
  CAIRN_ASSERT(resources.weight.empty() || resources.weight.size() == graph.duration.size());
  core::Diagnostics found;
  const std::string numbered =
      "resources are numbered from 0 to " + std::to_string(resources.capacity.size()) + " exclusive";
  for (std::size_t r = 0; r < resources.capacity.size(); ++r)
    if (!positive(resources.capacity[r])) complain(found, "resource", r, "has no capacity", "give it more than 0");
  for (TaskId task = 0; task < graph.tasks(); ++task) {
    for (const Demand& demand : resources.of(task)) {
      if (demand.link >= resources.capacity.size())
        complain(found, "task", task, "needs resource " + std::to_string(demand.link) + ", which does not exist",
                 numbered);
      if (!positive(demand.amount))
        complain(found, "task", task, "needs no valid amount of resource " + std::to_string(demand.link),
                 "give it more than 0, or leave the demand out");
    }
    if (!resources.weight.empty() && !positive(resources.weight[task]))
      complain(found, "task", task, "has no valid weight", "give it more than 0");
  }
  for (std::size_t c = 0; c < resources.changes.size(); ++c) {
    const CapacityChange& change = resources.changes[c];
    if (change.link >= resources.capacity.size()) complain(found, "capacity change", c, "is of no resource", numbered);
    if (!(change.capacity >= 0.0) || !std::isfinite(change.capacity))
      complain(found, "capacity change", c, "has no valid capacity", "give 0 or more");
    if (change.time < 0 || change.time >= k_latest)
      complain(found, "capacity change", c, "has no valid time", "let it happen at 0 or later, within 53 days");
  }
  found.raise_if_errors();
}

class SharedLoop {
 public:
  SharedLoop(const TaskGraph& graph, const SharedResources& resources, TaskObserver* observer)
      : graph_(graph),
        resources_(resources),
        observer_(observer),
        lines_(graph),
        remaining_(predecessor_counts(graph)),
        changing_(resources.capacity.size(), false) {
    for (const double capacity : resources.capacity) shared_.add_link(capacity);
    for (const CapacityChange& change : resources.changes) changing_[change.link] = true;
    times_.end.assign(graph.tasks(), k_not_yet);
  }

  TaskTimes run() {
    for (std::uint32_t c = 0; c < resources_.changes.size(); ++c)
      events_.push(resources_.changes[c].time, {Kind::change, c});
    for (TaskId task = 0; task < graph_.tasks(); ++task)
      if (remaining_[task] == 0) make_ready(task);
    settle();
    while (!events_.empty()) {
      do {
        handle(events_.pop());
      } while (events_.pending_now());
      settle();
    }
    if (ended_tasks_ < graph_.tasks()) raise_unfinished();
    return std::move(times_);
  }

 private:
  static constexpr core::Picoseconds k_not_yet = -1;

  enum class Kind : std::uint32_t { end, wake, change };
  struct Event {
    Kind kind;
    std::uint32_t which;
  };

  void handle(const Event& event) {
    if (event.kind == Kind::end) return end(event.which);
    if (event.kind == Kind::wake) {
      ended_.clear();
      shared_.wake(event.which, events_.now(), ended_);
      changed_ |= !ended_.empty();
      for (const TaskId task : ended_) end(task);
      return;
    }
    const CapacityChange& change = resources_.changes[event.which];
    shared_.set_capacity(change.link, change.capacity);
    changed_ = true;
  }

  void settle() {
    if (!changed_) return;
    changed_ = false;
    shared_.settle(events_.now());
    for (const SharedWork::Wake& wake : shared_.wakes()) events_.push(wake.time, {Kind::wake, wake.slot});
  }

  void make_ready(TaskId task) {
    if (graph_.queues > 0 && graph_.queue[task] != k_no_resource && !lines_.enter(task)) return;
    start(task);
  }

  void start(TaskId task) {
    if (observer_) observer_->on_start(task, events_.now());
    const core::Picoseconds duration = graph_.duration[task];
    const std::span<const Demand> demands = resources_.of(task);
    if (demands.empty() || duration == 0) {
      events_.push(events_.now() + duration, {Kind::end, task});
      return;
    }
    const double weight = resources_.weight.empty() ? 1.0 : resources_.weight[task];
    const double bound = limited(demands) ? FairShare::k_unbounded : 1.0;
    shared_.start(demands, core::to_seconds(duration), task, weight, bound);
    changed_ = true;
  }

  // Whether full speed takes all of a resource that stays as it is: then nothing else need bound the speed.
  bool limited(std::span<const Demand> demands) const {
    for (const Demand& demand : demands)
      if (demand.amount >= resources_.capacity[demand.link] && !changing_[demand.link]) return true;
    return false;
  }

  void end(TaskId task) {
    times_.end[task] = times_.makespan = events_.now();
    ++ended_tasks_;
    if (observer_) observer_->on_end(task, events_.now());
    if (graph_.queues > 0 && graph_.queue[task] != k_no_resource) {
      const TaskId next = lines_.leave(task);
      if (next != WaitingLines::k_nobody) start(next);
    }
    for (const TaskId successor : graph_.successors_of(task))
      if (--remaining_[successor] == 0) make_ready(successor);
  }

  [[noreturn]] void raise_unfinished() const {
    for (TaskId task = 0; task < graph_.tasks(); ++task) {
      if (times_.end[task] != k_not_yet || remaining_[task] > 0) continue;
      for (const Demand& demand : resources_.of(task))
        if (shared_.sharing().capacity(demand.link) == 0.0)
          throw core::ConfigurationError("task " + std::to_string(task),
                                         "never ends: resource " + std::to_string(demand.link) + " has stopped",
                                         "let the resource have capacity again");
    }
    raise_cycle("tasks", graph_.successor_begin, graph_.successors, remaining_);
  }

  const TaskGraph& graph_;
  const SharedResources& resources_;
  TaskObserver* observer_;
  WaitingLines lines_;
  std::vector<std::uint32_t> remaining_;  // predecessors that have not ended
  std::vector<bool> changing_;            // by resource
  SharedWork shared_;
  EventQueue<Event> events_;
  std::vector<TaskId> ended_;  // in one wake
  TaskTimes times_;
  std::uint32_t ended_tasks_ = 0;
  bool changed_ = false;  // since the last settle
};

}  // namespace

TaskTimes run_shared_events(const TaskGraph& graph, const SharedResources& resources, TaskObserver* observer) {
  CAIRN_ASSERT(graph.successor_begin.size() == graph.duration.size() + 1);
  CAIRN_ASSERT(graph.queues == 0 || graph.queue.size() == graph.duration.size());
  check(graph, resources);
  return SharedLoop(graph, resources, observer).run();
}

}  // namespace cairn::sim
