// How much of the shared units a step used, over time.
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

// Of one unit (a position in Demands::units()) as the ranks of one stage see it: where instances of it differ, of the
// one that is used most; samples of the one of the stage's first rank.
struct UnitUse {
  std::int32_t stage = 0;
  std::uint16_t unit = 0;
  double mean = 0.0;  // over the step: integral of the share / step time
  double peak = 0.0;
  std::vector<UseSample> samples;  // only with EventOptions::all_timelines
};

}  // namespace cairn::predict
