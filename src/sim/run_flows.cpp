#include <algorithm>
#include <string>
#include <vector>

#include "cairn/core/diagnostics.h"
#include "cairn/sim/event_queue.h"
#include "cairn/sim/flows.h"
#include "cairn/sim/shared_work.h"
#include "check_flows.h"
#include "cycle.h"

namespace cairn::sim {
namespace {

// What waits for a flow, and for how many flows each one still waits.
struct Waiting {
  explicit Waiting(const FlowProblem& problem) {
    if (problem.after_begin.empty()) return;
    const std::size_t flows = problem.flows.size();
    successors = invert(problem.after_begin, problem.after);
    remaining.resize(flows);
    for (std::size_t f = 0; f < flows; ++f) remaining[f] = problem.after_begin[f + 1] - problem.after_begin[f];
  }
  bool any() const { return !remaining.empty(); }

  Adjacency successors;
  std::vector<std::uint32_t> remaining;
};

class FlowLoop {
 public:
  FlowLoop(const FlowProblem& problem, FlowObserver* observer)
      : problem_(problem), observer_(observer), waiting_(problem) {
    for (const Link& link : problem.links) shared_.add_link(link.capacity);
    latency_.reserve(problem.routes.size());
    for (RouteId r = 0; r < problem.routes.size(); ++r) add_route(r);
    times_.end.assign(problem.flows.size(), k_not_yet);
  }

  FlowTimes run() {
    for (std::uint32_t c = 0; c < problem_.changes.size(); ++c)
      events_.push(problem_.changes[c].time, {Kind::change, c});
    for (FlowId flow = 0; flow < problem_.flows.size(); ++flow)
      if (!waiting_.any() || waiting_.remaining[flow] == 0) await(flow);
    while (!events_.empty()) {
      do {
        handle(events_.pop());
      } while (events_.pending_now());
      if (!changed_) continue;
      changed_ = false;
      shared_.settle(events_.now());
      for (const SharedWork::Wake& wake : shared_.wakes()) events_.push(wake.time, {Kind::wake, wake.slot});
    }
    if (ended_flows_ < problem_.flows.size()) raise_unfinished();
    return std::move(times_);
  }

 private:
  static constexpr core::Picoseconds k_not_yet = -1;

  enum class Kind : std::uint32_t { release, enter, wake, change };
  struct Event {
    Kind kind;
    std::uint32_t which;
  };

  void add_route(RouteId r) {
    const auto route = problem_.routes[r];
    core::Picoseconds sum = 0;
    for (const LinkId link : route) sum = std::min(sum + problem_.links[link].latency, k_latest);
    latency_.push_back(sum);
    for (std::size_t i = 1; i < route.size(); ++i)
      if (std::find(route.begin(), route.begin() + static_cast<std::ptrdiff_t>(i), route[i]) !=
          route.begin() + static_cast<std::ptrdiff_t>(i))
        return winding_.push_back(r);
  }

  // Every link once, as often as the route crosses it.
  std::vector<Demand> demands(RouteId r) const {
    std::vector<Demand> demands;
    for (const LinkId link : problem_.routes[r]) {
      const auto same = std::find_if(demands.begin(), demands.end(), [&](const Demand& d) { return d.link == link; });
      if (same == demands.end())
        demands.push_back({.link = link, .amount = 1.0});
      else
        same->amount += 1.0;
    }
    return demands;
  }

  void handle(const Event& event) {
    switch (event.kind) {
      case Kind::release:
        return release(event.which);
      case Kind::enter:
        return enter(event.which);
      case Kind::wake:
        return wake(event.which);
      case Kind::change:
        return change(problem_.changes[event.which]);
    }
  }

  // What it comes after has ended.
  void await(FlowId flow) {
    const core::Picoseconds start = problem_.flows[flow].start;
    if (start <= events_.now()) return release(flow);
    events_.push(start, {Kind::release, flow});
  }

  void release(FlowId flow) {
    if (observer_) observer_->on_release(flow, events_.now());
    const core::Picoseconds latency = latency_[problem_.flows[flow].route];
    if (latency < k_latest - events_.now()) events_.push(events_.now() + latency, {Kind::enter, flow});
  }

  void enter(FlowId id) {
    if (observer_) observer_->on_enter(id, events_.now());
    const Flow& flow = problem_.flows[id];
    if (flow.bytes == 0.0) return end(id);
    if (std::binary_search(winding_.begin(), winding_.end(), flow.route))
      shared_.start(demands(flow.route), flow.bytes, id, weight(flow.route));
    else
      shared_.start(problem_.routes[flow.route], flow.bytes, id, weight(flow.route));
    changed_ = true;
  }

  // In units of 1/s; without any latency all are equal.
  double weight(RouteId route) const {
    if (problem_.sharing == Sharing::max_min || latency_[route] == 0) return 1.0;
    return 1.0 / core::to_seconds(latency_[route]);
  }

  void wake(std::uint32_t slot) {
    ended_.clear();
    shared_.wake(slot, events_.now(), ended_);
    changed_ |= !ended_.empty();
    for (const FlowId flow : ended_) end(flow);
  }

  void end(FlowId flow) {
    times_.end[flow] = events_.now();
    times_.makespan = events_.now();
    ++ended_flows_;
    if (observer_) observer_->on_end(flow, events_.now());
    if (!waiting_.any()) return;
    for (const FlowId next : waiting_.successors.of(flow))
      if (--waiting_.remaining[next] == 0) await(next);
  }

  void change(const CapacityChange& change) {
    shared_.set_capacity(change.link, change.capacity);
    changed_ = true;
    if (observer_) observer_->on_capacity(change.link, events_.now(), change.capacity);
  }

  // Nothing will happen any more: a stopped link holds flows back, or flows wait for each other.
  [[noreturn]] void raise_unfinished() const {
    for (FlowId flow = 0; flow < problem_.flows.size(); ++flow) {
      const bool released = !waiting_.any() || waiting_.remaining[flow] == 0;
      if (times_.end[flow] != k_not_yet || !released) continue;
      const auto route = problem_.routes[problem_.flows[flow].route];
      const auto stopped =
          std::find_if(route.begin(), route.end(), [&](LinkId l) { return shared_.sharing().capacity(l) == 0.0; });
      throw core::ConfigurationError("flow " + std::to_string(flow),
                                     stopped == route.end()
                                         ? "ends later than simulated time reaches"
                                         : "never ends: link " + std::to_string(*stopped) + " has stopped",
                                     "let the link have bandwidth again, or lead the flow around it");
    }
    raise_cycle("flows", waiting_.successors, waiting_.remaining);
  }

  const FlowProblem& problem_;
  FlowObserver* observer_;
  Waiting waiting_;
  SharedWork shared_;
  EventQueue<Event> events_;
  std::vector<core::Picoseconds> latency_;  // by route
  std::vector<RouteId> winding_;            // that cross a link more than once, ascending
  std::vector<FlowId> ended_;               // in one wake
  FlowTimes times_;
  std::size_t ended_flows_ = 0;
  bool changed_ = false;  // since the last settle
};

}  // namespace

FlowTimes run_flows(const FlowProblem& problem, FlowObserver* observer) {
  check(problem);
  return FlowLoop(problem, observer).run();
}

}  // namespace cairn::sim
