#include "cairn/sim/fair_share.h"

#include <algorithm>
#include <cmath>

#include "cairn/core/assert.h"

namespace cairn::sim {
namespace {

// Two moments of the filling closer than this are one: rounding in sums over thousands of flows stays well below.
constexpr double k_same_moment = 1e-12;

// A running sum that subtractions have brought down to this share of its start has lost three digits: sum afresh.
constexpr double k_worn = 1e-3;

}  // namespace

LinkId FairShare::add_link(double capacity) {
  CAIRN_ASSERT(capacity >= 0.0 && std::isfinite(capacity));
  const auto id = static_cast<LinkId>(links_.size());
  const GroupId group = allocate_group();
  groups_[group].links.push_back(id);
  Link& link = links_.emplace_back();
  link.capacity = capacity;
  link.group = group;
  filling_.emplace_back();
  level_.emplace_back();
  return id;
}

void FairShare::set_capacity(LinkId link, double capacity) {
  CAIRN_ASSERT(link < links_.size() && capacity >= 0.0 && std::isfinite(capacity));
  links_[link].capacity = capacity;
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
  if (bounded) enter(id, use, {.link = allocate_bound(bound), .amount = 1.0});
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
  if (!standing_[id].plain) ++uneven_;
  const auto list = uses(id);
  const bool alone = std::all_of(list.begin(), list.end(), [&](const Use& u) {
    const auto& members = links_[u.link].members;
    return members.size() == 1 ||
           std::all_of(members.begin(), members.end(), [&](const Member& m) { return m.flow == id; });
  });
  if (alone) {
    alone_.push_back(id);
    return;
  }
  for (const Use& u : list)
    for (const Member& member : links_[u.link].members)
      if (!standing_[member.flow].grouped) join_groups(member.flow);
  touch(list.front().link);
}

void FairShare::remove_flow(FlowId id) {
  CAIRN_ASSERT(id < standing_.size() && standing_[id].active);
  const bool grouped = standing_[id].grouped;
  if (grouped) {
    Group& group = groups_[links_[uses_[spans_[id].first].link].group];
    --group.flows;
    ++group.departures;
  }
  for (std::uint32_t use = spans_[id].first; use < spans_[id].first + spans_[id].count; ++use) {
    const LinkId number = uses_[use].link;
    Link& link = links_[number];
    const std::uint32_t place = uses_[use].place;
    link.members[place] = link.members.back();
    uses_[link.members[place].use].place = place;
    link.members.pop_back();
    change_pull(link, -amounts_[use] * weight_[id]);
    if (grouped) touch(number);
    if (link.bounds_flow) free_bounds_.push_back(number);
  }
  if (!standing_[id].plain) --uneven_;
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
    settled_.emplace_back();
    bottleneck_.emplace_back();
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

LinkId FairShare::allocate_bound(double bound) {
  if (free_bounds_.empty()) {
    const LinkId link = add_link(bound);
    links_[link].bounds_flow = true;
    return link;
  }
  const LinkId link = free_bounds_.back();
  free_bounds_.pop_back();
  links_[link].capacity = bound;
  return link;
}

void FairShare::enter(FlowId id, std::uint32_t use, Demand demand) {
  Link& link = links_[demand.link];
  uses_[use] = {.link = demand.link, .place = static_cast<std::uint32_t>(link.members.size())};
  amounts_[use] = demand.amount;
  if (demand.amount != 1.0) standing_[id].plain = false;
  link.members.push_back({.flow = id, .use = use});
  change_pull(link, demand.amount * weight_[id]);
}

void FairShare::change_pull(Link& link, double change) {
  link.pull += change;
  if (++link.changes <= link.members.size()) return;
  link.changes = 0;
  link.pull = 0.0;
  for (const Member& member : link.members) link.pull += amounts_[member.use] * weight_[member.flow];
}

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
  for (const Use& use : uses(id)) group = merge(group, links_[use.link].group);
  ++groups_[group].flows;
}

GroupId FairShare::merge(GroupId a, GroupId b) {
  if (a == b) return a;
  if (groups_[a].links.size() < groups_[b].links.size()) std::swap(a, b);
  Group& larger = groups_[a];
  Group& smaller = groups_[b];
  for (const LinkId link : smaller.links) links_[link].group = a;
  larger.links.insert(larger.links.end(), smaller.links.begin(), smaller.links.end());
  larger.flows += smaller.flows;
  larger.departures += smaller.departures;
  smaller = {};
  free_groups_.push_back(b);
  return a;
}

void FairShare::take_apart(GroupId source) {
  const std::vector<LinkId> links = std::move(groups_[source].links);
  for (const LinkId link : links)
    if (links_[link].group == source) collect_component(link, source), touch(link);
  groups_[source] = {};
  free_groups_.push_back(source);
}

void FairShare::collect_component(LinkId from, GroupId source) {
  const GroupId target = allocate_group();
  std::vector<LinkId> found{from};
  links_[from].group = target;
  std::uint32_t flows = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const Member& member : links_[found[i]].members) {
      if (!standing_[member.flow].grouped) continue;
      flows += spans_[member.flow].first == member.use ? 1 : 0;  // counted at its first link
      for (const Use& use : uses(member.flow)) {
        if (links_[use.link].group != source) continue;
        links_[use.link].group = target;
        found.push_back(use.link);
      }
    }
  }
  groups_[target].links = std::move(found);
  groups_[target].flows = flows;
}

void FairShare::touch(LinkId link) {
  if (links_[link].touched) return;
  links_[link].touched = true;
  touched_.push_back(link);
}

void FairShare::solve() {
  moved_.clear();
  solved_.clear();
  filled_.clear();
  ++solve_;
  for (std::size_t i = 0; i < touched_.size(); ++i) {  // taking groups apart adds to the list
    const LinkId link = touched_[i];
    links_[link].touched = false;
    const Group& old = groups_[links_[link].group];
    if (old.solved == solve_) continue;
    if (old.departures > 0 && old.departures >= old.flows) take_apart(links_[link].group);
    Group& group = groups_[links_[link].group];
    group.solved = solve_;
    const auto begin = static_cast<std::uint32_t>(filled_.size());
    if (uneven_ == 0)
      fill<true>(group);
    else
      fill<false>(group);
    solved_.push_back({links_[link].group, begin, static_cast<std::uint32_t>(filled_.size())});
  }
  touched_.clear();
  for (const FlowId flow : alone_)
    if (standing_[flow].active && settled_[flow] != solve_) run_alone(flow);
  alone_.clear();
}

double FairShare::load(LinkId link) const {
  double load = 0.0;
  for (const Member& member : links_[link].members) load += amounts_[member.use] * rate(member.flow);
  return load;
}

inline void FairShare::settle_at(FlowId flow, LinkId link) {
  settled_[flow] = solve_;
  if (bottleneck_[flow] == link) return;
  moved_.push_back({flow, bottleneck_[flow]});
  bottleneck_[flow] = link;
}

void FairShare::run_alone(FlowId id) {
  LinkId narrowest = k_no_link;
  double level = k_unbounded;
  for (const Use& use : uses(id)) {
    const double pull = links_[use.link].pull;
    if (links_[use.link].capacity >= level * pull) continue;
    level = links_[use.link].capacity / pull;
    narrowest = use.link;
  }
  level_[narrowest] = level;
  settle_at(id, narrowest);
  const auto begin = static_cast<std::uint32_t>(filled_.size());
  filled_.push_back(narrowest);
  solved_.push_back({k_alone, begin, begin + 1});
}

template <bool plain>
void FairShare::fill(const Group& group) {
  moments_.clear();
  for (const LinkId id : group.links) {
    const Link& link = links_[id];
    const auto growing = static_cast<std::uint32_t>(link.members.size());
    if (growing == 0 || !standing_[link.members.front().flow].grouped) continue;
    filling_[id] = {.left = link.capacity, .pull = link.pull, .growing = growing};
    moments_.push_back({.level = link.capacity / (plain ? growing : link.pull), .link = id});
  }
  std::make_heap(moments_.begin(), moments_.end(), Later());
  while (!moments_.empty()) {
    std::pop_heap(moments_.begin(), moments_.end(), Later());
    const Moment moment = moments_.back();
    moments_.pop_back();
    if (filling_[moment.link].growing > 0) settle_link<plain>(moment);
  }
}

// What is left for the growing flows, afresh.
void FairShare::renew(LinkId id) {
  const Link& link = links_[id];
  Filling& filling = filling_[id];
  filling.left = link.capacity;
  filling.pull = 0.0;
  for (const Member& member : link.members) {
    if (settled_[member.flow] == solve_)
      filling.left -= amounts_[member.use] * rate(member.flow);
    else
      filling.pull += amounts_[member.use] * weight_[member.flow];
  }
}

// A link fills later than foreseen when some of its flows have settled at a lower level: then it waits again.
template <bool plain>
void FairShare::settle_link(const Moment& moment) {
  const Link& link = links_[moment.link];
  Filling& filling = filling_[moment.link];
  if (!plain && filling.pull <= k_worn * link.pull) renew(moment.link);
  const double level = std::max(std::max(filling.left, 0.0) / (plain ? filling.growing : filling.pull), moment.level);
  if (level > moment.level * (1.0 + k_same_moment)) {
    moments_.push_back({.level = level, .link = moment.link});
    std::push_heap(moments_.begin(), moments_.end(), Later());
    return;
  }
  level_[moment.link] = level;
  filled_.push_back(moment.link);
  filling.growing = 0;
  for (const Member& member : link.members) {
    if (settled_[member.flow] == solve_) continue;
    settle_at(member.flow, moment.link);
    const Uses list = spans_[member.flow];
    for (std::uint32_t use = list.first; use < list.first + list.count; ++use) {
      Filling& other = filling_[uses_[use].link];
      if constexpr (plain) {
        other.left -= level;
      } else {
        other.left -= amounts_[use] * weight_[member.flow] * level;
        other.pull -= amounts_[use] * weight_[member.flow];
      }
      --other.growing;
    }
  }
  filling.growing = 0;  // no flow will grow on it any more
}

}  // namespace cairn::sim
