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
// Within a group, a change shows only from the level on at which a link of a flow that came or went fills; what filled
// before stays. So a group remembers the order in which its links filled and sweeps through it from there on, asking
// each link anew for its level: t_l from what the flows that links before it have settled take of it. A link whose
// level lies below that of the one before it goes back to its place, one whose level lies beyond the next ones goes on
// to its own, and what it passes is asked again. When levels do not fall from link to link and no link is overfull, the
// rates are max-min: every flow is settled by a full link on which nobody is faster. A link that holds no flow back is
// asked only once levels have risen by what it had left. Orders that change too much, and new ones, are found by a
// heap.
//
// In a large group with few flows per link a change reaches few others. Then only the touched links are opened: the
// flows that they held back are settled afresh among themselves, the rates of all others standing, and a link is opened
// too when this would leave it not full, or a flow on it faster than those it holds back. When no link is left to open,
// all rates are max-min.
//
// What a solve says is kept by link, not by flow: a level t_l per link and a bottleneck per flow. When one of n flows
// leaves, the levels of many links change a little but few flows change their bottleneck.
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

// What a solve says. Loops over events read it for every piece of work, so it is not behind the implementation.
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

  // Links whose flows were settled together, closed under sharing; reproducible order.
  struct Solved {
    GroupId group;                    // who the links are until the next solve; k_alone: those of one flow
    std::span<const LinkId> links;    // those that are the bottleneck of some flow
    std::span<const LinkId> renewed;  // those of them whose level may differ from before
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
  // All links of a group of the last solve(), those of bounds included; none for k_alone. The load of any of them may
  // have changed.
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
