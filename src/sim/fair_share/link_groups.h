// Links in groups closed under sharing: joined when a flow spans them, taken apart when half of its flows have left.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fill_order.h"
#include "flows_on_links.h"

namespace cairn::sim {

struct LinkGroup {
  std::vector<LinkId> links;
  std::vector<LinkId> order;        // links that hold flows back; as they filled, unless solved nearby since
  std::vector<LinkId> free_bounds;  // links of it that stand for no bound now
  std::uint32_t flows = 0;
  std::uint32_t uneven = 0;      // flows that are not plain
  std::uint32_t departures = 0;  // since it was known to be connected
  std::uint64_t solved = 0;      // the solve that filled it last
  std::vector<LinkId> touched;   // links, since then

  // What each way to fill it keeps from solve to solve.
  bool busy = false;           // ProgressiveFilling: many flows per link, so a change reaches far
  std::uint32_t patience = 0;  // NearbyFilling: solves to wait before trying again
  std::uint32_t spread = 0;    // NearbyFilling: times in a row that a change reached too far
  bool swept = false;          // FillingSweep: the order ascends, and what is kept by link holds
  double risen = 0.0;          // FillingSweep: sum over sweeps of the largest common rise of a level
};

class LinkGroups {
 public:
  LinkGroups(FlowsOnLinks& flows, FillOrder& order) : flows_(flows), order_(order) {}

  LinkGroup& operator[](GroupId group) { return groups_[group]; }
  const LinkGroup& operator[](GroupId group) const { return groups_[group]; }
  LinkGroup& of(LinkId link) { return groups_[flows_.links[link].group]; }

  // In a group of its own.
  LinkId add_link(double capacity);
  // A link for the bound of a flow with these demands: where there is one, one that already is in the group of those
  // beside it, so that it joins no others to them. Free when the flow has left.
  LinkId take_bound(double bound, std::span<const Demand> beside);
  void free_bound(LinkId link);

  // The flow's links become one group, which counts the flow.
  void join(FlowId flow);
  // The flow's group counts it no more.
  void leave(FlowId flow);

  // The next solve has to look at the link.
  void touch(LinkId link);
  // Since the last solve; taking groups apart adds to it.
  std::vector<LinkId>& touched() { return touched_; }

  // Its connected components become groups.
  void take_apart(GroupId source);

 private:
  GroupId allocate();
  GroupId merge(GroupId a, GroupId b);
  void collect_component(LinkId from, GroupId source);

  FlowsOnLinks& flows_;
  FillOrder& order_;
  std::vector<LinkGroup> groups_;
  std::vector<GroupId> free_groups_;
  std::vector<LinkId> free_bounds_;  // that are in no group with others
  std::vector<LinkId> touched_;
};

}  // namespace cairn::sim
