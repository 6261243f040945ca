// Activations on a device as time passes, copies to the host included.
//
// A forward acquires its set when it starts; a gradient (which one, `release` says) frees it when it ends. Where the
// set goes to the host in between, the end of the offload frees it and the start of the reload acquires it again. Of
// what happens at one instant, releases come first. Without copies the largest number is that of peak_activations().
#pragma once

#include <cstdint>
#include <vector>

#include "cairn/pipeline/sweep.h"

namespace cairn::pipeline {

// The most sets alive at once, per device.
std::vector<std::int32_t> peak_residency(const Schedule& schedule, const SweepOrder& order, const SweepResult& result,
                                         Release release);

}  // namespace cairn::pipeline
