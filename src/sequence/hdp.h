// Waves of groups, from prices to answer: the pool, what is in its waves, and what fills them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cairn/sequence/mixed.h"
#include "mixed_input.h"

namespace cairn::sequence::hdp {

struct Item {
  std::int64_t index = 0;  // in the batch
  std::int64_t tokens = 0;
  std::int64_t ranks = 1;      // of its group
  core::Picoseconds time = 0;  // there, without `fixed`
};

struct Pool {
  std::int64_t ranks = 0;
  std::int64_t tokens_per_rank = 0;
  core::Picoseconds fixed = 0;
  std::vector<Item> items = {};  // longest time first, equal ones by index
};

struct Group {
  std::int64_t ranks = 1;
  std::int64_t tokens = 0;
  core::Picoseconds time = 0;
  std::vector<std::size_t> members = {};  // places among the items
};

struct Wave {
  std::int64_t ranks = 0;  // of its groups
  core::Picoseconds time = 0;
  std::vector<Group> groups = {};
};
using Waves = std::vector<Wave>;

inline bool has_room(const Pool& pool, const Group& group, const Item& item) {
  return group.ranks == item.ranks && Wide{group.tokens} + item.tokens <= Wide{pool.tokens_per_rank} * group.ranks;
}
void put(const Pool& pool, Group& group, std::size_t k);
core::Picoseconds total(const Pool& pool, const Waves& waves);

core::Picoseconds lower_bound(const Pool& pool);
// Least total below that of `incumbent`, by branch and bound; true: there is none below what `incumbent` holds then.
// Does not try above k_most_searched sequences.
bool search(const Pool& pool, core::Picoseconds bound, Waves& incumbent);
Waves fill(const Pool& pool);

}  // namespace cairn::sequence::hdp
