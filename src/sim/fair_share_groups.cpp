// Links in groups closed under sharing: joined when a flow spans them, taken apart when half of its flows have left.
#include <algorithm>
#include <utility>

#include "cairn/sim/fair_share.h"

namespace cairn::sim {

GroupId FairShare::allocate_group() {
  if (free_groups_.empty()) {
    groups_.emplace_back();
    return static_cast<std::uint32_t>(groups_.size() - 1);
  }
  const GroupId group = free_groups_.back();
  free_groups_.pop_back();
  return group;
}

void FairShare::join_groups(FlowId id) {
  standing_[id].grouped = true;
  GroupId group = links_[uses_[spans_[id].first].link].group;
  for (const Use& use : uses(id)) {
    group = merge(group, links_[use.link].group);
    touch(use.link);
  }
  ++groups_[group].flows;
  groups_[group].uneven += standing_[id].plain ? 0 : 1;
  count(id, 1);
}

// One flow more or less grows on its links.
void FairShare::count(FlowId flow, std::uint32_t change) {
  for (const Use& use : uses(flow)) unfilled_[use.link].growing += change;
}

// How its links filled.
void FairShare::forget(Group& group) {
  for (const LinkId link : group.order) leave_order(link);
  group.order.clear();
  group.swept = false;
}

void FairShare::leave_order(LinkId link) {
  rank_[LinkId{link + 1}] = k_unfilled;
  shares_[LinkId{link + 1}] = {};
}

GroupId FairShare::merge(GroupId a, GroupId b) {
  if (a == b) return a;
  if (groups_[a].links.size() < groups_[b].links.size()) std::swap(a, b);
  Group& larger = groups_[a];
  Group& smaller = groups_[b];
  forget(larger);
  forget(smaller);
  for (const LinkId link : smaller.links) links_[link].group = a;
  larger.links.insert(larger.links.end(), smaller.links.begin(), smaller.links.end());
  larger.free_bounds.insert(larger.free_bounds.end(), smaller.free_bounds.begin(), smaller.free_bounds.end());
  larger.flows += smaller.flows;
  larger.uneven += smaller.uneven;
  larger.departures += smaller.departures;
  smaller = {};
  free_groups_.push_back(b);
  return a;
}

void FairShare::take_apart(GroupId source) {
  forget(groups_[source]);
  free_bounds_.insert(free_bounds_.end(), groups_[source].free_bounds.begin(), groups_[source].free_bounds.end());
  const std::vector<LinkId> links = std::move(groups_[source].links);
  for (const LinkId link : links)
    if (links_[link].group == source) {
      collect_component(link, source);
      touch(link);
    }
  groups_[source] = {};
  free_groups_.push_back(source);
}

void FairShare::collect_component(LinkId from, GroupId source) {
  const GroupId target = allocate_group();
  std::vector<LinkId> found{from};
  links_[from].group = target;
  std::uint32_t flows = 0, uneven = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const Member& member : links_[found[i]].members) {
      if (!standing_[member.flow].grouped) continue;
      if (spans_[member.flow].first == member.use) {  // counted at its first link
        ++flows;
        uneven += standing_[member.flow].plain ? 0 : 1;
      }
      for (const Use& use : uses(member.flow)) {
        if (links_[use.link].group != source) continue;
        links_[use.link].group = target;
        found.push_back(use.link);
      }
    }
  }
  groups_[target].links = std::move(found);
  groups_[target].flows = flows;
  groups_[target].uneven = uneven;
}

}  // namespace cairn::sim
