// The layers of a virtual stage, lowered: which blocks its passes run, and what its parameters come to.
#pragma once

#include <vector>

#include "layer_cache.h"
#include "recompute_layers.h"
#include "stage_parameters.h"
#include "stage_partition.h"

namespace cairn::plan {

struct StageBody {
  std::vector<Stretch> stretches;      // in execution order
  std::vector<RecomputeGroup> groups;  // of the stretches that recompute together, in order
  StageParameters parameters;          // those that the device does not hold already
  LayerBorder below;                   // what arrives; without layers it is what goes on
  LayerBorder above;                   // what goes on
};

// Throws core::ConfigurationError for layers that cannot be split, and for groups that share parameters.
StageBody stage_body(const VirtualStage& stage, const Strategy& strategy, const Meshes& meshes, LayerCache& layers);

}  // namespace cairn::plan
