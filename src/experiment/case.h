// A job before it is lowered and priced: what was asked, what it applies to, and what follows.
#pragma once

#include "cairn/experiment/experiment.h"
#include "cairn/experiment/parts.h"
#include "cairn/experiment/resolve.h"

namespace cairn::experiment {

struct Case {
  Experiment experiment = {};
  Parts parts = {};
  Resolved resolved = {};
};

}  // namespace cairn::experiment
