// Filling: links fill in the order of their levels, and the flows of a link that is full settle.
#include <algorithm>

#include "cairn/sim/fair_share.h"

namespace cairn::sim {
namespace {

// Two moments of the filling closer than this are one: rounding in sums over thousands of flows stays well below.
constexpr double k_same_moment = 1e-12;

// A running sum that subtractions have brought down to this share of its start has lost three digits: sum afresh.
constexpr double k_worn = 1e-3;

// With so many flows per link a change reaches most of the others.
constexpr std::uint64_t k_flows_per_busy_link = 4;

}  // namespace

void FairShare::solve() {
  moved_.clear();
  solved_.clear();
  ++solve_;
  nearby_.clear();
  for (const LinkId link : touched_) groups_[links_[link].group].touched.push_back(link);
  std::size_t next = 0;
  while (next < touched_.size()) {  // taking groups apart adds to the list
    const LinkId link = touched_[next++];
    links_[link].touched = false;
    const Group& old = groups_[links_[link].group];
    if (old.solved == solve_) continue;
    if (old.departures > 0 && old.departures >= old.flows) take_apart(links_[link].group);
    fill(links_[link].group);
  }
  touched_.clear();
  for (const FlowId flow : alone_)
    if (standing_[flow].active && !standing_[flow].grouped) run_alone(flow);
  alone_.clear();
  std::erase_if(moved_, [&](const Moved& moved) { return moved.from == bottleneck_[moved.flow]; });  // and back
}

FairShare::Solved FairShare::solved(std::size_t i) const {
  const Filled& filled = solved_[i];
  if (filled.group == k_alone) {
    const std::span<const LinkId> link(&filled.link, 1);
    return {.group = k_alone, .links = link, .renewed = link};
  }
  const std::span<const LinkId> order = groups_[filled.group].order;
  const std::span<const LinkId> from = filled.nearby ? std::span<const LinkId>(nearby_) : order;
  return {.group = filled.group, .links = order, .renewed = from.subspan(filled.begin, filled.count)};
}

double FairShare::load(LinkId link) const {
  double load = 0.0;
  for (const Member& member : links_[link].members) load += amounts_[member.use] * rate(member.flow);
  return load;
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
  solved_.push_back({.group = k_alone, .link = narrowest, .begin = 0, .count = 0, .nearby = false});
}

void FairShare::fill(GroupId id) {
  Group& group = groups_[id];
  group.solved = solve_;
  const bool nearby = solve_nearby(group);
  if (nearby) {
    group.touched.clear();
    const auto count = static_cast<std::uint32_t>(near_filled_.size());
    solved_.push_back({.group = id,
                       .link = k_no_link,
                       .begin = static_cast<std::uint32_t>(nearby_.size()) - count,
                       .count = count,
                       .nearby = true});
    return;
  }
  const std::size_t moves = moved_.size();
  std::optional<std::size_t> begin = group.uneven == 0 ? sweep<true>(group) : sweep<false>(group);
  group.touched.clear();
  if (!begin) {
    take_back(moves);
    group.uneven == 0 ? fill_by_heap<true>(group) : fill_by_heap<false>(group);
    begin = 0;
  }
  solved_.push_back({.group = id,
                     .link = k_no_link,
                     .begin = static_cast<std::uint32_t>(*begin),
                     .count = static_cast<std::uint32_t>(group.order.size() - *begin),
                     .nearby = false});
}

void FairShare::take_back(std::size_t moves) {
  for (std::size_t i = moves; i < moved_.size(); ++i) {
    bind(moved_[i].flow, moved_[i].from);
    moved_in_[moved_[i].flow] = 0;
  }
  moved_.resize(moves);
}

template <bool plain>
double FairShare::level_now(LinkId link) {
  if constexpr (plain) return filling_[link].left / filling_[link].growing;
  if (pull_[link] <= k_worn * links_[link].pull) renew(link);
  return filling_[link].left / pull_[link];
}

// A link fills later than foreseen when some of its flows have settled at a lower level: then it waits again.
template <bool plain>
void FairShare::fill_by_heap(Group& group) {
  forget(group);
  std::uint64_t crossings = 0;
  moments_.clear();
  for (const LinkId link : group.links) {
    filling_[link] = unfilled_[link];
    if constexpr (!plain) pull_[link] = links_[link].pull;
    crossings += filling_[link].growing;
    if (filling_[link].growing > 0) moments_.push_back({.level = level_now<plain>(link), .link = link});
  }
  group.busy = crossings >= k_flows_per_busy_link * group.links.size();
  std::make_heap(moments_.begin(), moments_.end(), Later());
  while (!moments_.empty()) {
    std::pop_heap(moments_.begin(), moments_.end(), Later());
    const Moment moment = moments_.back();
    moments_.pop_back();
    if (filling_[moment.link].growing == 0) continue;
    const double level = std::max(level_now<plain>(moment.link), moment.level);
    if (level > moment.level * (1.0 + k_same_moment)) {
      moments_.push_back({.level = level, .link = moment.link});
      std::push_heap(moments_.begin(), moments_.end(), Later());
      continue;
    }
    settle_link<plain>(group, moment.link, level);
  }
}

// What is left for the growing flows, afresh.
void FairShare::renew(LinkId id) {
  double left = links_[id].capacity, pull = 0.0;
  for (const Member& member : links_[id].members) {
    if (settled(member.flow))
      left -= amounts_[member.use] * rate(member.flow);
    else
      pull += amounts_[member.use] * weight_[member.flow];
  }
  filling_[id].left = left;
  pull_[id] = pull;
}

// First which flows, then what they leave of other links: neither loop has a branch that is hard to foretell.
template <bool plain>
void FairShare::settle_link(Group& group, LinkId id, double level) {
  const std::vector<Member>& members = links_[id].members;
  if (settling_.size() < members.size()) settling_.resize(members.size());
  std::size_t flows = 0;
  for (const Member& member : members) {
    settling_[flows] = member.flow;
    flows += settled(member.flow) ? 0 : 1;
  }
  for (std::size_t i = 0; i < flows; ++i) {
    const FlowId flow = settling_[i];
    settle_at(flow, id);
    const Uses list = spans_[flow];
    for (std::uint32_t use = list.first; use < list.first + list.count; ++use) {
      const LinkId link = uses_[use].link;
      if (link == id) continue;
      Filling& other = filling_[link];
      --other.growing;
      if constexpr (plain) {
        other.left -= level;
      } else {
        other.left -= amounts_[use] * weight_[flow] * level;
        pull_[link] -= amounts_[use] * weight_[flow];
      }
    }
  }
  level_[id] = level;
  filling_[id].growing = 0;
  rank_[id + 1] = static_cast<std::uint32_t>(group.order.size());
  group.order.push_back(id);
}

}  // namespace cairn::sim
