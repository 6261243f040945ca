#include "cairn/sim/fair_share.h"

#include <algorithm>
#include <cmath>

#include "cairn/core/assert.h"

namespace cairn::sim {
namespace {

// Two moments of the filling closer than this are one: rounding in sums over thousands of flows stays well below.
constexpr double k_same_moment = 1e-12;

// A running sum that subtractions have brought down to this share of its start may be all rounding error.
constexpr double k_worn_out = 1e-6;

}  // namespace

LinkId FairShare::add_link(double capacity) {
  CAIRN_ASSERT(capacity >= 0.0 && std::isfinite(capacity));
  links_.emplace_back().capacity = capacity;
  return static_cast<LinkId>(links_.size() - 1);
}

void FairShare::set_capacity(LinkId link, double capacity) {
  CAIRN_ASSERT(link < links_.size() && capacity >= 0.0 && std::isfinite(capacity));
  links_[link].capacity = capacity;
  touch(link);
}

FlowId FairShare::allocate(std::uint32_t uses) {
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

FlowId FairShare::add_flow(std::span<const Demand> demands, double weight, double bound) {
  CAIRN_ASSERT(weight > 0.0 && std::isfinite(weight) && bound >= 0.0);
  CAIRN_ASSERT(!demands.empty() || std::isfinite(bound));
  const FlowId id = allocate(static_cast<std::uint32_t>(demands.size()));
  Flow& flow = flows_[id];
  flow.active = true;
  flow.rate = 0.0;
  flow.weight = weight;
  flow.bound = bound;
  std::uint32_t use = flow.first_use;
  for (const Demand& demand : demands) {
    CAIRN_ASSERT(demand.link < links_.size() && demand.amount > 0.0);
    std::vector<Member>& members = links_[demand.link].members;
    uses_[use] = {.link = demand.link, .place = static_cast<std::uint32_t>(members.size()), .amount = demand.amount};
    members.push_back({.flow = id, .use = use, .amount = demand.amount, .pull = demand.amount * weight});
    ++use;
  }
  if (alone(flow))
    fresh_.push_back(id);
  else
    touch(uses_[flow.first_use].link);
  return id;
}

void FairShare::remove_flow(FlowId id) {
  CAIRN_ASSERT(id < flows_.size() && flows_[id].active);
  Flow& flow = flows_[id];
  flow.active = false;
  for (const Use& use : uses(flow)) {
    std::vector<Member>& members = links_[use.link].members;
    const std::uint32_t place = use.place;
    members[place] = members.back();
    uses_[members[place].use].place = place;
    members.pop_back();
    // Without the flow its links may belong to different components: each is a start of its own.
    if (!members.empty()) touch(use.link);
  }
  flow.rate = 0.0;
  std::erase(fresh_, id);
  free_flows_[flow.uses].push_back(id);
}

bool FairShare::alone(const Flow& flow) {
  const auto list = uses(flow);
  return std::all_of(list.begin(), list.end(), [&](const Use& use) { return links_[use.link].members.size() == 1; });
}

void FairShare::touch(LinkId link) {
  if (links_[link].touched) return;
  links_[link].touched = true;
  touched_.push_back(link);
}

std::span<const FlowId> FairShare::solve() {
  changed_.clear();
  ++search_;
  for (const LinkId link : touched_) {
    links_[link].touched = false;
    if (links_[link].reached == search_) continue;
    collect_component(link);
    fill_component();
  }
  touched_.clear();
  for (const FlowId flow : fresh_)
    if (flows_[flow].reached != search_) run_alone(flow);
  fresh_.clear();
  return changed_;
}

double FairShare::load(LinkId link) const {
  double load = 0.0;
  for (const Member& member : links_[link].members) load += member.amount * flows_[member.flow].rate;
  return load;
}

void FairShare::set_rate(FlowId flow, double rate) {
  if (flows_[flow].rate == rate) return;
  flows_[flow].rate = rate;
  changed_.push_back(flow);
}

void FairShare::run_alone(FlowId id) {
  const Flow& flow = flows_[id];
  double rate = flow.bound;
  for (const Use& use : uses(flow)) rate = std::min(rate, links_[use.link].capacity / use.amount);
  set_rate(id, rate);
}

void FairShare::collect_component(LinkId from) {
  component_links_.assign(1, from);
  component_flows_.clear();
  links_[from].reached = search_;
  for (std::size_t i = 0; i < component_links_.size(); ++i) {
    for (const Member& member : links_[component_links_[i]].members) {
      Flow& flow = flows_[member.flow];
      if (flow.reached == search_) continue;
      flow.reached = search_;
      component_flows_.push_back(member.flow);
      for (const Use& use : uses(flow)) {
        if (links_[use.link].reached == search_) continue;
        links_[use.link].reached = search_;
        component_links_.push_back(use.link);
      }
    }
  }
}

void FairShare::push(Moment moment) {
  moments_.push_back(moment);
  std::push_heap(moments_.begin(), moments_.end(), [](const Moment& a, const Moment& b) { return a.level > b.level; });
}

void FairShare::prepare_moments() {
  moments_.clear();
  for (const LinkId id : component_links_) {
    Link& link = links_[id];
    link.left = link.capacity;
    link.growing = static_cast<std::uint32_t>(link.members.size());
    link.pull = 0.0;
    for (const Member& member : link.members) link.pull += member.pull;
    link.full_pull = link.pull;
    if (link.growing > 0) push({.level = link.left / link.pull, .id = id, .is_link = true});
  }
  for (const FlowId id : component_flows_) {
    Flow& flow = flows_[id];
    flow.settled = false;
    if (flow.bound != k_unbounded) push({.level = flow.bound / flow.weight, .id = id, .is_link = false});
  }
}

void FairShare::fill_component() {
  prepare_moments();
  level_ = 0.0;
  while (!moments_.empty()) {
    std::pop_heap(moments_.begin(), moments_.end(), [](const Moment& a, const Moment& b) { return a.level > b.level; });
    const Moment moment = moments_.back();
    moments_.pop_back();
    if (moment.is_link)
      settle_link(moment);
    else if (!flows_[moment.id].settled)
      settle(moment.id, flows_[moment.id].bound);
  }
}

// A link fills later than foreseen when some of its flows have settled at a lower level: then it waits again.
void FairShare::settle_link(const Moment& moment) {
  Link& link = links_[moment.id];
  if (link.growing == 0) return;
  const double later = moment.level * (1.0 + k_same_moment);
  double level = link.left / link.pull;
  if (link.pull <= k_worn_out * link.full_pull || level <= later) {
    // `left` and `pull` went through many subtractions; what decides is summed afresh.
    double left = link.capacity;
    double pull = 0.0;
    for (const Member& member : link.members)
      if (flows_[member.flow].settled)
        left -= member.amount * flows_[member.flow].rate;
      else
        pull += member.pull;
    level = std::max(left, 0.0) / pull;
  }
  if (level > later) {
    push({.level = level, .id = moment.id, .is_link = true});
    return;
  }
  level_ = std::max(level_, level);
  for (const Member& member : link.members)
    if (const Flow& flow = flows_[member.flow]; !flow.settled)
      settle(member.flow, std::min(flow.weight * level_, flow.bound));
}

void FairShare::settle(FlowId id, double rate) {
  Flow& flow = flows_[id];
  flow.settled = true;
  for (const Use& use : uses(flow)) {
    Link& link = links_[use.link];
    link.left -= use.amount * rate;
    link.pull -= use.amount * flow.weight;
    --link.growing;
  }
  set_rate(id, rate);
}

}  // namespace cairn::sim
