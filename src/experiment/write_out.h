// From what was resolved back to an experiment that says all of it.
#pragma once

#include "resolve.h"

namespace cairn::experiment {

// `loader`: that by which `resolved` was read.
Experiment write_out(const Resolved& resolved, const config::Loader& loader, Naming naming);

}  // namespace cairn::experiment
