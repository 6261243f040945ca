// A lower bound for zero-bubble schedules (split backward passes) under a memory limit.
#pragma once

#include <cstdint>

#include "cairn/pipeline/generators.h"

namespace cairn::pipeline {

// Lower bound on the longest time from a device's first start to its last end, one chunk per device, backwards split:
//   m (F+B+W) + max(0, (p-1)(F+B+2c) - (min(limit, m) - 1) F)
// A device is busy m (F+B+W). Between the end of the first device's first forward and its first input gradient passes
// the round trip through the stages behind it, during which it has nothing to run but forwards, of which the limit
// allows limit - 1 more. Attained or not; times as in settings.durations, limit the stages where none is set.
core::Picoseconds span_lower_bound(const Settings& settings);

}  // namespace cairn::pipeline
