// Cutting a row of items (layers) into contiguous stages so that the most expensive stage is as cheap as possible.
//
//   minimise   max_k ( sum of costs in part k  +  first_extra if k = 0  +  last_extra if k = parts-1 )
//
// Exact: the bottleneck is found by bisection on its integer value, testing each value by filling parts greedily. Among
// the cuts that attain it, parts are chosen from the first on, each as near as possible to an equal share of what is
// left (ties: the smaller part).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cairn::pipeline {

struct SplitExtras {
  std::int64_t first = 0;  // what only the first part carries (the embedding), >= 0
  std::int64_t last = 0;   // what only the last part carries (the head), >= 0
};

struct Split {
  std::vector<std::int32_t> counts;  // items per part, each >= 1
  std::int64_t bottleneck = 0;       // cost of the most expensive part, extras included
};

// costs >= 0, their sum and the extras below 2^62. O(L + p log L log(sum)). Throws core::ConfigurationError when parts
// < 1 or there are more parts than items.
Split balanced_split(std::span<const std::int64_t> costs, std::int32_t parts, SplitExtras extras = {});

}  // namespace cairn::pipeline
