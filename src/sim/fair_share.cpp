#include "cairn/sim/fair_share.h"

#include <algorithm>
#include <cmath>

#include "cairn/core/assert.h"

namespace cairn::sim {
LinkId FairShare::add_link(double capacity) {
  CAIRN_ASSERT(capacity >= 0.0 && std::isfinite(capacity));
  const auto id = static_cast<LinkId>(links_.size());
  const GroupId group = allocate_group();
  groups_[group].links.push_back(id);
  Link& link = links_.emplace_back();
  link.capacity = capacity;
  link.group = group;
  unfilled_.push_back({.left = capacity, .growing = 0});
  filling_.emplace_back();
  place_.push_back(Near::no);
  near_level_.emplace_back();
  pull_.emplace_back();
  level_.emplace_back();
  foreseen_.emplace_back();
  loose_.emplace_back();
  rank_.resize(links_.size() + 1, k_unfilled);
  shares_.resize(links_.size() + 1);
  return id;
}

void FairShare::set_capacity(LinkId link, double capacity) {
  CAIRN_ASSERT(link < links_.size() && capacity >= 0.0 && std::isfinite(capacity));
  links_[link].capacity = unfilled_[link].left = capacity;
  for (const Member& member : links_[link].members)
    if (!standing_[member.flow].grouped) join_groups(member.flow);
  touch(link);
}

FlowId FairShare::add_flow(std::span<const Demand> demands, double weight, double bound) {
  CAIRN_ASSERT(bound >= 0.0);
  const bool bounded = bound != k_unbounded;
  CAIRN_ASSERT(bounded || !demands.empty());
  for (const Demand& demand : demands) CAIRN_ASSERT(demand.link < links_.size() && demand.amount > 0.0);
  const FlowId id = allocate_flow(static_cast<std::uint32_t>(demands.size() + (bounded ? 1 : 0)), weight);
  std::uint32_t use = spans_[id].first;
  for (const Demand& demand : demands) enter(id, use++, demand);
  if (bounded) enter(id, use, {.link = allocate_bound(bound, demands), .amount = 1.0});
  start(id);
  return id;
}

FlowId FairShare::add_routed(std::span<const LinkId> route, double weight) {
  CAIRN_ASSERT(!route.empty());
  const FlowId id = allocate_flow(static_cast<std::uint32_t>(route.size()), weight);
  std::uint32_t use = spans_[id].first;
  for (const LinkId link : route) {
    CAIRN_ASSERT(link < links_.size());
    enter(id, use++, {.link = link, .amount = 1.0});
  }
  start(id);
  return id;
}

// Its links know it: now its group does, unless it is alone.
void FairShare::start(FlowId id) {
  const auto list = uses(id);
  const bool alone =
      std::all_of(list.begin(), list.end(), [&](const Use& u) { return links_[u.link].members.size() == 1; });
  if (alone) {
    alone_.push_back(id);
    return;
  }
  for (const Use& u : list)
    for (const Member& member : links_[u.link].members)
      if (!standing_[member.flow].grouped) join_groups(member.flow);
}

void FairShare::remove_flow(FlowId id) {
  CAIRN_ASSERT(id < standing_.size() && standing_[id].active);
  const bool grouped = standing_[id].grouped;
  if (grouped) {
    Group& group = groups_[links_[uses_[spans_[id].first].link].group];
    --group.flows;
    group.uneven -= standing_[id].plain ? 0 : 1;
    ++group.departures;
    count(id, ~std::uint32_t{0});
  }
  for (std::uint32_t use = spans_[id].first; use < spans_[id].first + spans_[id].count; ++use) {
    const LinkId number = uses_[use].link;
    Link& link = links_[number];
    const std::uint32_t place = uses_[use].place;
    link.members[place] = link.members.back();
    uses_[link.members[place].use].place = place;
    link.members.pop_back();
    link.held[place] = link.held.back();
    link.held.pop_back();
    change_pull(link, -amounts_[use] * weight_[id]);
    if (grouped) touch(number);
    if (link.bounds_flow) {
      Group& group = groups_[link.group];
      (group.links.size() > 1 ? group.free_bounds : free_bounds_).push_back(number);
    }
  }
  if (bottleneck_[id] != k_no_link) --links_[bottleneck_[id]].holds;
  standing_[id].active = false;
  free_flows_[spans_[id].count].push_back(id);
}

FlowId FairShare::allocate_flow(std::uint32_t uses, double weight) {
  CAIRN_ASSERT(weight > 0.0 && std::isfinite(weight));
  if (uses >= free_flows_.size()) free_flows_.resize(uses + 1);
  std::vector<FlowId>& free = free_flows_[uses];
  FlowId id = static_cast<FlowId>(spans_.size());
  if (free.empty()) {
    spans_.push_back({.first = static_cast<std::uint32_t>(uses_.size()), .count = uses});
    uses_.resize(uses_.size() + uses);
    amounts_.resize(uses_.size());
    weight_.emplace_back();
    bottleneck_.emplace_back();
    moved_in_.emplace_back();
    near_.emplace_back();
    near_bottleneck_.emplace_back();
    standing_.emplace_back();
  } else {
    id = free.back();
    free.pop_back();
  }
  weight_[id] = weight;
  bottleneck_[id] = k_no_link;
  standing_[id] = {.grouped = false, .active = true, .plain = weight == 1.0};
  return id;
}

// A link that already is in the group of those beside it, so that it joins no others to them.
LinkId FairShare::allocate_bound(double bound, std::span<const Demand> beside) {
  std::vector<LinkId>* free = &free_bounds_;
  if (!beside.empty()) {
    Group& group = groups_[links_[beside.front().link].group];
    if (!group.free_bounds.empty()) free = &group.free_bounds;
  }
  if (free->empty()) {
    const LinkId link = add_link(bound);
    links_[link].bounds_flow = true;
    return link;
  }
  const LinkId link = free->back();
  free->pop_back();
  links_[link].capacity = unfilled_[link].left = bound;
  return link;
}

void FairShare::enter(FlowId id, std::uint32_t use, Demand demand) {
  Link& link = links_[demand.link];
  CAIRN_ASSERT(link.members.empty() || link.members.back().flow != id);
  uses_[use] = {.link = demand.link, .place = static_cast<std::uint32_t>(link.members.size())};
  amounts_[use] = demand.amount;
  if (demand.amount != 1.0) standing_[id].plain = false;
  link.members.push_back({.flow = id, .use = use});
  link.held.push_back(k_no_link);
  change_pull(link, demand.amount * weight_[id]);
}

void FairShare::change_pull(Link& link, double change) {
  link.pull += change;
  if (++link.changes <= link.members.size()) return;
  link.changes = 0;
  link.pull = 0.0;
  for (const Member& member : link.members) link.pull += amounts_[member.use] * weight_[member.flow];
}

// The flow's bottleneck, as all its links know it.
void FairShare::bind(FlowId flow, LinkId link) {
  if (bottleneck_[flow] != k_no_link) --links_[bottleneck_[flow]].holds;
  if (link != k_no_link) ++links_[link].holds;
  bottleneck_[flow] = link;
  for (const Use& use : uses(flow)) links_[use.link].held[use.place] = link;
}

void FairShare::touch(LinkId link) {
  if (links_[link].touched) return;
  links_[link].touched = true;
  touched_.push_back(link);
}

}  // namespace cairn::sim
