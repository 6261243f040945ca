// How long each stage would take if it never waited for another one: the longest limits the pipeline.
#pragma once

#include <cstdint>
#include <vector>

#include "cairn/predict/evaluate/analytic.h"
#include "cairn/predict/evaluate/timeline.h"

namespace cairn::predict {

// By stage [ps]:  end of its last pass - sum over passes of max(0, arrival of its message - end of the pass before);
// on the stage that ends last plus  makespan - end of its last pass, for transfers that still run then.
std::vector<core::Picoseconds> stage_times(const PassTimes& passes, const Makespan& makespan);

// The stage with the longest time; on ties the one that ends last, then the lowest.
std::int32_t limiting_stage(const PassTimes& passes, const Makespan& makespan);

}  // namespace cairn::predict
