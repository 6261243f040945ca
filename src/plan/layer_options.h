// How one layer class is lowered under a strategy.
#pragma once

#include "cairn/plan/layer.h"
#include "cairn/plan/strategy.h"
#include "vocabulary.h"

namespace cairn::plan {

LayerOptions layer_options(const Strategy& strategy, Recompute recompute, const Group& tensor, std::int64_t sequence);
// Adds the axes of the experts' mesh; `domain`: ranks joined by the fastest links, 0: all.
void spread_experts(LayerOptions& options, const Strategy& strategy, std::int64_t domain);

}  // namespace cairn::plan
