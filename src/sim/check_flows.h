// What a caller can get wrong in a FlowProblem.
#pragma once

#include "cairn/sim/flows.h"

namespace cairn::sim {

// Throws core::ConfigurationError with everything that is wrong, apart from cycles and flows that never end.
void check(const FlowProblem& problem);

}  // namespace cairn::sim
