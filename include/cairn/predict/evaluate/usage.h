// Utilisation of shared units (links, memory, multiprocessors) over the step; see predict/price/demands.h.
#pragma once

#include <cstdint>
#include <vector>

#include "cairn/core/time.h"

namespace cairn::predict {

// From `time` until the next sample, `share` of the unit was in use.
struct UseSample {
  core::Picoseconds time = 0;
  double share = 0.0;
};

// Utilisation of one unit (a position in Demands::units()) by the ranks of one stage. The ranks may use several
// instances of the unit: mean and peak are of the instance used most, samples of that of the stage's first rank.
struct UnitUse {
  std::int32_t stage = 0;
  std::uint16_t unit = 0;
  double mean = 0.0;  // over the step: integral of the share / step time
  double peak = 0.0;
  std::vector<UseSample> samples;  // only with EventOptions::all_timelines
};

}  // namespace cairn::predict
