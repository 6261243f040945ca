// Waves of large batches: groups on shelves, short sequences stacked up to a ceiling or beside longer groups, then
// sequences that move out of the longest groups.
#include <algorithm>
#include <array>
#include <numeric>

#include "hdp.h"

namespace cairn::sequence::hdp {

namespace {

constexpr int k_ceilings = 32;  // tried, each the fourth root of 1/2 of the one before
constexpr double k_ceiling_step = 0.84089641525371454;
// Longest groups that are taken apart, over all waves and rounds.
constexpr int k_most_trials = 1'000;

using Places = std::vector<std::size_t>;  // among the items

// The group of these that has room for sequence k by `ceiling`; null where there is none.
Group* open_group(const Pool& pool, std::vector<Group>& groups, std::size_t k, core::Picoseconds ceiling) {
  const Item& item = pool.items[k];
  const auto group = std::ranges::find_if(
      groups, [&](const Group& open) { return open.time + item.time <= ceiling && has_room(pool, open, item); });
  return group == groups.end() ? nullptr : &*group;
}

Group group_of_one(const Pool& pool, std::size_t k) {
  Group group{.ranks = pool.items[k].ranks};
  put(pool, group, k);
  return group;
}

// Sequences in groups that end by `ceiling`, but for those that alone take longer: first fit, the longest first.
std::vector<Group> stacked(const Pool& pool, const Places& places, core::Picoseconds ceiling) {
  std::vector<Group> groups;
  for (const std::size_t k : places) {
    if (Group* group = open_group(pool, groups, k, ceiling))
      put(pool, *group, k);
    else
      groups.push_back(group_of_one(pool, k));
  }
  return groups;
}

void add(Wave& wave, Group group) {
  wave.ranks += group.ranks;
  wave.time = std::max(wave.time, group.time);
  wave.groups.push_back(std::move(group));
}

// Each group in the first wave with ranks left, the longest first.
Waves shelved(const Pool& pool, std::vector<Group> groups) {
  std::ranges::stable_sort(groups, [](const Group& a, const Group& b) { return a.time > b.time; });
  Waves waves;
  for (Group& group : groups) {
    auto wave = std::ranges::find_if(waves, [&](const Wave& w) { return w.ranks + group.ranks <= pool.ranks; });
    if (wave == waves.end()) wave = waves.emplace(waves.end());
    add(*wave, std::move(group));
  }
  return waves;
}

// Sequence k in the first wave where it ends by `ceiling` or beside a longer group; false where there is none.
bool stand_beside(const Pool& pool, Waves& waves, std::size_t k, core::Picoseconds ceiling) {
  const Item& item = pool.items[k];
  for (Wave& wave : waves) {
    const core::Picoseconds ends = std::max(wave.time, ceiling);
    if (Group* group = open_group(pool, wave.groups, k, ends)) {
      put(pool, *group, k);
      wave.time = std::max(wave.time, group->time);
      return true;
    }
    if (wave.ranks + item.ranks > pool.ranks || item.time > ends) continue;
    add(wave, group_of_one(pool, k));
    return true;
  }
  return false;
}

// The sequences of many ranks on shelves, those of the fewest beside them, what is left of these on shelves behind.
Waves filled(const Pool& pool, core::Picoseconds ceiling) {
  const std::int64_t fewest = std::ranges::min_element(pool.items, {}, &Item::ranks)->ranks;
  Places few, many, left;
  for (std::size_t k = 0; k < pool.items.size(); ++k) (pool.items[k].ranks == fewest ? few : many).push_back(k);
  Waves waves = shelved(pool, stacked(pool, many, ceiling));
  for (const std::size_t k : few)
    if (!stand_beside(pool, waves, k, ceiling)) left.push_back(k);
  for (Wave& wave : shelved(pool, stacked(pool, left, ceiling))) waves.push_back(std::move(wave));
  return waves;
}

// Where the sum of the waves grows least by a sequence: a group of a wave, or a new group of it.
struct Place {
  std::size_t wave = 0;
  std::optional<std::size_t> group = {};
  core::Picoseconds growth = core::k_reach;
};

Place best_place(const Pool& pool, const Waves& waves, const Item& item) {
  Place best;
  const auto offer = [&](std::size_t w, std::optional<std::size_t> g, core::Picoseconds ends) {
    const core::Picoseconds growth = std::max<core::Picoseconds>(0, ends - waves[w].time);
    if (growth < best.growth) best = {.wave = w, .group = g, .growth = growth};
  };
  for (std::size_t w = 0; w < waves.size() && best.growth > 0; ++w) {
    for (std::size_t g = 0; g < waves[w].groups.size(); ++g)
      if (has_room(pool, waves[w].groups[g], item)) offer(w, g, waves[w].groups[g].time + item.time);
    if (waves[w].ranks + item.ranks <= pool.ranks) offer(w, std::nullopt, item.time);
  }
  if (pool.fixed + item.time < best.growth)
    best = {.wave = waves.size(), .group = {}, .growth = pool.fixed + item.time};
  return best;
}

void insert(const Pool& pool, Waves& waves, std::size_t k) {
  const Item& item = pool.items[k];
  const Place place = best_place(pool, waves, item);
  if (place.wave == waves.size()) waves.emplace_back();
  Wave& wave = waves[place.wave];
  if (!place.group) {
    add(wave, group_of_one(pool, k));
    return;
  }
  put(pool, wave.groups[*place.group], k);
  wave.time = std::max(wave.time, wave.groups[*place.group].time);
}

// The longest group of wave w without its sequences, which go elsewhere.
Waves taken_apart(const Pool& pool, Waves waves, std::size_t w) {
  Wave& wave = waves[w];
  const auto longest = std::ranges::max_element(wave.groups, {}, &Group::time);
  const std::vector<std::size_t> members = longest->members;
  wave.ranks -= longest->ranks;
  wave.groups.erase(longest);
  wave.time = 0;
  for (const Group& group : wave.groups) wave.time = std::max(wave.time, group.time);
  if (wave.groups.empty()) waves.erase(waves.begin() + static_cast<std::ptrdiff_t>(w));
  for (const std::size_t k : members) insert(pool, waves, k);
  return waves;
}

void improve(const Pool& pool, Waves& waves) {
  int trials = 0;
  for (bool shorter = true; shorter;) {
    shorter = false;
    for (std::size_t w = 0; w < waves.size(); ++w) {
      if (++trials > k_most_trials) return;
      Waves others = taken_apart(pool, waves, w);
      if (total(pool, others) >= total(pool, waves)) continue;
      waves = std::move(others);
      shorter = true;
    }
  }
}

}  // namespace

Waves fill(const Pool& pool) {
  Places all(pool.items.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  Waves best = filled(pool, core::k_reach);
  double ceiling = static_cast<double>(std::ranges::max_element(best, {}, &Wave::time)->time);
  for (int i = 0; i < k_ceilings; ++i, ceiling *= k_ceiling_step) {
    const auto ends = static_cast<core::Picoseconds>(ceiling);
    for (Waves& waves : std::array{filled(pool, ends), shelved(pool, stacked(pool, all, ends))})
      if (total(pool, waves) < total(pool, best)) best = std::move(waves);
  }
  improve(pool, best);
  return best;
}

}  // namespace cairn::sequence::hdp
