#include "nearby_filling.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

bool NearbyFilling::fill(LinkGroup& group) {
  if (group.uneven > 0 || group.busy || group.order.empty() || group.flows < k_few_flows) return false;
  if (group.patience > 0) {
    --group.patience;
    return false;
  }
  for (const LinkId link : group.touched) open(link);
  bool settled = false;
  for (int round = 0; round < k_rounds && open_.size() * k_share_opened <= group.order.size(); ++round) {
    gather();
    fill_open();
    if (reach_further()) continue;
    adopt(group);
    settled = true;
    break;
  }
  close_all();
  group.spread = settled ? 0 : std::min(group.spread + 1, k_longest_patience);
  if (!settled) group.patience = std::uint32_t{1} << group.spread;
  return settled;
}

void NearbyFilling::open(LinkId link) {
  if (place_[link] == Place::open || place_[link] == Place::open_full) return;
  open_.push_back(link);
  place_[link] = Place::open;
}

void NearbyFilling::close_all() {
  for (const LinkId link : open_) place_[link] = Place::beyond;
  for (const LinkId link : border_) place_[link] = Place::beyond;
  open_.clear();
  border_.clear();
}

// The flows that open links hold back, and the links on which they meet flows that stand.
void NearbyFilling::gather() {
  if (now_ > std::numeric_limits<std::uint32_t>::max() - 4) {
    std::fill(near_.begin(), near_.end(), 0);
    now_ = 1;
  }
  now_ += 2;
  growing_.clear();
  for (const LinkId link : border_) place_[link] = Place::beyond;
  border_.clear();
  for (const LinkId link : open_) place_[link] = Place::open;
  for (const LinkId link : open_)
    for (const Member& member : flows_.links[link].members) {
      const LinkId held = flows_.rates.bottleneck[member.flow];
      if (!stands(member.flow) || (held != k_no_link && place_[held] != Place::open)) continue;
      near_[member.flow] = now_;
      growing_.push_back(member.flow);
    }
  for (const FlowId flow : growing_)
    for (const Use& use : flows_.uses_of(flow)) {
      if (place_[use.link] != Place::beyond) continue;
      place_[use.link] = Place::border;
      border_.push_back(use.link);
    }
  for (const LinkId link : open_) weigh(link);
  for (const LinkId link : border_) weigh(link);
}

void NearbyFilling::weigh(LinkId link) {
  Filling filling{.left = flows_.links[link].capacity, .growing = 0};
  for (const Member& member : flows_.links[link].members) {
    if (!flows_.standing[member.flow].grouped) continue;
    if (near_[member.flow] == now_)
      ++filling.growing;
    else
      filling.left -= flows_.rates.level[flows_.rates.bottleneck[member.flow]];
  }
  filling_[link] = filling;
}

void NearbyFilling::fill_open() {
  const auto level_now = [&](LinkId link) { return std::max(filling_[link].left, 0.0) / filling_[link].growing; };
  filled_.clear();
  moments_.clear();
  for (const auto* links : {&open_, &border_})
    for (const LinkId link : *links)
      if (filling_[link].growing > 0) moments_.add({.level = level_now(link), .link = link});
  moments_.sort();
  double last = 0.0;
  while (!moments_.empty()) {
    const FillMoments::Moment moment = moments_.pop();
    Filling& filling = filling_[moment.link];
    if (filling.growing == 0) continue;
    const double now = level_now(moment.link);
    if (now > moment.level && !moments_.empty() && now > moments_.first().level) {
      moments_.push({.level = now, .link = moment.link});
      continue;
    }
    last = std::max(last, now);
    level_[moment.link] = last;
    place_[moment.link] = place_[moment.link] == Place::open ? Place::open_full : Place::border_full;
    filled_.push_back(moment.link);
    for (const Member& member : flows_.links[moment.link].members) {
      if (near_[member.flow] != now_) continue;
      near_[member.flow] = now_ + 1;
      bottleneck_[member.flow] = moment.link;
      for (const Use& use : flows_.uses_of(member.flow)) {
        filling_[use.link].left -= last;
        --filling_[use.link].growing;
      }
    }
  }
}

// Whether flows that the link holds back, and that stand, would not be held back rightly any more.
bool NearbyFilling::disturbs(LinkId border) const {
  const auto& members = flows_.links[border].members;
  const bool holds = std::any_of(members.begin(), members.end(), [&](const Member& member) {
    return stands(member.flow) && flows_.rates.bottleneck[member.flow] == border;
  });
  if (!holds) return false;
  if (std::abs(filling_[border].left) > k_same * flows_.links[border].capacity) return true;
  return std::any_of(members.begin(), members.end(), [&](const Member& member) {
    return near_[member.flow] == now_ + 1 &&
           level_[bottleneck_[member.flow]] > flows_.rates.level[border] * (1.0 + k_same);
  });
}

// Opens the links that this filling disturbs. False when there are none.
bool NearbyFilling::reach_further() {
  const std::size_t before = open_.size();
  const Rates& rates = flows_.rates;
  const auto slow_down = [&](LinkId link, double level) {
    for (const Member& member : flows_.links[link].members)
      if (stands(member.flow) && rates.level[rates.bottleneck[member.flow]] > level * (1.0 + k_same))
        open(rates.bottleneck[member.flow]);
  };
  for (std::size_t i = 0; i < before; ++i) {
    const LinkId link = open_[i];
    if (place_[link] == Place::open && filling_[link].left < -k_same * flows_.links[link].capacity)
      slow_down(link, 0.0);
  }
  for (const LinkId link : filled_) slow_down(link, level_[link]);
  for (const LinkId link : border_)
    if (disturbs(link)) open(link);
  return open_.size() > before;
}

void NearbyFilling::adopt(LinkGroup& group) {
  group.swept = false;
  for (const FlowId flow : growing_) moves_.settle_at(flow, bottleneck_[flow]);
  for (const LinkId link : filled_) {
    flows_.rates.level[link] = level_[link];
    if (!order_.has(link)) order_.append(group.order, link);
  }
  for (const LinkId link : open_)
    if (place_[link] != Place::open_full && order_.has(link)) order_.replace_by_last(group.order, link);
}

}  // namespace cairn::sim
