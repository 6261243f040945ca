// The time of an experiment's step, and nothing else of it.
#pragma once

#include "cairn/config/loader.h"
#include "cairn/config/node.h"
#include "cairn/core/time.h"
#include "cairn/predict/prediction.h"

namespace cairn::contrast {

// By the analytic or the event engine. Throws core::ConfigurationError for an experiment that cannot run. [ps]
core::Picoseconds step_time(const config::Node& experiment, const config::Loader& loader, predict::Engine engine);

}  // namespace cairn::contrast
