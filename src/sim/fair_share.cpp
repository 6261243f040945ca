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
  const std::uint32_t group = allocate_group();
  groups_[group].links.push_back(id);
  Link& link = links_.emplace_back();
  link.capacity = capacity;
  link.group = group;
  filling_.emplace_back();
  return id;
}

void FairShare::set_capacity(LinkId link, double capacity) {
  CAIRN_ASSERT(link < links_.size() && capacity >= 0.0 && std::isfinite(capacity));
  links_[link].capacity = capacity;
  for (const Member& member : links_[link].members)
    if (!flows_[member.flow].grouped) join_groups(member.flow);
  touch(link);
}

FlowId FairShare::add_flow(std::span<const Demand> demands, double weight, double bound) {
  CAIRN_ASSERT(weight > 0.0 && std::isfinite(weight) && bound >= 0.0);
  const bool bounded = bound != k_unbounded;
  CAIRN_ASSERT(bounded || !demands.empty());
  for (const Demand& demand : demands) CAIRN_ASSERT(demand.link < links_.size() && demand.amount > 0.0);
  const FlowId id = allocate_flow(static_cast<std::uint32_t>(demands.size() + (bounded ? 1 : 0)));
  Flow& flow = flows_[id];
  flow.active = true;
  flow.grouped = false;
  flow.rate = 0.0;
  flow.weight = weight;
  std::uint32_t use = flow.first_use;
  for (const Demand& demand : demands) enter(id, use++, demand);
  if (bounded) enter(id, use, {.link = allocate_bound(bound), .amount = 1.0});
  const auto list = uses(flow);
  if (std::all_of(list.begin(), list.end(), [&](const Use& u) { return links_[u.link].members.size() == 1; })) {
    alone_.push_back(id);
    return id;
  }
  for (const Use& u : list)
    for (const Member& member : links_[u.link].members)
      if (!flows_[member.flow].grouped) join_groups(member.flow);
  touch(list.front().link);
  return id;
}

void FairShare::remove_flow(FlowId id) {
  CAIRN_ASSERT(id < flows_.size() && flows_[id].active);
  Flow& flow = flows_[id];
  if (flow.grouped) {
    Group& group = groups_[links_[uses_[flow.first_use].link].group];
    --group.flows;
    ++group.departures;
  }
  for (const Use& use : uses(flow)) {
    Link& link = links_[use.link];
    const std::uint32_t place = use.place;
    link.members[place] = link.members.back();
    uses_[link.members[place].use].place = place;
    link.members.pop_back();
    change_pull(link, -use.amount * flow.weight);
    if (flow.grouped) touch(use.link);
    if (link.bounds_flow) free_bounds_.push_back(use.link);
  }
  flow.active = false;
  free_flows_[flow.uses].push_back(id);
}

FlowId FairShare::allocate_flow(std::uint32_t uses) {
  if (uses >= free_flows_.size()) free_flows_.resize(uses + 1);
  std::vector<FlowId>& free = free_flows_[uses];
  if (!free.empty()) {
    const FlowId flow = free.back();
    free.pop_back();
    return flow;
  }
  flows_.emplace_back().first_use = static_cast<std::uint32_t>(uses_.size());
  flows_.back().uses = uses;
  uses_.resize(uses_.size() + uses);
  return static_cast<FlowId>(flows_.size() - 1);
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
  uses_[use] = {.link = demand.link, .place = static_cast<std::uint32_t>(link.members.size()), .amount = demand.amount};
  link.members.push_back({.flow = id, .use = use});
  change_pull(link, demand.amount * flows_[id].weight);
}

void FairShare::change_pull(Link& link, double change) {
  link.pull += change;
  if (++link.changes <= link.members.size()) return;
  link.changes = 0;
  link.pull = 0.0;
  for (const Member& member : link.members) link.pull += uses_[member.use].amount * flows_[member.flow].weight;
}

std::uint32_t FairShare::allocate_group() {
  if (free_groups_.empty()) {
    groups_.emplace_back();
    return static_cast<std::uint32_t>(groups_.size() - 1);
  }
  const std::uint32_t group = free_groups_.back();
  free_groups_.pop_back();
  return group;
}

void FairShare::join_groups(FlowId id) {
  Flow& flow = flows_[id];
  flow.grouped = true;
  std::uint32_t group = links_[uses_[flow.first_use].link].group;
  for (const Use& use : uses(flow)) group = merge(group, links_[use.link].group);
  ++groups_[group].flows;
}

std::uint32_t FairShare::merge(std::uint32_t a, std::uint32_t b) {
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

void FairShare::take_apart(std::uint32_t source) {
  const std::vector<LinkId> links = std::move(groups_[source].links);
  for (const LinkId link : links)
    if (links_[link].group == source) collect_component(link, source);
  groups_[source] = {};
  free_groups_.push_back(source);
}

void FairShare::collect_component(LinkId from, std::uint32_t source) {
  const std::uint32_t target = allocate_group();
  std::vector<LinkId> found{from};
  links_[from].group = target;
  std::uint32_t flows = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const Member& member : links_[found[i]].members) {
      const Flow& flow = flows_[member.flow];
      if (!flow.grouped) continue;
      flows += flow.first_use == member.use ? 1 : 0;  // counted at its first link
      for (const Use& use : uses(flow)) {
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

std::span<const FlowId> FairShare::solve() {
  changed_.clear();
  ++solve_;
  for (const LinkId link : touched_) {
    links_[link].touched = false;
    const Group& old = groups_[links_[link].group];
    if (old.solved == solve_) continue;
    if (old.departures > 0 && old.departures >= old.flows) take_apart(links_[link].group);
    Group& group = groups_[links_[link].group];
    group.solved = solve_;
    fill(group);
  }
  touched_.clear();
  for (const FlowId flow : alone_)
    if (flows_[flow].active && flows_[flow].settled != solve_) run_alone(flow);
  alone_.clear();
  return changed_;
}

double FairShare::load(LinkId link) const {
  double load = 0.0;
  for (const Member& member : links_[link].members) load += uses_[member.use].amount * flows_[member.flow].rate;
  return load;
}

inline void FairShare::set_rate(FlowId id, double rate) {
  if (flows_[id].rate == rate) return;
  flows_[id].rate = rate;
  changed_.push_back(id);
}

void FairShare::run_alone(FlowId id) {
  double rate = k_unbounded;
  for (const Use& use : uses(flows_[id])) rate = std::min(rate, links_[use.link].capacity / use.amount);
  set_rate(id, rate);
}

void FairShare::fill(const Group& group) {
  moments_.clear();
  for (const LinkId id : group.links) {
    const Link& link = links_[id];
    const auto growing = static_cast<std::uint32_t>(link.members.size());
    if (growing == 0 || !flows_[link.members.front().flow].grouped) continue;
    filling_[id] = {.left = link.capacity, .pull = link.pull, .growing = growing};
    moments_.push_back({.level = link.capacity / link.pull, .link = id});
  }
  std::make_heap(moments_.begin(), moments_.end(), Later());
  level_ = 0.0;
  while (!moments_.empty()) {
    std::pop_heap(moments_.begin(), moments_.end(), Later());
    const Moment moment = moments_.back();
    moments_.pop_back();
    if (filling_[moment.link].growing > 0) settle_link(moment);
  }
}

inline void FairShare::settle(const Member& member, LinkId full) {
  Flow& flow = flows_[member.flow];
  flow.settled = solve_;
  const double rate = flow.weight * level_;
  for (const Use& use : uses(flow)) {
    if (use.link == full) continue;  // no flow will grow on it any more
    Filling& filling = filling_[use.link];
    filling.left -= use.amount * rate;
    filling.pull -= use.amount * flow.weight;
    --filling.growing;
  }
  set_rate(member.flow, rate);
}

// A link fills later than foreseen when some of its flows have settled at a lower level: then it waits again.
void FairShare::settle_link(const Moment& moment) {
  const Link& link = links_[moment.link];
  Filling& filling = filling_[moment.link];
  if (filling.pull <= k_worn * link.pull) {
    filling.left = link.capacity;
    filling.pull = 0.0;
    for (const Member& member : link.members) {
      const Flow& flow = flows_[member.flow];
      if (flow.settled == solve_)
        filling.left -= uses_[member.use].amount * flow.rate;
      else
        filling.pull += uses_[member.use].amount * flow.weight;
    }
  }
  const double level = std::max(filling.left, 0.0) / filling.pull;
  if (level > moment.level * (1.0 + k_same_moment)) {
    moments_.push_back({.level = level, .link = moment.link});
    std::push_heap(moments_.begin(), moments_.end(), Later());
    return;
  }
  level_ = std::max(level_, level);
  for (const Member& member : link.members)
    if (flows_[member.flow].settled != solve_) settle(member, moment.link);
  filling.growing = 0;
}

}  // namespace cairn::sim
