// Flows over links whose routes are given, from start to finish.
//
//   release(f) = max(start(f), end of every flow that f comes after)
//   enter(f)   = release(f) + sum of the latencies of its links; no bandwidth is used until then
//   end(f)     = the instant at which its bytes have passed, at the rates x_f(t) of cairn/sim/fair_share.h
//
// The rates of the flows that have entered are max-min fair; they change only when a flow enters or ends or a capacity
// changes. All that happens at one instant is applied before rates are computed again, and only for flows connected
// with what changed through links in use; a flow that is alone on its links runs at the smallest of their capacities.
//
// Instants are picoseconds. The rates change at the real instant at which a flow ends; the picosecond is what is
// reported and what its successors build on. So rounding does not accumulate while flows share.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cairn/core/time.h"
#include "cairn/sim/fair_share.h"

namespace cairn::sim {

struct Link {
  double capacity = 0.0;          // [bytes/s] of one direction, > 0, finite
  core::Picoseconds latency = 0;  // >= 0
};

// Lists of links, one per pair that communicates or one per flow, as suits the caller.
using RouteId = std::uint32_t;
struct Routes {
  std::vector<std::uint32_t> begin{0};  // routes + 1 offsets into links
  std::vector<LinkId> links;

  RouteId add(std::span<const LinkId> route) {
    links.insert(links.end(), route.begin(), route.end());
    begin.push_back(static_cast<std::uint32_t>(links.size()));
    return size() - 1;
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(begin.size() - 1); }
  std::span<const LinkId> operator[](RouteId route) const {
    return std::span(links).subspan(begin[route], begin[route + 1] - begin[route]);
  }
};

struct Flow {
  RouteId route = 0;            // at least one link; a link that occurs twice is loaded twice
  double bytes = 0.0;           // >= 0, finite
  core::Picoseconds start = 0;  // >= 0: not before
};

// From `time` on the link has this capacity [bytes/s]; 0 stops it.
struct CapacityChange {
  core::Picoseconds time = 0;
  LinkId link = 0;
  double capacity = 0.0;
};

enum class Sharing : std::uint8_t {
  max_min,       // weight 1
  rtt_weighted,  // weight 1 / latency of the route, as of protocols whose window grows once per round trip. Source:
                 // Casanova, Marchal, "A Network Model for Simulation of Grid Application", INRIA RR-4596, 2002 (CM02)
};

struct FlowProblem {
  std::vector<Link> links;
  Routes routes;
  std::vector<Flow> flows;
  std::vector<std::uint32_t> after_begin;  // flows + 1 offsets into after; empty: no flow waits for another
  std::vector<FlowId> after;               // what must end before the flow is released
  std::vector<CapacityChange> changes;     // in any order
  Sharing sharing = Sharing::max_min;
};

// Sees what happens in the order of time. Owns nothing, is called synchronously.
class FlowObserver {
 public:
  virtual ~FlowObserver() = default;
  virtual void on_release(FlowId flow, core::Picoseconds time) = 0;
  virtual void on_enter(FlowId flow, core::Picoseconds time) = 0;
  virtual void on_end(FlowId flow, core::Picoseconds time) = 0;
  virtual void on_capacity(LinkId link, core::Picoseconds time, double capacity) = 0;
};

struct FlowTimes {
  std::vector<core::Picoseconds> end;  // by flow
  core::Picoseconds makespan = 0;
};

// Throws core::ConfigurationError: a link without capacity, a flow that crosses no link or one that does not exist,
// negative sizes or times, flows that wait for each other (the cycle is named), flows that a stopped link never lets
// end, under rtt_weighted a route without latency beside others that have one.
FlowTimes run_flows(const FlowProblem& problem, FlowObserver* observer = nullptr);

}  // namespace cairn::sim
