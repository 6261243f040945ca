#include "link_groups.h"

#include <utility>

namespace cairn::sim {

LinkId LinkGroups::add_link(double capacity) {
  const GroupId group = allocate();
  const LinkId link = flows_.add_link(capacity);
  groups_[group].links.push_back(link);
  flows_.links[link].group = group;
  return link;
}

GroupId LinkGroups::allocate() {
  if (free_groups_.empty()) {
    groups_.emplace_back();
    return static_cast<GroupId>(groups_.size() - 1);
  }
  const GroupId group = free_groups_.back();
  free_groups_.pop_back();
  return group;
}

LinkId LinkGroups::take_bound(double bound, std::span<const Demand> beside) {
  std::vector<LinkId>* free = &free_bounds_;
  if (!beside.empty()) {
    LinkGroup& group = of(beside.front().link);
    if (!group.free_bounds.empty()) free = &group.free_bounds;
  }
  if (free->empty()) {
    const LinkId link = add_link(bound);
    flows_.links[link].bounds_flow = true;
    return link;
  }
  const LinkId link = free->back();
  free->pop_back();
  flows_.set_capacity(link, bound);
  return link;
}

void LinkGroups::free_bound(LinkId link) {
  LinkGroup& group = of(link);
  (group.links.size() > 1 ? group.free_bounds : free_bounds_).push_back(link);
}

void LinkGroups::join(FlowId flow) {
  flows_.standing[flow].grouped = true;
  GroupId group = flows_.links[flows_.uses_of(flow).front().link].group;
  for (const FlowsOnLinks::Use& use : flows_.uses_of(flow)) {
    group = merge(group, flows_.links[use.link].group);
    touch(use.link);
  }
  ++groups_[group].flows;
  groups_[group].uneven += flows_.standing[flow].plain ? 0 : 1;
  flows_.count(flow, 1);
}

void LinkGroups::leave(FlowId flow) {
  LinkGroup& group = of(flows_.uses_of(flow).front().link);
  --group.flows;
  group.uneven -= flows_.standing[flow].plain ? 0 : 1;
  ++group.departures;
  flows_.count(flow, ~std::uint32_t{0});
}

void LinkGroups::touch(LinkId link) {
  if (flows_.links[link].touched) return;
  flows_.links[link].touched = true;
  touched_.push_back(link);
}

GroupId LinkGroups::merge(GroupId a, GroupId b) {
  if (a == b) return a;
  if (groups_[a].links.size() < groups_[b].links.size()) std::swap(a, b);
  LinkGroup& larger = groups_[a];
  LinkGroup& smaller = groups_[b];
  order_.forget(larger.order);
  order_.forget(smaller.order);
  larger.swept = false;
  for (const LinkId link : smaller.links) flows_.links[link].group = a;
  larger.links.insert(larger.links.end(), smaller.links.begin(), smaller.links.end());
  larger.free_bounds.insert(larger.free_bounds.end(), smaller.free_bounds.begin(), smaller.free_bounds.end());
  larger.flows += smaller.flows;
  larger.uneven += smaller.uneven;
  larger.departures += smaller.departures;
  smaller = {};
  free_groups_.push_back(b);
  return a;
}

void LinkGroups::take_apart(GroupId source) {
  order_.forget(groups_[source].order);
  free_bounds_.insert(free_bounds_.end(), groups_[source].free_bounds.begin(), groups_[source].free_bounds.end());
  const std::vector<LinkId> links = std::move(groups_[source].links);
  for (const LinkId link : links)
    if (flows_.links[link].group == source) {
      collect_component(link, source);
      touch(link);
    }
  groups_[source] = {};
  free_groups_.push_back(source);
}

void LinkGroups::collect_component(LinkId from, GroupId source) {
  const GroupId target = allocate();
  std::vector<LinkId> found{from};
  flows_.links[from].group = target;
  std::uint32_t flows = 0, uneven = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const FlowsOnLinks::Member& member : flows_.links[found[i]].members) {
      if (!flows_.standing[member.flow].grouped) continue;
      if (flows_.spans[member.flow].first == member.use) {  // counted at its first link
        ++flows;
        uneven += flows_.standing[member.flow].plain ? 0 : 1;
      }
      for (const FlowsOnLinks::Use& use : flows_.uses_of(member.flow)) {
        if (flows_.links[use.link].group != source) continue;
        flows_.links[use.link].group = target;
        found.push_back(use.link);
      }
    }
  }
  groups_[target].links = std::move(found);
  groups_[target].flows = flows;
  groups_[target].uneven = uneven;
}

}  // namespace cairn::sim
