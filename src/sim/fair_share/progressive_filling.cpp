#include "progressive_filling.h"

#include <algorithm>

namespace cairn::sim {
namespace {

// Two moments of the filling closer than this are one: rounding in sums over thousands of flows stays well below.
constexpr double k_same_moment = 1e-12;

// A running sum that subtractions have brought down to this share of its start has lost three digits: sum afresh.
constexpr double k_worn = 1e-3;

// With so many flows per link a change reaches most of the others.
constexpr std::uint64_t k_flows_per_busy_link = 4;

}  // namespace

void ProgressiveFilling::fill(LinkGroup& group) {
  group.uneven == 0 ? fill_by_heap<true>(group) : fill_by_heap<false>(group);
}

// A link fills later than foreseen when some of its flows have settled at a lower level: then it waits again.
template <bool plain>
void ProgressiveFilling::fill_by_heap(LinkGroup& group) {
  order_.forget(group.order);
  group.swept = false;
  std::uint64_t crossings = 0;
  moments_.clear();
  for (const LinkId link : group.links) {
    filling_[link] = flows_.unfilled[link];
    if constexpr (!plain) pull_[link] = flows_.links[link].pull;
    crossings += filling_[link].growing;
    if (filling_[link].growing > 0) moments_.add({.level = level_now<plain>(link), .link = link});
  }
  group.busy = crossings >= k_flows_per_busy_link * group.links.size();
  moments_.sort();
  while (!moments_.empty()) {
    const FillMoments::Moment moment = moments_.pop();
    if (filling_[moment.link].growing == 0) continue;
    const double level = std::max(level_now<plain>(moment.link), moment.level);
    if (level > moment.level * (1.0 + k_same_moment))
      moments_.push({.level = level, .link = moment.link});
    else
      settle_link<plain>(group, moment.link, level);
  }
}

template <bool plain>
double ProgressiveFilling::level_now(LinkId link) {
  if constexpr (plain) return filling_[link].left / filling_[link].growing;
  if (pull_[link] <= k_worn * flows_.links[link].pull) renew(link);
  return filling_[link].left / pull_[link];
}

// What is left for the growing flows, afresh.
void ProgressiveFilling::renew(LinkId id) {
  double left = flows_.links[id].capacity, pull = 0.0;
  for (const FlowsOnLinks::Member& member : flows_.links[id].members) {
    if (settled(member.flow))
      left -= flows_.amounts[member.use] * flows_.rates.rate(member.flow);
    else
      pull += flows_.pull_of(member);
  }
  filling_[id].left = left;
  pull_[id] = pull;
}

// First which flows, then what they leave of other links: neither loop has a branch that is hard to foretell.
template <bool plain>
void ProgressiveFilling::settle_link(LinkGroup& group, LinkId id, double level) {
  const std::vector<FlowsOnLinks::Member>& members = flows_.links[id].members;
  if (settling_.size() < members.size()) settling_.resize(members.size());
  std::size_t flows = 0;
  for (const FlowsOnLinks::Member& member : members) {
    settling_[flows] = member.flow;
    flows += settled(member.flow) ? 0 : 1;
  }
  for (std::size_t i = 0; i < flows; ++i) {
    const FlowId flow = settling_[i];
    moves_.settle_at(flow, id);
    const FlowsOnLinks::Uses list = flows_.spans[flow];
    for (std::uint32_t use = list.first; use < list.first + list.count; ++use) {
      const LinkId link = flows_.uses[use].link;
      if (link == id) continue;
      Filling& other = filling_[link];
      --other.growing;
      if constexpr (plain) {
        other.left -= level;
      } else {
        const double pull = flows_.amounts[use] * flows_.rates.weight[flow];
        other.left -= pull * level;
        pull_[link] -= pull;
      }
    }
  }
  flows_.rates.level[id] = level;
  filling_[id].growing = 0;
  order_.append(group.order, id);
}

}  // namespace cairn::sim
