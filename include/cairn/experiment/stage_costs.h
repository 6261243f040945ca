// What the stages of an experiment's pipeline cost per micro-batch, taken from its Program and prices.
#pragma once

#include "cairn/experiment/job.h"
#include "cairn/pipeline/stage_costs.h"

namespace cairn::experiment {

// A forward or backward costs the sum of its blocks, each alone on idle streams, without the message it sends; the
// delay is the longest such message. What overlaps across blocks is counted in full. Throws core::ConfigurationError
// unless the experiment has a pipeline of one chunk per device.
pipeline::StageCosts stage_costs(Job& job);

}  // namespace cairn::experiment
