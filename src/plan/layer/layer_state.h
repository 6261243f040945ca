// What a layer keeps on one rank, independent of any execution: parameters and saved tensors.
#pragma once

#include "kept_tensors.h"

namespace cairn::plan {

LayerState state_of(const RankLayer& layer, const KeptTensors& kept);

}  // namespace cairn::plan
