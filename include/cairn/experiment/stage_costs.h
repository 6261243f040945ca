// Times of an experiment's pipeline stages per micro-batch, from its Program and prices, for `cairn schedule`.
#pragma once

#include "cairn/pipeline/generators.h"
#include "cairn/pipeline/stage_costs.h"
#include "cairn/predict/evaluate/analytic.h"
#include "cairn/program/program.h"

namespace cairn::experiment {

// By stage [ps]:  forward, backward = sum over the pass's blocks of Analytic::alone(block) - its message;  delay = the
// longest message. Overlap between blocks is not seen: such time counts in full. Throws core::ConfigurationError unless
// the pipeline has one chunk per device.
pipeline::StageCosts stage_costs(const program::Program& program, predict::Analytic& analytic,
                                 predict::PriceTable& prices);

// The same as means over all devices, of one micro-batch on 1/stages of the model [ps]: input for the schedule kinds
// whose order lists depend on times.
pipeline::Durations durations(const program::Program& program, predict::Analytic& analytic,
                              predict::PriceTable& prices);

}  // namespace cairn::experiment
