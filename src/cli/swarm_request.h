// The words of `cairn schedule swarm` as a request, and refusing them where another kind is asked for.
#pragma once

#include "arguments.h"
#include "cairn/swarm/answer.h"

namespace cairn::cli {

// Throws core::ConfigurationError for options that cannot be read and for those of other kinds.
swarm::Request swarm_request(const ScheduleArguments& arguments);

// Throws core::ConfigurationError where an option of swarm is given.
void refuse_swarm_options(const ScheduleArguments& arguments);

}  // namespace cairn::cli
