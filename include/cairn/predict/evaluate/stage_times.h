// How long each stage takes for itself.
#pragma once

#include <cstdint>
#include <vector>

#include "cairn/predict/evaluate/analytic.h"
#include "cairn/predict/evaluate/timeline.h"

namespace cairn::predict {

// By stage: the end of its last pass less what it awaited messages of other stages; to that of the stage that ends last
// is added what the step takes beyond.
std::vector<core::Picoseconds> stage_times(const PassTimes& passes, const Makespan& makespan);

// The stage with the longest time; on ties the one that ends last, then the lowest.
std::int32_t limiting_stage(const PassTimes& passes, const Makespan& makespan);

}  // namespace cairn::predict
