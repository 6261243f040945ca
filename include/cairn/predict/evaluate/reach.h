// Checks before evaluation that no time can overflow, so that evaluators need not check each addition of int64
// picoseconds: no path through a step, and no sum over part of it, is longer than all its work one after the other:
//
//   sum over stages, passes, blocks, steps of ( price + launches x host_per_kernel ) < k_reach
#pragma once

#include "cairn/predict/price/price.h"
#include "cairn/program/program.h"

namespace cairn::predict {

// The sum over one block [ps].
double in_a_row(const program::Block& block, const BlockPrices& prices, core::Picoseconds host_per_kernel);

// Throws core::ConfigurationError, naming the longest work, where the sum is not below k_reach.
void require_reachable(const program::Program& program, PriceTable& prices);
// The same for a sum that is already known; the error names work of `block`, which counts in it `count` times.
void require_reachable(double total, const program::Block& block, std::int64_t count, PriceTable& prices);

// How many pieces of work the step has, of all stages.
std::int64_t pieces_of_work(const program::Program& program);

// Checks the memory and time of recording. Attribution records every piece of work of two stages, in 16 bytes and some
// 60 ns each; a timeline file needs those of all stages, some 150 bytes each. Throws core::ConfigurationError where a
// stage has more than k_most_recorded or, with all_timelines, all stages together have more than k_most_drawn.
inline constexpr std::int64_t k_most_recorded = std::int64_t{1} << 24;
inline constexpr std::int64_t k_most_drawn = std::int64_t{1} << 23;
void require_recordable(const program::Program& program, bool all_timelines);

}  // namespace cairn::predict
