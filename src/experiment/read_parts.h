// From the names that an experiment gives to the parts they mean.
#pragma once

#include <string>
#include <vector>

#include "cairn/config/loader.h"
#include "cairn/config/read.h"
#include "cairn/experiment/experiment.h"
#include "cairn/experiment/parts.h"

namespace cairn::experiment {

// What the experiment names, or the default where it names none: a name, {file: name, overriding keys} or a block.
config::Node framework_reference(const Experiment& experiment);
config::Node calibration_reference(const Experiment& experiment, const hardware::Machine& machine);

// Throws core::ConfigurationError with the places of everything wrong. Remarks about the files go to `remarks`.
Parts read_parts(const LoadedExperiment& loaded, const config::Loader& loader, std::vector<std::string>& remarks);

// `error` with the places of its keys.
core::ConfigurationError placed(const core::ConfigurationError& error, const config::Origins& origins);

}  // namespace cairn::experiment
