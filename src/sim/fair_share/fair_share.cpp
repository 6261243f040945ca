#include "cairn/sim/fair_share.h"

#include <algorithm>
#include <cmath>

#include "bottleneck_moves.h"
#include "cairn/core/assert.h"
#include "fill_order.h"
#include "filling_sweep.h"
#include "flows_on_links.h"
#include "link_groups.h"
#include "nearby_filling.h"
#include "progressive_filling.h"

namespace cairn::sim {

// A solve fills every touched group of links in the first of three ways that works: NearbyFilling (only where the
// change reaches), FillingSweep (in the previous order), ProgressiveFilling (from nothing).
class FairShare::Implementation {
 public:
  const FlowsOnLinks& flows() const { return flows_; }
  const LinkGroups& groups() const { return groups_; }
  std::span<const Moved> moved() const { return moves_.all(); }
  std::size_t solved_groups() const { return solved_.size(); }
  Solved solved(std::size_t i) const;

  LinkId add_link(double capacity) { return groups_.add_link(capacity); }
  void set_capacity(LinkId link, double capacity);
  FlowId add_flow(std::span<const Demand> demands, double weight, double bound);
  FlowId add_routed(std::span<const LinkId> route, double weight);
  void remove_flow(FlowId id);
  void solve();

 private:
  struct Filled {
    GroupId group;
    LinkId link;                 // of one flow alone
    std::uint32_t begin, count;  // of what is renewed: in nearby_, or in the group's order
    bool nearby;
  };

  void start(FlowId id);
  void share_links_of(LinkId link);
  void make_room();
  void run_alone(FlowId id);
  void fill(GroupId id);

  FlowsOnLinks flows_;
  FillOrder order_;
  LinkGroups groups_{flows_, order_};
  BottleneckMoves moves_{flows_};
  ProgressiveFilling progressive_{flows_, order_, moves_};
  FillingSweep sweep_{flows_, order_, moves_};
  NearbyFilling near_{flows_, order_, moves_};
  std::vector<FlowId> alone_;  // flows added since the last solve that were alone on their links
  std::vector<Filled> solved_;
  std::vector<LinkId> nearby_;  // links renewed nearby, of all groups of this solve
};

void FairShare::Implementation::set_capacity(LinkId link, double capacity) {
  flows_.set_capacity(link, capacity);
  share_links_of(link);
  groups_.touch(link);
}

FlowId FairShare::Implementation::add_flow(std::span<const Demand> demands, double weight, double bound) {
  const bool bounded = bound != k_unbounded;
  const FlowId id = flows_.allocate(static_cast<std::uint32_t>(demands.size() + (bounded ? 1 : 0)), weight);
  std::uint32_t use = flows_.spans[id].first;
  for (const Demand& demand : demands) flows_.enter(id, use++, demand);
  if (bounded) flows_.enter(id, use, {.link = groups_.take_bound(bound, demands), .amount = 1.0});
  start(id);
  return id;
}

FlowId FairShare::Implementation::add_routed(std::span<const LinkId> route, double weight) {
  const FlowId id = flows_.allocate(static_cast<std::uint32_t>(route.size()), weight);
  std::uint32_t use = flows_.spans[id].first;
  for (const LinkId link : route) {
    CAIRN_ASSERT(link < flows_.links.size());
    flows_.enter(id, use++, {.link = link, .amount = 1.0});
  }
  start(id);
  return id;
}

// Its links know it: now its group does, unless it is alone.
void FairShare::Implementation::start(FlowId id) {
  const auto list = flows_.uses_of(id);
  const bool alone = std::all_of(list.begin(), list.end(), [&](const FlowsOnLinks::Use& use) {
    return flows_.links[use.link].members.size() == 1;
  });
  if (alone)
    alone_.push_back(id);
  else
    for (const FlowsOnLinks::Use& use : list) share_links_of(use.link);
}

// Flows that were alone on the link now share it: they join its group.
void FairShare::Implementation::share_links_of(LinkId link) {
  for (const FlowsOnLinks::Member& member : flows_.links[link].members)
    if (!flows_.standing[member.flow].grouped) groups_.join(member.flow);
}

void FairShare::Implementation::remove_flow(FlowId id) {
  CAIRN_ASSERT(id < flows_.standing.size() && flows_.standing[id].active);
  const bool grouped = flows_.standing[id].grouped;
  if (grouped) groups_.leave(id);
  const FlowsOnLinks::Uses list = flows_.spans[id];
  for (std::uint32_t use = list.first; use < list.first + list.count; ++use) {
    const LinkId link = flows_.uses[use].link;
    flows_.leave(id, use);
    if (grouped) groups_.touch(link);
    if (flows_.links[link].bounds_flow) groups_.free_bound(link);
  }
  flows_.release(id);
}

void FairShare::Implementation::make_room() {
  const std::size_t links = flows_.links.size();
  order_.make_room(links);
  progressive_.make_room(links);
  sweep_.make_room(links);
  near_.make_room(links, flows_.spans.size());
}

void FairShare::Implementation::solve() {
  make_room();
  moves_.begin();
  solved_.clear();
  nearby_.clear();
  std::vector<LinkId>& touched = groups_.touched();
  for (const LinkId link : touched) groups_.of(link).touched.push_back(link);
  std::size_t next = 0;
  while (next < touched.size()) {  // taking groups apart adds to the list
    const LinkId link = touched[next++];
    flows_.links[link].touched = false;
    const LinkGroup& old = groups_.of(link);
    if (old.solved == moves_.solve()) continue;
    if (old.departures > 0 && old.departures >= old.flows) groups_.take_apart(flows_.links[link].group);
    fill(flows_.links[link].group);
  }
  touched.clear();
  for (const FlowId flow : alone_)
    if (flows_.standing[flow].active && !flows_.standing[flow].grouped) run_alone(flow);
  alone_.clear();
  moves_.finish();
}

void FairShare::Implementation::run_alone(FlowId id) {
  LinkId narrowest = k_no_link;
  double level = k_unbounded;
  for (const FlowsOnLinks::Use& use : flows_.uses_of(id)) {
    const FlowsOnLinks::Link& link = flows_.links[use.link];
    if (link.capacity >= level * link.pull) continue;
    level = link.capacity / link.pull;
    narrowest = use.link;
  }
  flows_.rates.level[narrowest] = level;
  moves_.settle_at(id, narrowest);
  solved_.push_back({.group = k_alone, .link = narrowest, .begin = 0, .count = 0, .nearby = false});
}

void FairShare::Implementation::fill(GroupId id) {
  LinkGroup& group = groups_[id];
  group.solved = moves_.solve();
  Filled filled{.group = id, .link = k_no_link, .begin = 0, .count = 0, .nearby = near_.fill(group)};
  if (filled.nearby) {
    const std::span<const LinkId> renewed = near_.renewed();
    filled.begin = static_cast<std::uint32_t>(nearby_.size());
    filled.count = static_cast<std::uint32_t>(renewed.size());
    nearby_.insert(nearby_.end(), renewed.begin(), renewed.end());
  } else {
    const std::size_t moves = moves_.count();
    const std::optional<std::size_t> begin = sweep_.fill(group);
    if (!begin) {
      moves_.take_back(moves);
      progressive_.fill(group);
    }
    filled.begin = static_cast<std::uint32_t>(begin.value_or(0));
    filled.count = static_cast<std::uint32_t>(group.order.size()) - filled.begin;
  }
  group.touched.clear();
  solved_.push_back(filled);
}

FairShare::Solved FairShare::Implementation::solved(std::size_t i) const {
  const Filled& filled = solved_[i];
  if (filled.group == k_alone) {
    const std::span<const LinkId> link(&filled.link, 1);
    return {.group = k_alone, .links = link, .renewed = link};
  }
  const std::span<const LinkId> order = groups_[filled.group].order;
  const std::span<const LinkId> from = filled.nearby ? std::span<const LinkId>(nearby_) : order;
  return {.group = filled.group, .links = order, .renewed = from.subspan(filled.begin, filled.count)};
}

FairShare::FairShare() : implementation_(std::make_unique<Implementation>()), rates_(&implementation_->flows().rates) {}
FairShare::FairShare(FairShare&&) noexcept = default;
FairShare& FairShare::operator=(FairShare&&) noexcept = default;
FairShare::~FairShare() = default;

LinkId FairShare::add_link(double capacity) {
  CAIRN_ASSERT(capacity >= 0.0 && std::isfinite(capacity));
  return implementation_->add_link(capacity);
}

void FairShare::set_capacity(LinkId link, double capacity) {
  CAIRN_ASSERT(link < links() && capacity >= 0.0 && std::isfinite(capacity));
  implementation_->set_capacity(link, capacity);
}

FlowId FairShare::add_flow(std::span<const Demand> demands, double weight, double bound) {
  CAIRN_ASSERT(bound >= 0.0);
  CAIRN_ASSERT(bound != k_unbounded || !demands.empty());
  for (const Demand& demand : demands) CAIRN_ASSERT(demand.link < links() && demand.amount > 0.0);
  return implementation_->add_flow(demands, weight, bound);
}

FlowId FairShare::add_routed(std::span<const LinkId> route, double weight) {
  CAIRN_ASSERT(!route.empty());
  return implementation_->add_routed(route, weight);
}

void FairShare::remove_flow(FlowId id) { implementation_->remove_flow(id); }
void FairShare::solve() { implementation_->solve(); }
std::span<const FairShare::Moved> FairShare::moved() const { return implementation_->moved(); }
std::size_t FairShare::solved_groups() const { return implementation_->solved_groups(); }
FairShare::Solved FairShare::solved(std::size_t i) const { return implementation_->solved(i); }

std::span<const LinkId> FairShare::links_of(GroupId group) const {
  return group == k_alone ? std::span<const LinkId>() : std::span<const LinkId>(implementation_->groups()[group].links);
}

double FairShare::load(LinkId link) const { return implementation_->flows().load(link); }
double FairShare::capacity(LinkId link) const { return implementation_->flows().links[link].capacity; }
std::size_t FairShare::links() const { return implementation_->flows().links.size(); }
GroupId FairShare::group(LinkId link) const { return implementation_->flows().links[link].group; }

}  // namespace cairn::sim
