// The assumptions of a prediction, and alternatives to them whose effect on the step time can be predicted.
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

// The alternatives that the engine can predict:
//   contention and interference switched on, where they are off;
//   links that were never measured at 0.8 and 1.0 of their stated bandwidth, where the plan uses any;
//   another attention kernel for which the accelerator's calibration has measurements.
std::vector<Alternative> alternatives(const Case& asked, const predict::CostPricer& pricer, predict::Engine engine);

}  // namespace cairn::experiment
