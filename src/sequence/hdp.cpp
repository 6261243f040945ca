#include "hdp.h"

#include <algorithm>

#include "cairn/core/diagnostics.h"

namespace cairn::sequence {

namespace hdp {

namespace {

void check_costs(const RingCosts& costs) {
  check_work(costs.work);
  check_amount("circulated", costs.circulated.base());
  check_amount("rate", costs.rate.base());
  if (costs.circulated.base() > 0.0 && costs.rate.base() == 0.0)
    throw core::ConfigurationError("rate", "a hop of the ring at this rate never ends",
                                   "give what neighbours send each other per second");
  if (costs.tokens_per_rank < 1)
    throw core::ConfigurationError(
        "tokens_per_rank", "a rank holds " + std::to_string(costs.tokens_per_rank) + " tokens", "give at least 1");
}

void raise_unless_fits(const Item& item, std::int64_t ranks, std::int64_t tokens_per_rank) {
  const std::int64_t needed = ceil_divide(item.tokens, tokens_per_rank);
  if (needed <= ranks) return;
  throw core::ConfigurationError(
      "lengths[" + std::to_string(item.index) + "]",
      std::to_string(item.tokens) + " tokens fit no group: they need " + std::to_string(needed) + " ranks, there are " +
          std::to_string(ranks),
      "add ranks, or memory for " + std::to_string(ceil_divide(item.tokens, ranks)) + " tokens on each of them");
}

// One wave after the other, every sequence in one of its own, stays within the reach of simulated time.
void raise_unless_countable(const Pool& pool) {
  core::Picoseconds all = 0;
  for (const Item& item : pool.items) all = add_times(add_times(all, pool.fixed), item.time);
}

// Every sequence in a group of `degree` ranks, or of as few as hold it.
Pool pool_of(std::span<const std::int64_t> lengths, std::int64_t ranks, std::optional<std::int64_t> degree,
             const RingCosts& costs) {
  check_batch(lengths, ranks);
  check_costs(costs);
  if (degree && (*degree < 1 || *degree > ranks))
    throw core::ConfigurationError("degree", std::to_string(*degree) + " of " + std::to_string(ranks) + " ranks",
                                   "give at least 1 and at most that many");
  Pool pool{
      .ranks = ranks, .tokens_per_rank = costs.tokens_per_rank, .fixed = core::to_picoseconds(costs.work.fixed.base())};
  for (const std::int64_t index : longest_first(lengths)) {
    Item item{.index = index, .tokens = lengths[index]};
    raise_unless_fits(item, degree.value_or(ranks), costs.tokens_per_rank);
    item.ranks = degree.value_or(ceil_divide(item.tokens, costs.tokens_per_rank));
    item.time = ring_time(costs, item.ranks, item.tokens);
    pool.items.push_back(item);
  }
  std::ranges::stable_sort(
      pool.items, [](const Item& a, const Item& b) { return a.time != b.time ? a.time > b.time : a.index < b.index; });
  raise_unless_countable(pool);
  return pool;
}

WavedBatch answer(const Pool& pool, Waves waves, core::Picoseconds bound, bool exact) {
  WavedBatch batch{.waves = {}, .time = total(pool, waves), .lower_bound = bound, .exact = exact};
  std::ranges::stable_sort(waves, [](const Wave& a, const Wave& b) { return a.time > b.time; });
  for (const Wave& wave : waves) {
    std::vector<RankGroup>& groups = batch.waves.emplace_back();
    for (const Group& group : wave.groups) {
      groups.push_back({.ranks = group.ranks, .time = pool.fixed + group.time});
      for (const std::size_t k : group.members) groups.back().sequences.push_back(pool.items[k].index);
    }
    set_in_order(groups);
  }
  return batch;
}

WavedBatch share(const Pool& pool) {
  const core::Picoseconds bound = lower_bound(pool);
  Waves waves = fill(pool);
  const bool exact = search(pool, bound, waves);
  return answer(pool, std::move(waves), bound, exact);
}

}  // namespace

void put(const Pool& pool, Group& group, std::size_t k) {
  group.time += pool.items[k].time;
  group.tokens += pool.items[k].tokens;
  group.members.push_back(k);
}

core::Picoseconds total(const Pool& pool, const Waves& waves) {
  core::Picoseconds sum = 0;
  for (const Wave& wave : waves) sum += pool.fixed + wave.time;
  return sum;
}

}  // namespace hdp

WavedBatch share_in_waves(std::span<const std::int64_t> lengths, std::int64_t ranks, const RingCosts& costs) {
  return hdp::share(hdp::pool_of(lengths, ranks, std::nullopt, costs));
}

WavedBatch waves_of_degree(std::span<const std::int64_t> lengths, std::int64_t ranks, std::int64_t degree,
                           const RingCosts& costs) {
  return hdp::share(hdp::pool_of(lengths, ranks, degree, costs));
}

}  // namespace cairn::sequence
