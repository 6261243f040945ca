// Runs a schedule whose stages take the times of a real model's stages.
//
// Costs are given for p equal shares of the model, one per device, as a density over its depth: a virtual stage that is
// 1/L of the model takes p/L of the cost of the share it lies in. A backward is cut into an input gradient and a weight
// gradient by `input_share`. Kinds whose order depends on times are given the mean of the shares.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cairn/pipeline/exact_run.h"

namespace cairn::pipeline {

struct StageCosts {
  std::vector<core::Picoseconds> forward;   // of a micro-batch, by share
  std::vector<core::Picoseconds> backward;  // whole
  core::Picoseconds delay = 0;              // of a message between neighbours
  double input_share = 0.5;                 // of a backward, in [0, 1]
};

// Results are in picoseconds (a unit is a second). settings.stages equals the number of shares; settings.durations is
// replaced. Throws core::ConfigurationError for settings the kind does not take.
ExactRun run_under(std::string_view kind, const Settings& settings, const StageCosts& costs);

}  // namespace cairn::pipeline
