// What a search that chooses the plan keeps of an experiment, apart from the plan that its strategy is: only that has
// to be right.
#pragma once

#include <cstdint>

#include "cairn/experiment/settings.h"

namespace cairn::division {

// The settings with the plainest plan of so many accelerators: each holds a copy of the model, nothing is sharded or
// recomputed, and a step is one micro-batch of strategy.micro_batch sequences on each. It is a plan whatever degrees,
// numbers of micro-batches, layers of stages, shards and recomputation the experiment's own strategy has; all else is
// as the experiment says, but for the batch (experiment::sequences_per_step).
experiment::Settings with_plain_plan(const experiment::Settings& settings, std::int64_t accelerators);

}  // namespace cairn::division
