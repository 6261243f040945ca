// Max-min fair sharing of resources (links, memory bandwidth, processor share) among flows.
//
//   flow f runs at rate x_f >= 0 and takes a_lf x_f of resource l, for the few resources l it uses
//   feasible:  sum over f of a_lf x_f <= C_l  for every l,   x_f <= bound_f
//   max-min:   no x_f / w_f can grow without another x_g / w_g <= x_f / w_f shrinking
//
// Such rates exist and are unique; they are found by filling. Let all rates grow as x_f = w_f t. When a resource is
// used up, at t_l = (C_l - what settled flows take of it) / (sum of a_lf w_f over its growing flows), its flows settle;
// a flow also settles at its bound. The others grow on. So in the end every flow is at its bound or uses a resource
// that is full and on which no flow has a larger x_f / w_f (its bottleneck).
//
// Example: resources A of 10 and B of 4; flow 1 uses A and B, flow 2 only A, flow 3 only B (all a = w = 1).
//   t_A = 10/2 = 5, t_B = 4/2 = 2: B fills first, x_1 = x_3 = 2. Then t_A = (10 - 2)/1 = 8: x_2 = 8.
//
// Uses: flows over links (a = 1, x in bytes/s; w = 1, or 1/round-trip time where the protocol shares so); work on
// shared units (x = speed relative to running alone, bound 1, a_l = share of l that it takes at full speed).
//
// Incremental: flows that share no resource, directly or through others, do not influence each other. Only connected
// components touched since the last solve are solved again, and a flow that is alone on its resources needs no solve.
// Source: Bertsekas, Gallager, "Data Networks", 2nd ed. 1992, section 6.5.2.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace cairn::sim {

using FlowId = std::uint32_t;
using LinkId = std::uint32_t;

struct Demand {
  LinkId link = 0;
  double amount = 1.0;  // a_lf > 0: of the resource per unit of rate
};

class FairShare {
 public:
  static constexpr double k_unbounded = std::numeric_limits<double>::infinity();

  // capacity >= 0, finite; 0 stops the flows that use it.
  LinkId add_link(double capacity);
  void set_capacity(LinkId link, double capacity);

  // Every link at most once; weight > 0, finite; bound >= 0. Without links the bound must be finite. Ids are reused.
  FlowId add_flow(std::span<const Demand> demands, double weight = 1.0, double bound = k_unbounded);
  void remove_flow(FlowId flow);

  // Brings the rates up to date. Returns the flows whose rate differs from before (0 for new ones), in a reproducible
  // order; valid until the next call.
  std::span<const FlowId> solve();

  // As of the last solve().
  double rate(FlowId flow) const { return flows_[flow].rate; }
  // What the flows take of a resource now.
  double load(LinkId link) const;
  double capacity(LinkId link) const { return links_[link].capacity; }

 private:
  struct Use {  // of a link by a flow
    LinkId link;
    std::uint32_t place;  // where the link lists the flow
    double amount;
  };
  struct Member {  // a flow of a link
    FlowId flow;
    std::uint32_t use;  // where the flow lists the link
    double amount;
    double pull;  // amount x weight
  };
  struct Flow {
    double rate = 0.0;
    double weight = 1.0;
    double bound = k_unbounded;
    std::uint32_t first_use = 0;
    std::uint32_t uses = 0;
    std::uint32_t reached = 0;  // the search that reached it last
    bool settled = false;
    bool active = false;  // added and not removed
  };
  struct Link {
    double capacity = 0.0;
    double left = 0.0;          // while solving: capacity not taken by settled flows
    double pull = 0.0;          // while solving: sum of amount x weight over growing flows
    double full_pull = 0.0;     // while solving: the same over all flows
    std::uint32_t growing = 0;  // while solving: their number
    std::uint32_t reached = 0;
    bool touched = false;
    std::vector<Member> members;
  };
  // A moment of the filling at which a link may be full or a flow at its bound.
  struct Moment {
    double level;
    std::uint32_t id;
    bool is_link;
  };

  std::span<Use> uses(const Flow& flow) { return std::span(uses_).subspan(flow.first_use, flow.uses); }
  FlowId allocate(std::uint32_t uses);
  bool alone(const Flow& flow);
  void touch(LinkId link);
  void run_alone(FlowId flow);
  void set_rate(FlowId flow, double rate);
  void collect_component(LinkId from);
  void fill_component();
  void prepare_moments();
  void settle_link(const Moment& moment);
  void settle(FlowId flow, double rate);
  void push(Moment moment);

  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<Use> uses_;
  std::vector<std::vector<FlowId>> free_flows_;  // by number of uses
  std::vector<LinkId> touched_;
  std::vector<FlowId> fresh_;  // flows alone on their links since the last solve
  std::vector<FlowId> changed_;
  std::vector<LinkId> component_links_;
  std::vector<FlowId> component_flows_;
  std::vector<Moment> moments_;  // a heap, earliest first
  double level_ = 0.0;
  std::uint32_t search_ = 0;
};

}  // namespace cairn::sim
