// A chain of costs cut into consecutive parts so that the largest part is as small as it can be.
//
//   M* = min over 0 = b_0 <= b_1 <= ... <= b_P = n of max over parts p of cost[b_p] + ... + cost[b_{p+1} - 1]
//
// Exact: a chain fits in P parts of at most M each if and only if parts that are filled one after another, each as far
// as M allows, are P at most; whole costs leave a finite number of M to bisect. Time: P log(n) log(sum).
// Example: 4 1 3 2 in two parts is 4 1 | 3 2, M* = 5.
// Source: A. Pinar, C. Aykanat, "Fast optimal load balancing algorithms for 1D partitioning", JPDC 64 (2004).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace cairn::partition {

// Sums of costs stay below this, so that a few of them can be added.
inline constexpr std::int64_t k_most_cost = std::numeric_limits<std::int64_t>::max() / 4;
inline constexpr std::int64_t k_most_parts = 1'000'000;

struct ChainCut {
  std::vector<std::size_t> begins;  // of every part, ascending; part p ends where part p + 1 begins, the last at n
  std::int64_t most = 0;            // M*
};

// Early parts are filled as far as M* allows; none is empty unless there are more parts than costs, of which the last
// ones are empty then.
// Errors: ConfigurationError, key "parts" outside 1..k_most_parts, "costs" for a cost below 0 or a sum above
// k_most_cost.
ChainCut cut_chain(std::span<const std::int64_t> costs, std::int64_t parts);

// Of the cuts with that M* and without empty parts one of the most even: the least sum of squares of the parts. Of
// 5 1 1 1 1 1 in three parts, where M* = 5, cut_chain has 5 | 1 1 1 1 | 1, and this 5 | 1 1 1 | 1 1. With more parts than
// costs the last ones are empty. Of several such cuts the earlier parts are the longer ones. Time and memory: n^2 where
// costs are alike, n^2 P and n P at most. Errors: as cut_chain.
ChainCut cut_evenly(std::span<const std::int64_t> costs, std::int64_t parts);

// The sum of costs that were checked as cut_chain checks them.
std::int64_t checked_sum(std::span<const std::int64_t> costs);

}  // namespace cairn::partition
