// Finds where a sweep order repeats itself.
#pragma once

#include <span>
#include <vector>

#include "cairn/pipeline/sweep.h"

namespace cairn::pipeline {

// Disjoint and ascending; only stretches of several periods, which are worth watching for a steady state.
std::vector<Repetition> find_repetitions(std::span<const SweepStep> steps);

}  // namespace cairn::pipeline
