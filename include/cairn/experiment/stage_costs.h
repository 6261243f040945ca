// What the stages of an experiment's pipeline cost per micro-batch, taken from its Program and prices.
#pragma once

#include "cairn/pipeline/generators.h"
#include "cairn/pipeline/stage_costs.h"
#include "cairn/predict/evaluate/analytic.h"
#include "cairn/program/program.h"

namespace cairn::experiment {

// A forward or backward costs the sum of its blocks, each alone on idle streams, without the message it sends; the
// delay is the longest such message. What overlaps across blocks is counted in full. Throws core::ConfigurationError
// unless the pipeline has one chunk per device.
pipeline::StageCosts stage_costs(const program::Program& program, predict::Analytic& analytic,
                                 predict::PriceTable& prices);

// What a device's share of the model spends on one micro-batch, the mean over all devices, and the longest message, of
// a lowered plan [ps]: for kinds whose order lists depend on times.
pipeline::Durations durations(const program::Program& program, predict::Analytic& analytic,
                              predict::PriceTable& prices);

}  // namespace cairn::experiment
