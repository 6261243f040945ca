// The output layer split over all devices of a pipeline by its vocabulary.
#pragma once

#include "cairn/pipeline/generators.h"
#include "cairn/pipeline/schedule.h"

namespace cairn::pipeline {

// Throws core::ConfigurationError for schedules with more than one chunk per device.
Schedule with_vocabulary(const Schedule& schedule, const Settings& settings);

}  // namespace cairn::pipeline
