// A plan in which each layer is shared among the accelerators of its pipeline stage in a way of its own, and its file.
//
//   strategy file, YAML or JSON (`cairn schema layers`); the document of an answer (cairn.layers/1) holds one
//     experiment: llama3-70b-64xdgx-h100     by name, {extends: name, overriding keys}, or whole
//     micro_batches: 16                      of the batch, through all stages
//     stages:                                in the order of the layers; each has as many accelerators
//       - layers: [{count: 1, tp: 8}, {count: 20, tp: 4, sharded: true, recompute: true}]
//
// Layers are counted from the embedding to the head, both among them. Of a stage's D accelerators D / tp take different
// sequences of a micro-batch of the whole stage; neighbours share a layer by tensor parallelism.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cairn/config/fields.h"
#include "cairn/config/loaded.h"
#include "cairn/config/loader.h"
#include "cairn/config/node.h"

namespace cairn::division {

// What may differ from layer to layer. All else is as the experiment says.
struct LayerWay {
  std::int64_t tp = 1;
  bool sharded = false;    // parameters, gradients and optimizer state over the ranks that hold copies: ZeRO 3
  bool recompute = false;  // of layers between embedding and head: all of it runs again in backward
  bool operator==(const LayerWay&) const = default;
};

// Whether both lay parameters out alike, so that layers of one stage that share parameters hold them once.
inline bool stored_alike(const LayerWay& one, const LayerWay& other) {
  return one.tp == other.tp && one.sharded == other.sharded;
}

// Consecutive layers of one way.
struct LayerStretch {
  std::int64_t count = 1;
  LayerWay way = {};
  bool operator==(const LayerStretch&) const = default;
};
void describe(config::Fields& fields, LayerStretch& stretch);

struct LayeredStage {
  std::vector<LayerStretch> layers = {};
};
void describe(config::Fields& fields, LayeredStage& stage);

struct LayeredPlan {
  std::int64_t micro_batches = 1;
  std::vector<LayeredStage> stages = {};
};

// With the experiment that the plan is of.
struct LayeredStrategy {
  config::Node experiment = {};
  LayeredPlan plan = {};
};
void describe(config::Fields& fields, LayeredStrategy& strategy);

// The ways of a stage's layers, stretch by stretch, with equal neighbours joined.
LayeredStage stage_of(const std::vector<LayerWay>& ways);

// Whether a strategy file is one of these; others are of networks (splits/placed_network.h).
bool holds_layers(const config::Node& file);

// `file` as it was loaded. Throws core::ConfigurationError with everything wrong in it.
config::Loaded<LayeredStrategy> read_layered(const config::Node& file);

}  // namespace cairn::division
