// The step that was predicted, as one rank of a stage executes it, in the form of a measured one: every operator,
// transfer and copy of the simulation with its class, on the stream of the Program that it runs on. Work of the host and
// of drives is none of the device. An operator counts as many kernels as the host launches for it.
#pragma once

#include <cstdint>

#include "cairn/predict/prediction.h"
#include "cairn/profile/step.h"
#include "cairn/program/program.h"

namespace cairn::profile {

// `prediction`: of the event engine, with EventOptions::all_timelines.
Step predicted_step(const program::Program& program, const predict::Prediction& prediction, std::int32_t stage);

}  // namespace cairn::profile
