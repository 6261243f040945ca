// What evaluation holds without a check of each addition. Evaluators add int64 picoseconds; no path through a step, and
// no sum over part of it, is longer than all its work in a row:
//
//   sum over stages, passes, blocks, steps of ( price + launches x host_per_kernel ) < k_reach
#pragma once

#include "cairn/predict/price/price.h"
#include "cairn/program/program.h"

namespace cairn::predict {

// All work of a block in a row [ps].
double in_a_row(const program::Block& block, const BlockPrices& prices, core::Picoseconds host_per_kernel);

// Throws core::ConfigurationError, naming the work that takes most of it, where the sum above is not so.
void require_reachable(const program::Program& program, PriceTable& prices);
// The same of a sum already made, of a block that stands in it `count` times.
void require_reachable(double total, const program::Block& block, std::int64_t count, PriceTable& prices);

// The account of a step keeps every piece of work of one stage, some 80 bytes each; a timeline to look at keeps those
// of every stage beside it, some 150 bytes each where it is written. Throws core::ConfigurationError where a stage has
// more of them than k_most_recorded, some 2.7 GB, or with all_timelines all stages more than k_most_drawn.
inline constexpr std::int64_t k_most_recorded = std::int64_t{1} << 25;
inline constexpr std::int64_t k_most_drawn = std::int64_t{1} << 23;
void require_recordable(const program::Program& program, bool all_timelines);

}  // namespace cairn::predict
