// Sets of token positions as runs, in the order in which a rank has them in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "cairn/sequence/problem.h"

namespace cairn::sequence {

// Positions first, first + stride, ...; `count` of them. stride >= 1.
struct TokenRun {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t stride = 1;
  friend bool operator==(const TokenRun&, const TokenRun&) = default;
};
using Tokens = boost::container::small_vector<TokenRun, 2>;

std::int64_t count(const Tokens& tokens);
// The position of token i of the set; all positions, in its order.
std::int64_t position(const Tokens& tokens, std::int64_t index);
std::vector<std::int64_t> positions(const Tokens& tokens);
// Tokens [begin, end) of the set, in its order.
Tokens slice(const Tokens& tokens, std::int64_t begin, std::int64_t end);
// One set behind the other; runs that continue each other become one (a run of one token has the stride of its
// neighbour).
Tokens joined(const Tokens& first, const Tokens& second);
// Positions that are in both sets, neither of which has one twice. O(runs^2).
std::int64_t common(const Tokens& first, const Tokens& second);

// Pairs (query, key) that the mask leaves, of one sequence and head.
// Model: pairs of runs of one document are |{(i, j) : q + s i >= k + t j}|, points of a guarded domain (loopnest).
// O(runs^2), and so for each document that both sets meet. Valid: strides < 2^31.
std::int64_t pairs(const Problem& problem, const Tokens& queries, const Tokens& keys);

// The mask as a kernel that knows queries and keys by their place in memory would state it: place i of the queries sees
// place j of the keys where i + offset >= j. `offset` is count(keys) - 1 where nothing is masked, -count(queries) where
// all is, and otherwise the least that gives the mask. Nothing where no offset gives the mask that the positions give.
// Model: an offset does where max { j - i : visible } <= offset < min { j - i : masked }. Both ends are found in closed
// form for each pair of runs (and of documents in them), so the answer is exact.
std::optional<std::int64_t> local_offset(const Problem& problem, const Tokens& queries, const Tokens& keys);

}  // namespace cairn::sequence
