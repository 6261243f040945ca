// From the recomputation an experiment asks for to the strategy.
#pragma once

#include "cairn/core/diagnostics.h"
#include "resolve.h"

namespace cairn::experiment {

void resolve_recompute(Resolved& resolved, core::Diagnostics& diagnostics);

}  // namespace cairn::experiment
