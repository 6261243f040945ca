// Measured runs as software without overheads would run them.
#pragma once

#include <string>
#include <vector>

#include "cairn/config/loader.h"
#include "cairn/config/node.h"

namespace cairn::validation {

struct IdealExperiment {
  std::string libraries = {};  // a release that the calibration knows; empty: its own sets
  config::Node experiment = {};
};

// The experiment under framework `ideal`, once by the own sets of its accelerator's calibration and once by each release
// of libraries there. What the row itself states stays: plan, precision, kernels. Throws core::ConfigurationError for an
// accelerator without a calibration.
std::vector<IdealExperiment> ideal_experiments(const config::Node& experiment, const config::Loader& loader);

}  // namespace cairn::validation
