// Max-min fair sharing of resources (links, memory bandwidth, processor share) among flows.
//
//   flow f runs at rate x_f >= 0 and takes a_lf x_f of resource l, for the few resources l it uses
//   feasible:  sum over f of a_lf x_f <= C_l  for every l,   x_f <= bound_f
//   max-min:   no x_f / w_f can grow without another x_g / w_g <= x_f / w_f shrinking
//
// Such rates exist and are unique; they are found by filling. Let all rates grow as x_f = w_f t. When a resource is
// used up, at t_l = (C_l - what settled flows take of it) / (sum of a_lf w_f over its growing flows), its flows settle;
// a flow also settles at its bound. The others grow on. So in the end every flow is at its bound or uses a resource
// that is full and on which no flow has a larger x_f / w_f: its bottleneck b, and x_f = w_f t_b.
//
// Example: resources A of 10 and B of 4; flow 1 uses A and B, flow 2 only A, flow 3 only B (all a = w = 1).
//   t_A = 10/2 = 5, t_B = 4/2 = 2: B fills first, x_1 = x_3 = 2. Then t_A = (10 - 2)/1 = 8: x_2 = 8.
//
// Uses: flows over links (a = 1, x in bytes/s; w = 1, or 1/round-trip time where the protocol shares so); work on
// shared units (x = speed relative to running alone, bound 1, a_l = share of l that it takes at full speed).
//
// Incremental: flows that share no resource, directly or through others, do not influence each other. Links are kept in
// groups closed under sharing; only groups touched since the last solve are solved again, and a flow that is alone on
// its links needs no solve. A group joins others when a flow spans them, and is taken apart into its connected
// components once half of its flows have left, so that searching for components costs O(1) per flow. Source: Bertsekas,
// Gallager, "Data Networks", 2nd ed. 1992, section 6.5.2.
//
// Within a group, a flow that comes or goes leaves alone all links that fill before the first link of that flow. So a
// group remembers the order in which its links filled, and a sweep repeats the filling from there on: link by link it
// computes the level t_l again from the flows that earlier links have settled. A link whose level is now below that of
// the link before it, or above that of the next ones, moves to its new place in the order, and the links that it passes
// are computed again. When levels ascend along the order and no link is overfull, the rates are max-min: every flow is
// settled by a full link on which no flow is faster. A link that is no bottleneck is computed again only when levels
// have risen enough to have used up what it had left. New orders, and those that change too much, are found by a heap:
// progressive filling from nothing.
//
// In a large group with few flows per link a change reaches few others. Then only the touched links are opened: the
// flows that have their bottleneck there are settled again, while all other rates stay. A further link is opened when
// this leaves it not full, or a flow on it faster than the flows that it is the bottleneck of. When no link is left to
// open, all rates are max-min.
//
// Results are stored as a level t_l per link and a bottleneck per flow, not as a rate per flow: when one of n flows
// leaves, the levels of many links change a little, but few flows change their bottleneck.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace cairn::sim {

using FlowId = std::uint32_t;
using LinkId = std::uint32_t;
using GroupId = std::uint32_t;
inline constexpr LinkId k_no_link = ~LinkId{0};

struct Demand {
  LinkId link = 0;
  double amount = 1.0;  // a_lf > 0: of the resource per unit of rate
};

// The result of a solve. It is public, not behind the implementation, since loops over events read it all the time.
struct Rates {
  std::vector<double> level;       // by link
  std::vector<LinkId> bottleneck;  // by flow
  std::vector<double> weight;      // by flow

  double rate(FlowId flow) const {
    return bottleneck[flow] == k_no_link ? 0.0 : weight[flow] * level[bottleneck[flow]];
  }
};

class FairShare {
 public:
  FairShare();
  FairShare(FairShare&&) noexcept;
  FairShare& operator=(FairShare&&) noexcept;
  ~FairShare();

  static constexpr double k_unbounded = std::numeric_limits<double>::infinity();

  // capacity >= 0, finite; 0 stops the flows that use it.
  LinkId add_link(double capacity);
  void set_capacity(LinkId link, double capacity);

  // Every link at most once; weight > 0, finite; bound >= 0. Without links the bound must be finite. A bound is a link
  // of its own. Ids are reused.
  FlowId add_flow(std::span<const Demand> demands, double weight = 1.0, double bound = k_unbounded);
  // a = 1 on every link of the route; at least one link.
  FlowId add_routed(std::span<const LinkId> route, double weight = 1.0);
  void remove_flow(FlowId id);

  // A group of links, closed under sharing, that was solved anew; the order is reproducible.
  struct Solved {
    GroupId group;                    // valid until the next solve; k_alone: the links of one flow that shares none
    std::span<const LinkId> links;    // its links that are the bottleneck of some flow
    std::span<const LinkId> renewed;  // those of them whose level may have changed
  };
  static constexpr GroupId k_alone = ~GroupId{0};
  struct Moved {  // a flow whose bottleneck differs from before
    FlowId flow;
    LinkId from;  // k_no_link for a new flow
  };

  // Brings levels and bottlenecks up to date.
  void solve();
  // Of the last solve(); valid until the next call of a function that is not const.
  std::span<const Moved> moved() const;
  // All links of a group that the last solve() solved, those that stand for bounds included: the load of each of them
  // may have changed. None for k_alone.
  std::span<const LinkId> links_of(GroupId group) const;
  std::size_t solved_groups() const;
  Solved solved(std::size_t i) const;

  // As of the last solve().
  LinkId bottleneck(FlowId flow) const { return rates_->bottleneck[flow]; }
  double level(LinkId link) const { return rates_->level[link]; }  // of a link that is a bottleneck
  double rate(FlowId flow) const { return rates_->rate(flow); }
  double weight(FlowId flow) const { return rates_->weight[flow]; }
  // What the flows take of a resource now.
  double load(LinkId link) const;
  double capacity(LinkId link) const;
  // Resources, those that stand for bounds included.
  std::size_t links() const;
  GroupId group(LinkId link) const;

 private:
  class Implementation;

  std::unique_ptr<Implementation> implementation_;
  const Rates* rates_;  // of the implementation
};

}  // namespace cairn::sim
