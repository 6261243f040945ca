// What a prediction takes for granted, and what it would be otherwise.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cairn/predict/prediction.h"
#include "cairn/predict/price/cost_pricer.h"
#include "case.h"

namespace cairn::experiment {

// Sorted sentences about a job that was priced by `pricer`.
std::vector<std::string> assumptions(const Case& asked, predict::CostPricer& pricer, predict::Engine engine);

// Another reading of something uncertain.
struct Alternative {
  std::string text;  // after "if"
  std::function<void(Case&)> apply;
};

// What the engine can tell of:
//   transfers that share links, or the device with kernels, where they do not yet;
//   links that were never measured at 0.8 and 1.0 of their stated bandwidth, where the plan uses any;
//   another attention kernel that the accelerator's calibration holds.
std::vector<Alternative> alternatives(const Case& asked, const predict::CostPricer& pricer, predict::Engine engine);

}  // namespace cairn::experiment
