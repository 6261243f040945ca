// A split of heads around any family. u ranks that own neighbouring pieces of what one of the family's ranks owns
// exchange tokens for heads (all-to-all), each runs the family for heads / u, and tokens and heads are exchanged back.
// Forward Q, K, V go in and O comes out; backward dO goes in and dQ, dK, dV come out, since Q, K, V, O and log-sum-exp
// stay by heads where the forward pass left them.
//
//   received per rank in each pass, b sequences, [elements]
//     b n (h_q d + h_kv d + h_kv d_v + h_q d_v) (u-1) / (p u)
//   where u > h_kv every rank holds one key head, and K, V, dK and dV count u / h_kv times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "families.h"

namespace cairn::sequence {

// What no split of heads can do, in words; nothing where it can.
std::optional<std::string> refuses_heads(const Problem& problem, const Grid& grid);

Tokens owned_of_split(const Family& family, const Problem& problem, const Grid& grid, std::int64_t rank);
RankList list_of_split(const Family& family, const Problem& problem, const Grid& grid, Pass pass, std::int64_t rank);
Parcel kept_of_split(const Family& family, const Problem& problem, const Grid& grid, std::int64_t rank);

}  // namespace cairn::sequence
