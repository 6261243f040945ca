#include "flows_on_links.h"

#include <cmath>

#include "cairn/core/assert.h"

namespace cairn::sim {

LinkId FlowsOnLinks::add_link(double capacity) {
  const auto id = static_cast<LinkId>(links.size());
  links.emplace_back().capacity = capacity;
  unfilled.push_back({.left = capacity, .growing = 0});
  rates.level.emplace_back();
  return id;
}

FlowId FlowsOnLinks::allocate(std::uint32_t count, double weight) {
  CAIRN_ASSERT(weight > 0.0 && std::isfinite(weight));
  if (count >= free_.size()) free_.resize(count + 1);
  std::vector<FlowId>& free = free_[count];
  FlowId id = static_cast<FlowId>(spans.size());
  if (free.empty()) {
    spans.push_back({.first = static_cast<std::uint32_t>(uses.size()), .count = count});
    uses.resize(uses.size() + count);
    amounts.resize(uses.size());
    standing.emplace_back();
    rates.weight.emplace_back();
    rates.bottleneck.emplace_back();
  } else {
    id = free.back();
    free.pop_back();
  }
  rates.weight[id] = weight;
  rates.bottleneck[id] = k_no_link;
  standing[id] = {.grouped = false, .active = true, .plain = weight == 1.0};
  return id;
}

void FlowsOnLinks::enter(FlowId flow, std::uint32_t use, Demand demand) {
  Link& link = links[demand.link];
  CAIRN_ASSERT(link.members.empty() || link.members.back().flow != flow);
  uses[use] = {.link = demand.link, .place = static_cast<std::uint32_t>(link.members.size())};
  amounts[use] = demand.amount;
  if (demand.amount != 1.0) standing[flow].plain = false;
  link.members.push_back({.flow = flow, .use = use});
  link.held.push_back(k_no_link);
  change_pull(link, demand.amount * rates.weight[flow]);
}

void FlowsOnLinks::leave(FlowId flow, std::uint32_t use) {
  Link& link = links[uses[use].link];
  const std::uint32_t place = uses[use].place;
  link.members[place] = link.members.back();
  uses[link.members[place].use].place = place;
  link.members.pop_back();
  link.held[place] = link.held.back();
  link.held.pop_back();
  change_pull(link, -amounts[use] * rates.weight[flow]);
}

void FlowsOnLinks::release(FlowId flow) {
  if (rates.bottleneck[flow] != k_no_link) --links[rates.bottleneck[flow]].holds;
  standing[flow].active = false;
  free_[spans[flow].count].push_back(flow);
}

void FlowsOnLinks::change_pull(Link& link, double change) {
  link.pull += change;
  if (++link.changes <= link.members.size()) return;
  link.changes = 0;
  link.pull = 0.0;
  for (const Member& member : link.members) link.pull += pull_of(member);
}

double FlowsOnLinks::load(LinkId link) const {
  double load = 0.0;
  for (const Member& member : links[link].members) load += amounts[member.use] * rates.rate(member.flow);
  return load;
}

}  // namespace cairn::sim
