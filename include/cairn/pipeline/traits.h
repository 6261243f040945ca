// What a schedule's order lists say about it before any time is known.
#pragma once

#include <cstdint>
#include <vector>

#include "cairn/pipeline/schedule.h"

namespace cairn::pipeline {

// Activations and gradients that leave their device, one per operation that sends; 1f1b sends 2 m (p-1).
std::int64_t messages(const Schedule& schedule);

// Per device: the most updates (optimizer operations) that run there between the forward of a micro-batch and its
// gradient; its gradient is that many updates old. 0 everywhere where a pipeline is emptied before it updates.
std::vector<std::int32_t> gradient_delays(const Schedule& schedule);

// Per device: versions of the weights that micro-batches under way have seen, the latest among them: what a device
// keeps when every gradient is to be taken with the weights of its forward.
std::vector<std::int32_t> weight_versions(const Schedule& schedule);

}  // namespace cairn::pipeline
