// What follows from a rank's list: bytes, messages, pairs, memory.
#pragma once

#include <cstdint>

#include "cairn/sequence/list.h"

namespace cairn::sequence {

// [B], of all sequences.
std::int64_t bytes_sent(const Problem& problem, const RankList& list);
std::int64_t bytes_received(const Problem& problem, const RankList& list);
std::int64_t bytes_sent(const Problem& problem, const Call& call);
std::int64_t bytes_received(const Problem& problem, const Call& call);
// Pairs of queries and keys under the mask, of all sequences and heads.
std::int64_t pairs(const Problem& problem, const RankList& list);
// Elements of results that a tile leaves, of all sequences: of O of its queries, or of dQ of these and of dK, dV of its
// keys. Of a list those that are joined to parts which earlier tiles left (Tile::joins).
std::int64_t joined_elements(const Problem& problem, const Tile& tile, Pass pass);
std::int64_t joined_elements(const Problem& problem, const RankList& list, Pass pass);
// Most bytes of received operands and of travelling parts that a rank holds at once, beside what it owns, each as large
// as it is sent [B]. Each tensor of a message is held
//   as an operand   from the begin of the call that brings it to the end of the last stage whose tiles read it, or of
//                   the last call that sends it on; what arrives once more is read from the last arrival
//   as a result     from the begin of the call that brings it to its end, when it joins what the rank has; what a call
//                   sends, from the first stage that adds to it or behind which it arrived, to the end of that call
// A result that stays is what the rank owns (or keeps), and is not counted.
// Example: ring of 3 ranks forward, K, V of c bytes each. While the tile of stage 1 reads what came in stage 0 and it
// is sent on, the next K, V come in: 4 c. Time: in proportion to the square of messages and tiles.
std::int64_t buffer_bytes(const Problem& problem, const RankList& list);

}  // namespace cairn::sequence
