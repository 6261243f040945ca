// The layers of a virtual stage, lowered: which blocks its passes run, and what its parameters come to.
#pragma once

#include <vector>

#include "layer/layer_cache.h"
#include "recompute_layers.h"
#include "stage_partition.h"
#include "state/stage_parameters.h"

namespace cairn::plan {

struct StageBody {
  std::vector<Stretch> stretches;      // in execution order
  std::vector<RecomputeGroup> groups;  // of the stretches that recompute together, in order
  StageParameters parameters;          // those that the device does not hold already
  LayerBorder below;                   // what arrives; without layers it is what goes on
  LayerBorder above;                   // what goes on
};

struct BodyKey {
  LayerKey layer;
  // A layer that keeps its own output holds the next one's input for it. What leaves the device cannot be shared.
  bool shares_inputs = true;
  friend bool operator==(const BodyKey&, const BodyKey&) = default;
  std::size_t hash() const { return layer.hash(); }
};

// Throws core::ConfigurationError for layers that cannot be split, and for groups that share parameters.
StageBody stage_body(const VirtualStage& stage, const BodyKey& key, LayerCache& layers);

}  // namespace cairn::plan
