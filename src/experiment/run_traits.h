// By which measured runs a case is judged, and what they say of its prediction.
#pragma once

#include "cairn/experiment/interval.h"
#include "case.h"

namespace cairn::experiment {

RunTraits run_traits(const Case& asked);

RunIntervals run_intervals(const Case& asked);

}  // namespace cairn::experiment
