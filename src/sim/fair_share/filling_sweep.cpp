#include "filling_sweep.h"

#include <algorithm>

namespace cairn::sim {
namespace {
// Levels closer than this share are one: rounding in sums over thousands of flows stays well below.
constexpr double k_same_level = 1e-12;

// Rounding in sums over thousands of flows overfills a link by less than this share of its capacity.
constexpr double k_overfull = 1e-11;

// A sweep that asks more links than this, per link of the order and beyond it, costs more than a heap.
constexpr std::size_t k_asked_per_link = 4;
constexpr std::size_t k_asked_beside = 64;

// The capacity that a link has left counts only up to this share, since levels and their rises are rounded sums.
constexpr double k_believed = 1.0 - 1e-9;

// How many links ahead in the order flows are prefetched into the cache.
constexpr std::size_t k_ahead = 2;

// Value of Loose::until for a link that may be full now.
constexpr double k_full = -1.0;

// A level that rises by more than so many times the mean is not counted for all flows.
constexpr double k_common_rise = 8.0;

}  // namespace

std::optional<std::size_t> FillingSweep::fill(LinkGroup& group) {
  return group.uneven == 0 ? sweep<true>(group) : sweep<false>(group);
}

template <bool plain>
std::optional<std::size_t> FillingSweep::sweep(LinkGroup& group) {
  std::vector<LinkId>& order = group.order;
  if (order.empty()) return std::nullopt;
  std::size_t lowest = begin(group);
  std::size_t patience = k_asked_per_link * order.size() + k_asked_beside;
  for (std::size_t at = lowest;; lowest = std::min(lowest, at)) {
    if (at == order.size()) {
      const std::optional<std::size_t> overfull = insert_overfull<plain>(group, lowest);
      if (!overfull) break;
      at = *overfull;
      continue;
    }
    if (patience-- == 0) return std::nullopt;
    const LinkId link = order[at];
    if (at + 2 * k_ahead < order.size()) {
      __builtin_prefetch(&links_[order[at + 2 * k_ahead]]);
      __builtin_prefetch(links_[order[at + k_ahead]].held.data());
    }
    const Taken taken = ask<plain>(link);
    const bool as_before = plain && taken.pull == links_[link].holds;
    if (taken.pull == 0.0 || (!as_before && !flows_.in_group(link))) {
      order.erase(order.begin() + static_cast<std::ptrdiff_t>(at));
      order_.leave(link);
      loose_[link].until = k_full;
      continue;
    }
    const double before = at == 0 ? 0.0 : shares_[order[at - 1]].level;
    const double level = (links_[link].capacity - taken.settled) / taken.pull;
    if (level < before * (1.0 - k_same_level)) {
      at = send_back<plain>(order, at, level);
    } else if (!send_on(order, at, level)) {
      if (!as_before) take_growing(link);
      shares_[link] = {.level = std::max(level, before), .grows = 0.0};
      order_.set_rank(link, at++);
    }
  }
  for (std::size_t i = lowest; i < order.size(); ++i) flows_.rates.level[order[i]] = shares_[order[i]].level;
  return lowest;
}

// Returns where the sweep begins: at the first touched link of the order, since nothing changes before it.
std::size_t FillingSweep::begin(LinkGroup& group) {
  std::size_t begin = group.order.size();
  if (group.swept) {
    for (const LinkId link : group.touched) {
      if (order_.has(link))
        begin = std::min<std::size_t>(begin, order_.rank(link));
      else
        loose_[link].until = k_full;
    }
  } else {
    const std::vector<double>& level = flows_.rates.level;
    const auto earlier = [&](LinkId a, LinkId b) { return level[a] != level[b] ? level[a] < level[b] : a < b; };
    if (!std::is_sorted(group.order.begin(), group.order.end(), earlier))
      std::sort(group.order.begin(), group.order.end(), earlier);
    group.risen = 0.0;
    for (const LinkId link : group.links) loose_[link].until = order_.has(link) ? FairShare::k_unbounded : k_full;
    begin = 0;
    group.swept = true;
  }
  for (std::size_t i = begin; i < group.order.size(); ++i) {
    const LinkId link = group.order[i];
    shares_[link] = {};
    foreseen_[link] = flows_.rates.level[link];
  }
  return begin;
}

// Four sums side by side, since each addition waits for the one before; both sums of a flow in one addition.
template <bool plain>
FillingSweep::Taken FillingSweep::ask(LinkId id) const {
  using Pair [[gnu::vector_size(2 * sizeof(double))]] = double;
  const Link& link = links_[id];
  const std::size_t members = link.held.size();
  const LinkId* held = link.held.data();
  const auto of = [&](std::size_t i) {
    const Share& share = shares_[held[i]];
    const Pair pair{share.level, share.grows};
    if constexpr (plain) return pair;
    return pair * flows_.pull_of(link.members[i]);
  };
  Pair a{}, b{}, c{}, d{};
  std::size_t i = 0;
  for (; i + 4 <= members; i += 4) {
    a += of(i);
    b += of(i + 1);
    c += of(i + 2);
    d += of(i + 3);
  }
  for (; i < members; ++i) a += of(i);
  const Pair sum = (a + b) + (c + d);
  return {.settled = sum[0], .pull = sum[1]};
}

// The level at which the link fills if no flow gets more than the links that have filled leave it, which is not below
// `level`:
//   sum over f of a_lf w_f min(t_f, level) = C_l
template <bool plain>
double FillingSweep::level_among(LinkId id, double level) const {
  const Link& link = links_[id];
  for (double before = -1.0; level > before;) {
    before = level;
    double settled = 0.0, growing = 0.0;
    for (std::size_t i = 0; i < link.held.size(); ++i) {
      const Share& share = shares_[link.held[i]];
      const double pull = plain ? 1.0 : flows_.pull_of(link.members[i]);
      const bool grows = share.grows > 0.0 || share.level > before;
      growing += grows ? pull : 0.0;
      settled += grows ? 0.0 : pull * share.level;
    }
    if (growing > 0.0) level = std::max((link.capacity - settled) / growing, before);
  }
  return level;
}

// The link at `at` fills before its predecessor: moves it back to its place and returns that, where the sweep goes on.
template <bool plain>
std::size_t FillingSweep::send_back(std::vector<LinkId>& order, std::size_t at, double level) {
  const LinkId link = order[at];
  foreseen_[link] = level_among<plain>(link, std::max(level, 0.0));
  const std::size_t place = std::min(place_of(order, at, foreseen_[link]), at - 1);
  const auto begin = order.begin();
  std::rotate(begin + static_cast<std::ptrdiff_t>(place), begin + static_cast<std::ptrdiff_t>(at),
              begin + static_cast<std::ptrdiff_t>(at + 1));
  grow_again(order, place + 1, at + 1);
  return place;
}

// The position of a link with this level among the first `filled` links of the order.
std::size_t FillingSweep::place_of(const std::vector<LinkId>& order, std::size_t filled, double level) const {
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(filled);
  const auto place = std::upper_bound(order.begin(), end, level,
                                      [&](double sought, LinkId link) { return sought < shares_[link].level; });
  return static_cast<std::size_t>(place - order.begin());
}

void FillingSweep::grow_again(const std::vector<LinkId>& order, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    Share& share = shares_[order[i]];
    foreseen_[order[i]] = share.level;
    share = {};
  }
}

// Moves the link at `at` behind all links that are expected to fill earlier. Returns whether there were any.
bool FillingSweep::send_on(std::vector<LinkId>& order, std::size_t at, double level) {
  const double sought = level * (1.0 - k_same_level);
  std::size_t next = at + 1;
  while (next < order.size() && foreseen_[order[next]] < sought) ++next;
  if (next == at + 1) return false;
  foreseen_[order[at]] = level;
  const auto begin = order.begin() + static_cast<std::ptrdiff_t>(at);
  std::rotate(begin, begin + 1, order.begin() + static_cast<std::ptrdiff_t>(next));
  return true;
}

// Makes the link the bottleneck of its flows that still grow.
void FillingSweep::take_growing(LinkId id) {
  const Link& link = links_[id];
  for (std::size_t i = 0; i < link.members.size(); ++i) {
    if (link.held[i] == id || shares_[link.held[i]].grows == 0.0) continue;
    const FlowId flow = link.members[i].flow;
    moves_.settle_at(flow, id);
    for (const Use& use : flows_.uses_of(flow))
      if (!order_.has(use.link)) loose_[use.link].until = k_full;
  }
}

// Inserts into the order a link that is no bottleneck but would be overfull, and returns its position; nothing when
// there is no such link.
template <bool plain>
std::optional<std::size_t> FillingSweep::insert_overfull(LinkGroup& group, std::size_t lowest) {
  const double risen = group.risen + spend_slack<plain>(group, lowest);
  asked_.clear();
  for (const LinkId link : group.links) {
    if (loose_[link].until > risen) continue;
    const Taken taken = ask<plain>(link);
    const double left = links_[link].capacity - taken.settled;
    if (taken.pull == 0.0 && left >= -k_overfull * links_[link].capacity) {
      loose_[link].until = k_full;  // unless this is the last time that the links are asked
      asked_.push_back({.link = link, .amount = std::max(left, 0.0)});
      continue;
    }
    if (!flows_.in_group(link)) continue;
    flows_.rates.level[link] = foreseen_[link] = level_among<plain>(link, 0.0);
    const std::size_t place = place_of(group.order, group.order.size(), flows_.rates.level[link]);
    grow_again(group.order, place, group.order.size());
    group.order.insert(group.order.begin() + static_cast<std::ptrdiff_t>(place), link);
    order_.set_rank(link, 0);
    loose_[link].until = FairShare::k_unbounded;
    return place;
  }
  group.risen = risen;
  for (const Left& left : asked_) {
    const double pull = links_[left.link].pull;
    loose_[left.link] = {.until = risen + left.amount * k_believed / pull, .per_load = 1.0 / pull};
  }
  return std::nullopt;
}

// What a link without held flows had left when it was asked lasts while
//   sum of a_lf w_f (rise of the level of f) <= left
// The few flows whose level has risen by far the most are counted one by one, of all others the largest rise.
template <bool plain>
double FillingSweep::spend_slack(const LinkGroup& group, std::size_t lowest) {
  const std::size_t size = group.order.size();
  const auto rise_of = [&](LinkId link) { return shares_[link].level - flows_.rates.level[link]; };
  double sum = 0.0;
  for (std::size_t i = lowest; i < size; ++i) sum += std::max(rise_of(group.order[i]), 0.0);
  const double common = k_common_rise * sum / static_cast<double>(size - lowest + 1);
  double largest = 0.0;
  for (std::size_t i = lowest; i < size; ++i) {
    const LinkId risen = group.order[i];
    const double rise = rise_of(risen);
    if (rise <= common) {
      largest = std::max(largest, rise);
      continue;
    }
    for (std::size_t m = 0; m < links_[risen].members.size(); ++m) {
      if (links_[risen].held[m] != risen) continue;
      const FlowId flow = links_[risen].members[m].flow;
      for (std::uint32_t use = flows_.spans[flow].first; use < flows_.spans[flow].first + flows_.spans[flow].count;
           ++use) {
        const LinkId link = flows_.uses[use].link;
        loose_[link].until -=
            rise * (plain ? 1.0 : flows_.amounts[use] * flows_.rates.weight[flow]) * loose_[link].per_load;
      }
    }
  }
  return largest;
}

}  // namespace cairn::sim
