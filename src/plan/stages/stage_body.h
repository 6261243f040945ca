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
  LayerBorder below;                   // what the virtual stage receives; without layers the same as `above`
  LayerBorder above;                   // what it sends on
};

struct BodyKey {
  LayerKey layer;
  // A layer that saves its own output thereby saves the input of the next one. Offloaded activations are not shared.
  bool shares_inputs = true;
  friend bool operator==(const BodyKey&, const BodyKey&) = default;
  std::size_t hash() const { return layer.hash(); }
};

// Throws core::ConfigurationError for layers that cannot be split, and for groups that share parameters.
StageBody stage_body(const VirtualStage& stage, const BodyKey& key, LayerCache& layers);

}  // namespace cairn::plan
