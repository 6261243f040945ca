// Groups of several degrees, from prices to answer: the table of times, assignments over it, and what finds them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cairn/sequence/mixed.h"
#include "mixed_input.h"

namespace cairn::sequence::flexsp {

// Everything that decides an assignment, in integers. Sequences have places k = 0, 1, ..., the longest first; degrees
// have places j, ascending.
struct Table {
  std::int64_t ranks = 0;
  core::Picoseconds fixed = 0;
  std::int64_t pool_capacity = 0;  // tokens of all ranks
  std::vector<std::int64_t> degrees = {};
  std::vector<std::int64_t> capacity = {};  // tokens of a group of degree j
  std::vector<std::int64_t> index = {};     // of sequence k in the batch
  std::vector<std::int64_t> tokens = {};    // of sequence k
  std::vector<core::Picoseconds> times = {};

  std::size_t sequences() const { return tokens.size(); }
  core::Picoseconds time(std::size_t k, std::size_t j) const { return times[k * degrees.size() + j]; }
  bool fits(std::size_t k, std::size_t j) const { return tokens[k] <= capacity[j]; }
  // Rank-seconds.
  Wide work(std::size_t k, std::size_t j) const { return Wide{degrees[j]} * time(k, j); }
};

struct Load {
  std::size_t degree = 0;
  core::Picoseconds time = 0;  // without `fixed`
  std::int64_t tokens = 0;
  std::vector<std::size_t> members = {};
};
using Loads = std::vector<Load>;

inline bool has_room(const Table& table, const Load& load, std::size_t k) {
  return load.tokens + table.tokens[k] <= table.capacity[load.degree];
}
void put(const Table& table, Load& load, std::size_t k);
// Of the longest, with `fixed`.
core::Picoseconds makespan(const Table& table, const Loads& loads);

// The table of the degrees that fit the pool. Throws as share_in_groups().
Table table_of(std::span<const std::int64_t> lengths, std::int64_t ranks, const GroupCosts& costs);
// Of degree j alone; nothing where a sequence does not fit it.
std::optional<Table> single(const Table& table, std::size_t j);

std::int64_t all_tokens(const Table& table);

// The answer; nothing where no assignment was found that memory holds.
std::optional<GroupedBatch> shared(const Table& table);

core::Picoseconds lower_bound(const Table& table);

// Least makespan below that of `incumbent`, by branch and bound; true: there is none below what `incumbent` holds then.
// Does not try above k_most_searched sequences.
bool search(const Table& table, core::Picoseconds bound, std::optional<Loads>& incumbent);

// Of floor(ranks / d) groups of the table's only degree.
std::optional<Loads> share_evenly(const Table& table);
// Shortens `incumbent`, or finds one.
void find_groups(const Table& table, core::Picoseconds bound, std::optional<Loads>& incumbent);
// Moves and swaps sequences out of the longest group until none shortens it.
void relieve(const Table& table, Loads& loads);

}  // namespace cairn::sequence::flexsp
