// Cutting a row of items (layers) into contiguous stages so that the most expensive stage is as cheap as possible.
//
//   minimise   max_k ( sum of costs in part k  +  first_extra if k = 0  +  last_extra if k = parts-1 )
//
// Exact: the bottleneck is found by bisection on its integer value, testing each value by filling parts greedily. Among
// the cuts that attain it, parts are chosen from the first on, each as near as possible to an equal share of what is
// left (ties: the smaller part). A part holds one item or more; the first and the last may hold none where they carry
// something of their own (the embedding or the head alone).
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
  std::vector<std::int32_t> counts;  // items per part
  std::int64_t bottleneck = 0;       // cost of the most expensive part, extras included
};

// costs >= 0, their sum and the extras below 2^62. O(L + p log L log(sum)). Throws core::ConfigurationError when parts
// < 1 or more parts must hold an item than there are items.
Split balanced_split(std::span<const std::int64_t> costs, std::int32_t parts, SplitExtras extras = {});

// How a model is cut by frameworks that fill stages in turn, layer by layer, each until the cost of all layers so far
// passes its share of the whole (head included):
//
//   stage k ends with the first layer i for which  c_0 + ... + c_i  >  (k + 1)/p (sum of costs + extras.last)
//
// Layers and head that are left when all stages but the last are full belong to the last. Where the layers end before
// the stages do, the head and the last of them share a stage, and stages behind it would hold nothing: here they hold
// one layer each, taken from the last of the stages that hold most (of the last stage where none holds more than one),
// so that the first stages, which hold the most micro-batches, keep what they have; and the last one what the head
// shares a stage with. Returns items per part, each >= 1 but that of the last, which may be
// 0 beside a head. Errors as above. extras.first counts nowhere.
std::vector<std::int32_t> filled_split(std::span<const std::int64_t> costs, std::int32_t parts,
                                       SplitExtras extras = {});

}  // namespace cairn::pipeline
