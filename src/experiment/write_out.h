// From what was resolved back to an experiment that says all of it.
#pragma once

#include "cairn/experiment/job.h"
#include "case.h"

namespace cairn::experiment {

// By what an experiment's parts were read, and from which files.
struct ReadFrom {
  const config::Loader& loader;
  const config::Sources& sources;
};
Experiment write_out(const Case& asked, const ReadFrom& from, Naming naming);
// Of parts that were made in C++: all are laid in.
Experiment write_out(const Case& asked);

}  // namespace cairn::experiment
