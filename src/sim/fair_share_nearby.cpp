// Solving only where a change reaches: links are opened one ring after the other until nothing beyond is disturbed.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cairn/sim/fair_share.h"

namespace cairn::sim {
namespace {

// Rates closer than this share are one: rounding in sums over thousands of flows stays well below.
constexpr double k_same = 1e-11;

// A change that opens more than this share of a group's bottlenecks, or takes so many rounds, reaches too far: filling
// the group costs less. Groups of few flows are filled anyway.
constexpr std::size_t k_share_opened = 8;
constexpr int k_rounds = 16;
constexpr std::uint32_t k_few_flows = 32;

// Solves until the next try after a change that reached too far, doubling up to a limit.
constexpr std::uint32_t k_longest_patience = 6;  // as a power of two

}  // namespace

// False, with nothing changed, when the change reaches too far.
bool FairShare::solve_nearby(Group& group) {
  if (group.uneven > 0 || group.busy || group.order.empty() || group.flows < k_few_flows) return false;
  if (group.patience > 0) {
    --group.patience;
    return false;
  }
  for (const LinkId link : group.touched) open(link);
  bool settled_nearby = false;
  for (int round = 0; round < k_rounds && open_.size() * k_share_opened <= group.order.size(); ++round) {
    gather();
    fill_nearby();
    if (reach_further()) continue;
    adopt(group);
    settled_nearby = true;
    break;
  }
  close_all();
  group.spread = settled_nearby ? 0 : std::min(group.spread + 1, k_longest_patience);
  if (!settled_nearby) group.patience = std::uint32_t{1} << group.spread;
  return settled_nearby;
}

void FairShare::open(LinkId link) {
  if (place_[link] == Near::open || place_[link] == Near::open_full) return;
  open_.push_back(link);
  place_[link] = Near::open;
}

void FairShare::close_all() {
  for (const LinkId link : open_) place_[link] = Near::no;
  for (const LinkId link : border_) place_[link] = Near::no;
  open_.clear();
  border_.clear();
}

// The flows that open links hold back, and the links on which they meet flows that stand.
void FairShare::gather() {
  if (near_now_ > std::numeric_limits<std::uint32_t>::max() - 4) {
    std::fill(near_.begin(), near_.end(), 0);
    near_now_ = 1;
  }
  near_now_ += 2;
  near_flows_.clear();
  for (const LinkId link : border_) place_[link] = Near::no;
  border_.clear();
  for (const LinkId link : open_) place_[link] = Near::open;
  for (const LinkId link : open_)
    for (const Member& member : links_[link].members) {
      const LinkId held = bottleneck_[member.flow];
      if (!standing(member.flow) || (held != k_no_link && place_[held] != Near::open)) continue;
      near_[member.flow] = near_now_;
      near_flows_.push_back(member.flow);
    }
  for (const FlowId flow : near_flows_)
    for (const Use& use : uses(flow)) {
      if (place_[use.link] != Near::no) continue;
      place_[use.link] = Near::border;
      border_.push_back(use.link);
    }
  for (const LinkId link : open_) weigh(link);
  for (const LinkId link : border_) weigh(link);
}

void FairShare::weigh(LinkId link) {
  Filling filling{.left = links_[link].capacity, .growing = 0};
  for (const Member& member : links_[link].members) {
    if (!standing_[member.flow].grouped) continue;
    if (near_[member.flow] == near_now_)
      ++filling.growing;
    else
      filling.left -= level_[bottleneck_[member.flow]];
  }
  filling_[link] = filling;
}

void FairShare::fill_nearby() {
  const auto level_now = [&](LinkId link) { return std::max(filling_[link].left, 0.0) / filling_[link].growing; };
  near_filled_.clear();
  moments_.clear();
  for (const auto* links : {&open_, &border_})
    for (const LinkId link : *links)
      if (filling_[link].growing > 0) moments_.push_back({.level = level_now(link), .link = link});
  std::make_heap(moments_.begin(), moments_.end(), Later());
  double last = 0.0;
  while (!moments_.empty()) {
    std::pop_heap(moments_.begin(), moments_.end(), Later());
    const Moment moment = moments_.back();
    moments_.pop_back();
    Filling& filling = filling_[moment.link];
    if (filling.growing == 0) continue;
    const double now = level_now(moment.link);
    if (now > moment.level && !moments_.empty() && now > moments_.front().level) {
      moments_.push_back({.level = now, .link = moment.link});
      std::push_heap(moments_.begin(), moments_.end(), Later());
      continue;
    }
    last = std::max(last, now);
    near_level_[moment.link] = last;
    place_[moment.link] = place_[moment.link] == Near::open ? Near::open_full : Near::border_full;
    near_filled_.push_back(moment.link);
    for (const Member& member : links_[moment.link].members) {
      if (near_[member.flow] != near_now_) continue;
      near_[member.flow] = near_now_ + 1;
      near_bottleneck_[member.flow] = moment.link;
      for (const Use& use : uses(member.flow)) {
        filling_[use.link].left -= last;
        --filling_[use.link].growing;
      }
    }
  }
}

// Whether flows that the link holds back, and that stand, would not be held back rightly any more.
bool FairShare::disturbs(LinkId border) const {
  const auto& members = links_[border].members;
  const bool holds = std::any_of(members.begin(), members.end(), [&](const Member& member) {
    return standing(member.flow) && bottleneck_[member.flow] == border;
  });
  if (!holds) return false;
  if (std::abs(filling_[border].left) > k_same * links_[border].capacity) return true;
  return std::any_of(members.begin(), members.end(), [&](const Member& member) {
    return near_[member.flow] == near_now_ + 1 &&
           near_level_[near_bottleneck_[member.flow]] > level_[border] * (1.0 + k_same);
  });
}

// Opens the links that this filling disturbs. False when there are none.
bool FairShare::reach_further() {
  const std::size_t before = open_.size();
  const auto slow_down = [&](LinkId link, double level) {
    for (const Member& member : links_[link].members)
      if (standing(member.flow) && level_[bottleneck_[member.flow]] > level * (1.0 + k_same))
        open(bottleneck_[member.flow]);
  };
  for (std::size_t i = 0; i < before; ++i) {
    const LinkId link = open_[i];
    if (place_[link] == Near::open && filling_[link].left < -k_same * links_[link].capacity) slow_down(link, 0.0);
  }
  for (const LinkId link : near_filled_) slow_down(link, near_level_[link]);
  for (const LinkId link : border_)
    if (disturbs(link)) open(link);
  return open_.size() > before;
}

void FairShare::adopt(Group& group) {
  group.swept = false;
  for (const FlowId flow : near_flows_) settle_at(flow, near_bottleneck_[flow]);
  for (const LinkId link : near_filled_) {
    level_[link] = near_level_[link];
    if (rank_[link + 1] != k_unfilled) continue;
    rank_[link + 1] = static_cast<std::uint32_t>(group.order.size());
    group.order.push_back(link);
  }
  for (const LinkId link : open_) {
    if (place_[link] == Near::open_full || rank_[link + 1] == k_unfilled) continue;
    const LinkId last = group.order.back();
    group.order[rank_[link + 1]] = last;
    rank_[last + 1] = rank_[link + 1];
    leave_order(link);
    group.order.pop_back();
  }
  nearby_.insert(nearby_.end(), near_filled_.begin(), near_filled_.end());
}

}  // namespace cairn::sim
