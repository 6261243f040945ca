#include "flexsp.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cairn/core/diagnostics.h"

namespace cairn::sequence {

namespace flexsp {

namespace {

void check_degrees(const GroupCosts& costs, std::int64_t ranks) {
  if (costs.degrees.empty())
    throw core::ConfigurationError("degrees", "groups may have no number of ranks", "give at least one degree");
  std::int64_t before = 0;
  for (std::size_t j = 0; j < costs.degrees.size(); ++j) {
    const GroupDegree& degree = costs.degrees[j];
    const std::string key_path = "degrees[" + std::to_string(j) + "]";
    if (degree.ranks <= before)
      throw core::ConfigurationError(key_path + ".ranks",
                                     std::to_string(degree.ranks) + " behind " + std::to_string(before),
                                     "give degrees of at least 1 rank, ascending, each once");
    before = degree.ranks;
    check_amount(key_path + ".rate", degree.rate.base());
    if (degree.ranks > 1 && costs.exchanged.base() > 0.0 && degree.rate.base() == 0.0)
      throw core::ConfigurationError(key_path + ".rate", "an all-to-all at this rate never ends",
                                     "give what an all-to-all among these ranks moves per second");
  }
  if (costs.degrees.front().ranks > ranks)
    throw core::ConfigurationError("degrees",
                                   "the smallest group has " + std::to_string(costs.degrees.front().ranks) +
                                       " ranks, the pool " + std::to_string(ranks),
                                   "add a degree of at most that, or ranks");
}

void check_memory(const GroupMemory& memory) {
  check_amount("memory.state", memory.state.base());
  check_amount("memory.activation", memory.activation.base());
  check_amount("memory.capacity", memory.capacity.base());
  if (memory.state >= memory.capacity)
    throw core::ConfigurationError("memory.state", "the model leaves no memory for activations",
                                   "shard its states over more ranks, or take ranks with more memory");
}

[[noreturn]] void raise_fits_no_group(std::int64_t sequence, std::int64_t tokens, const Table& table,
                                      const GroupMemory& memory) {
  const double activations = static_cast<double>(tokens) * memory.activation.base();
  const double ranks = std::ceil(activations / (memory.capacity - memory.state).base());
  const double bytes = memory.state.base() + activations / static_cast<double>(table.degrees.back());
  throw core::ConfigurationError(
      "lengths[" + std::to_string(sequence) + "]",
      std::to_string(tokens) + " tokens fit no group: they need " + std::to_string(std::llround(ranks)) +
          " ranks, the largest group has " + std::to_string(table.degrees.back()),
      "allow such a group, or give each of its ranks " + std::to_string(std::llround(std::ceil(bytes))) + " bytes");
}

void raise_unless_all_fit(const Table& table, const GroupMemory& memory) {
  if (!table.fits(0, table.degrees.size() - 1))
    raise_fits_no_group(table.index.front(), table.tokens.front(), table, memory);
}

// Sums of group times stay within the reach of simulated time, whatever the assignment.
void raise_unless_countable(const Table& table) {
  core::Picoseconds all = table.fixed;
  for (std::size_t k = 0; k < table.sequences(); ++k) {
    core::Picoseconds longest = 0;
    for (std::size_t j = 0; j < table.degrees.size(); ++j) longest = std::max(longest, table.time(k, j));
    all = add_times(all, longest);
  }
}

GroupedBatch answer(const Table& table, const Loads& loads, core::Picoseconds bound, bool exact) {
  GroupedBatch batch{.groups = {}, .time = makespan(table, loads), .lower_bound = bound, .exact = exact};
  for (const Load& load : loads) {
    if (load.members.empty()) continue;
    RankGroup& group = batch.groups.emplace_back();
    group.ranks = table.degrees[load.degree];
    group.time = table.fixed + load.time;
    for (const std::size_t k : load.members) group.sequences.push_back(table.index[k]);
  }
  set_in_order(batch.groups);
  return batch;
}

struct Single {
  std::optional<Loads> loads = {};  // degrees as places of the whole table
  core::Picoseconds bound = 0;
  bool exact = true;
};

// Any single degree: the least time of all, the least bound of all.
Single best_single(const Table& table) {
  Single best{.loads = {}, .bound = core::k_reach, .exact = true};
  for (std::size_t j = table.degrees.size(); j-- > 0;) {
    const std::optional<Table> alone = single(table, j);
    if (!alone) continue;
    const core::Picoseconds bound = lower_bound(*alone);
    std::optional<Loads> loads = share_evenly(*alone);
    const bool exact = search(*alone, bound, loads);
    best.exact = best.exact && exact;
    if (!loads) {
      if (!exact) best.bound = std::min(best.bound, bound);
      continue;
    }
    best.bound = std::min(best.bound, exact ? makespan(*alone, *loads) : bound);
    if (best.loads && makespan(table, *best.loads) <= makespan(*alone, *loads)) continue;
    for (Load& load : *loads) load.degree = j;
    best.loads = std::move(loads);
  }
  return best;
}

}  // namespace

void put(const Table& table, Load& load, std::size_t k) {
  load.time += table.time(k, load.degree);
  load.tokens += table.tokens[k];
  load.members.push_back(k);
}

core::Picoseconds makespan(const Table& table, const Loads& loads) {
  core::Picoseconds longest = 0;
  for (const Load& load : loads) longest = std::max(longest, load.time);
  return table.fixed + longest;
}

Table table_of(std::span<const std::int64_t> lengths, std::int64_t ranks, const GroupCosts& costs) {
  check_batch(lengths, ranks);
  check_work(costs.work);
  check_amount("exchanged", costs.exchanged.base());
  check_degrees(costs, ranks);
  check_memory(costs.memory);
  Table table{.ranks = ranks, .fixed = core::to_picoseconds(costs.work.fixed.base()), .index = longest_first(lengths)};
  table.pool_capacity = token_capacity(costs.memory, ranks);
  std::vector<GroupDegree> degrees;
  for (const GroupDegree& degree : costs.degrees) {
    if (degree.ranks > ranks) break;
    degrees.push_back(degree);
    table.degrees.push_back(degree.ranks);
    table.capacity.push_back(token_capacity(costs.memory, degree.ranks));
  }
  for (const std::int64_t i : table.index) {
    table.tokens.push_back(lengths[i]);
    for (const GroupDegree& degree : degrees) table.times.push_back(exchange_time(costs, degree, lengths[i]));
  }
  raise_unless_all_fit(table, costs.memory);
  raise_unless_countable(table);
  return table;
}

std::optional<Table> single(const Table& table, std::size_t j) {
  if (!table.fits(0, j)) return std::nullopt;
  Table alone = table;
  alone.degrees = {table.degrees[j]};
  alone.capacity = {table.capacity[j]};
  alone.times.clear();
  for (std::size_t k = 0; k < table.sequences(); ++k) alone.times.push_back(table.time(k, j));
  return alone;
}

std::int64_t all_tokens(const Table& table) {
  return std::accumulate(table.tokens.begin(), table.tokens.end(), std::int64_t{0});
}

std::optional<GroupedBatch> shared(const Table& table) {
  if (Wide{all_tokens(table)} > Wide{table.pool_capacity}) return std::nullopt;
  const core::Picoseconds bound = lower_bound(table);
  std::optional<Loads> loads = best_single(table).loads;
  find_groups(table, bound, loads);
  const bool exact = search(table, bound, loads);
  if (!loads) return std::nullopt;
  return answer(table, *loads, bound, exact);
}

}  // namespace flexsp

GroupedBatch share_in_groups(std::span<const std::int64_t> lengths, std::int64_t ranks, const GroupCosts& costs) {
  const flexsp::Table table = flexsp::table_of(lengths, ranks, costs);
  std::optional<GroupedBatch> batch = flexsp::shared(table);
  if (!batch)
    throw core::ConfigurationError("lengths",
                                   "no assignment holds the " + std::to_string(flexsp::all_tokens(table)) +
                                       " tokens of the batch on " + std::to_string(ranks) +
                                       " ranks, which have memory for " +
                                       std::to_string(token_capacity(costs.memory, ranks)),
                                   "cut the batch into micro-batches, or allow larger groups");
  return *std::move(batch);
}

std::optional<GroupedBatch> by_one_degree(std::span<const std::int64_t> lengths, std::int64_t ranks,
                                          const GroupCosts& costs) {
  const flexsp::Table table = flexsp::table_of(lengths, ranks, costs);
  const flexsp::Single best = flexsp::best_single(table);
  if (!best.loads) return std::nullopt;
  return flexsp::answer(table, *best.loads, best.bound, best.exact || makespan(table, *best.loads) == best.bound);
}

}  // namespace cairn::sequence
