// Tiles of ranks in a line that meet each other's blocks one by one, as in rings.
#pragma once

#include <cstdint>
#include <optional>

#include "families.h"

namespace cairn::sequence {

// What the queries that one rank owns and the keys that another owns have to do with each other.
struct Visit {
  Tokens queries = {};
  Tokens keys = {};
};

// Under a causal mask, nothing where the keys are of a later rank in a contiguous layout. In a zigzag one, one of the two
// sides is a single chunk: of an earlier rank's keys only the first chunk is seen, and only the second chunk of the
// queries sees those of a later rank. What is left needs no mask, and is the same work for every two ranks.
std::optional<Visit> visit(const Problem& problem, const Grid& grid, std::int64_t query_owner, std::int64_t key_owner);

}  // namespace cairn::sequence
