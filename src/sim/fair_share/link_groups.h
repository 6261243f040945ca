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
  std::vector<LinkId> order;        // bottleneck links, in the order they filled (unsorted after NearbyFilling)
  std::vector<LinkId> free_bounds;  // its links that can stand for the bound of a new flow
  std::uint32_t flows = 0;
  std::uint32_t uneven = 0;      // flows that are not plain
  std::uint32_t departures = 0;  // flows that have left since the group was known to be connected
  std::uint64_t solved = 0;      // number of the solve that filled it last
  std::vector<LinkId> touched;   // links whose flows or capacity have changed since then

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

  // Adds a link, in a group of its own.
  LinkId add_link(double capacity);
  // Returns a link that stands for the bound of a flow with these demands, if possible a free one of the group that the
  // flow's other links are in, so that no groups are joined. It is free again when the flow has left.
  LinkId take_bound(double bound, std::span<const Demand> beside);
  void free_bound(LinkId link);

  // The flow's links become one group, which counts the flow.
  void join(FlowId flow);
  // Removes the flow from its group's counts.
  void leave(FlowId flow);

  // Marks the link for the next solve.
  void touch(LinkId link);
  // Links touched since the last solve; take_apart() appends to them.
  std::vector<LinkId>& touched() { return touched_; }

  // Splits the group into its connected components.
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
