#include "cairn/sim/shared_work.h"

#include <algorithm>
#include <cmath>

#include "cairn/core/assert.h"

namespace cairn::sim {
namespace {

constexpr double k_seconds_per_picosecond = 1.0 / core::k_picoseconds_per_second;

// A heap is cleaned of work that has gone when that is the larger part of it, and enough to matter.
constexpr std::size_t k_gone_at_least = 32;

constexpr std::uint32_t slot_of_group(GroupId group) { return 2 * group + 1; }
constexpr std::uint32_t slot_of_link(LinkId link) { return 2 * link; }

}  // namespace

LinkId SharedWork::add_link(double capacity) {
  const LinkId link = sharing_.add_link(capacity);
  if (clocks_.size() <= link) clocks_.resize(link + 1);
  return link;
}

void SharedWork::set_capacity(LinkId link, double capacity) { sharing_.set_capacity(link, capacity); }

void SharedWork::start(std::span<const LinkId> route, double work, Tag tag, double weight) {
  enroll(sharing_.add_routed(route, weight), work, tag);
}

void SharedWork::start(std::span<const Demand> demands, double work, Tag tag, double weight, double bound) {
  enroll(sharing_.add_flow(demands, weight, bound), work, tag);
  if (clocks_.size() < sharing_.links()) clocks_.resize(sharing_.links());
}

void SharedWork::enroll(FlowId work, double size, Tag tag) {
  CAIRN_ASSERT(size > 0.0 && std::isfinite(size));
  if (works_.size() <= work) works_.resize(work + 1);
  works_[work] = {.end = size / sharing_.weight(work), .tag = tag};
}

bool SharedWork::current(const End& end, LinkId link) const {
  return works_[end.work].end == end.service && sharing_.bottleneck(end.work) == link;
}

void SharedWork::drop_gone(LinkId link) {
  std::vector<End>& ends = clocks_[link].ends;
  if (ends.size() > 2 * std::size_t{clocks_[link].works} + k_gone_at_least) {
    std::erase_if(ends, [&](const End& end) { return !current(end, link); });
    std::make_heap(ends.begin(), ends.end(), EndsLater());
  }
  while (!ends.empty() && !current(ends.front(), link)) {
    std::pop_heap(ends.begin(), ends.end(), EndsLater());
    ends.pop_back();
  }
}

// Advances a link's service to `now`, once per instant; an earlier advance at this instant, off by a rounding, stays.
inline void SharedWork::advance(Clock& clock, core::Picoseconds now, double offset) {
  if (clock.since == now) return;
  clock.service +=
      clock.level * ((static_cast<double>(now - clock.since) + (offset - clock.offset)) * k_seconds_per_picosecond);
  clock.since = now;
  clock.offset = offset;
}

inline core::Picoseconds SharedWork::end_of(const Clock& clock, double service) const {
  const double left = clock.offset + (service - clock.service) / clock.level * core::k_picoseconds_per_second;
  if (!(left < static_cast<double>(k_latest - clock.since))) return k_no_wake;
  return clock.since + std::max<core::Picoseconds>(std::llround(left), 0);
}

void SharedWork::move(const FairShare::Moved& moved, core::Picoseconds now) {
  const LinkId link = sharing_.bottleneck(moved.flow);
  Clock& to = clocks_[link];
  Work& work = works_[moved.flow];
  double left = work.end;
  if (moved.from != k_no_link) {
    Clock& from = clocks_[moved.from];
    advance(from, now, 0.0);
    --from.works;
    from.known = false;
    left = std::max(left - from.service, 0.0);
  }
  if (to.works++ == 0) {
    to.service = to.level = to.offset = 0.0;
    to.since = now;
    to.ends.clear();
  }
  to.known = false;
  advance(to, now, 0.0);
  work.end = to.service + left;
  to.ends.push_back({.service = work.end, .work = moved.flow});
  std::push_heap(to.ends.begin(), to.ends.end(), EndsLater());
}

inline void SharedWork::foresee(LinkId link, core::Picoseconds now) {
  Clock& clock = clocks_[link];
  advance(clock, now, 0.0);
  clock.level = sharing_.level(link);
  if (!clock.known) {
    drop_gone(link);
    clock.known = true;
    clock.first = clock.ends.empty() ? std::numeric_limits<double>::infinity() : clock.ends.front().service;
  }
  clock.next = end_of(clock, clock.first);
}

void SharedWork::watch(const FairShare::Solved& solved, core::Picoseconds now) {
  core::Picoseconds next = k_no_wake;
  for (const LinkId link : solved.renewed) foresee(link, now);
  for (const LinkId link : solved.links) next = std::min(next, clocks_[link].next);
  if (solved.group == FairShare::k_alone) {
    if (next != k_no_wake) wakes_.push_back({next, slot_of_link(solved.links.front())});
    return;
  }
  if (watches_.size() <= solved.group) watches_.resize(solved.group + 1);
  Watch& watch = watches_[solved.group];
  watch.links.assign(solved.links.begin(), solved.links.end());
  if (next != watch.time && next != k_no_wake) wakes_.push_back({next, slot_of_group(solved.group)});
  watch.time = next;
}

void SharedWork::settle(core::Picoseconds now) {
  wakes_.clear();
  sharing_.solve();
  for (const FairShare::Moved& moved : sharing_.moved()) move(moved, now);
  for (std::size_t i = 0; i < sharing_.solved_groups(); ++i) watch(sharing_.solved(i), now);
}

void SharedWork::collect(LinkId link, core::Picoseconds now, std::vector<Tag>& ended) {
  Clock& clock = clocks_[link];
  const double elapsed = (static_cast<double>(now - clock.since) - clock.offset) * k_seconds_per_picosecond;
  const double served = clock.service + clock.level * elapsed;
  // The first is due although advancing the clock since it was foreseen may have moved its rounding by a picosecond.
  bool due = true;
  while (!clock.ends.empty() && (due || end_of(clock, clock.ends.front().service) <= now)) {
    const End end = clock.ends.front();
    std::pop_heap(clock.ends.begin(), clock.ends.end(), EndsLater());
    clock.ends.pop_back();
    if (!current(end, link)) continue;
    due = false;
    ended.push_back(works_[end.work].tag);
    residue_ += (end.service - served) * sharing_.weight(end.work);
    rate_ += clock.level * sharing_.weight(end.work);
    works_[end.work].end = std::numeric_limits<double>::quiet_NaN();
    --clock.works;
    sharing_.remove_flow(end.work);
  }
  clock.next = k_no_wake;
  clock.known = false;
}

void SharedWork::wake(std::uint32_t slot, core::Picoseconds now, std::vector<Tag>& ended) {
  residue_ = rate_ = 0.0;
  if (slot % 2 == 0) {
    if (clocks_[slot / 2].next == now) collect(slot / 2, now, ended);
    return;
  }
  Watch& watch = watches_[slot / 2];
  if (watch.time != now) return;
  watch.time = k_no_wake;
  for (const LinkId link : watch.links)
    if (clocks_[link].next == now) collect(link, now, ended);
  if (rate_ == 0.0) return;
  const double offset = residue_ / rate_ * core::k_picoseconds_per_second;
  for (const LinkId link : watch.links) advance(clocks_[link], now, offset);
}

}  // namespace cairn::sim
