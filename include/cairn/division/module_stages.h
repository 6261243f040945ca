// The layers of an experiment's model as stages of a pipeline: by SageMaker's automated partition of a tree of modules
// (partition/balanced_tree.h), beside the best of all cuts into consecutive parts, of several the most even
// (partition/chain_cut.h).
//
//   model { embedding, layers { layer 1, layer 2, ... }, head }
//
// A layer's time is that of one micro-batch, forward and backward, and its memory the state that a device holds of it
// with what one micro-batch keeps, both under the experiment's strategy (division/layer_prices.h); groups have none of
// their own. Parameters that embedding and head share are the embedding's on one device, and a copy's on either end of
// several. A segment without a device goes to the last device of the segment before it, so that a stage's layers
// follow one another and no partition is below the exact cut. Of more devices than modules the exact cut leaves the
// last ones empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cairn/core/time.h"
#include "cairn/experiment/parts.h"
#include "cairn/experiment/settings.h"

namespace cairn::division {

inline constexpr double k_usual_memory_weight = 0.2;

struct StagesRequest {
  std::int64_t devices = 1;
  double memory_weight = k_usual_memory_weight;  // of a module's memory beside its time, 0..1
};

struct ModuleRow {
  std::string name;
  bool is_layer = false;  // of the body; else embedding, head, or a module beside the head
  core::Picoseconds time = 0;
  std::int64_t memory = 0;  // bytes
  std::int64_t tree_device = 0;
  std::int64_t exact_device = 0;
};

// Modules over devices in one way.
struct DeviceLoads {
  std::vector<double> loads = {};  // of each device, as a share of the model
  double most = 0.0;
  std::optional<std::string> stages = {};  // as strategy.stages has it; none where embedding or head would move
};

struct ModuleStages {
  std::vector<ModuleRow> modules = {};  // embedding, layers and head in order
  DeviceLoads tree = {};
  DeviceLoads exact = {};
  std::vector<std::string> assumptions = {};  // that prices rest on
  std::vector<std::string> warnings = {};     // what lies beyond what was measured
};

// Errors: core::ConfigurationError where the settings contradict the parts, and at `devices` and `memory_weight` as
// partition_tree has them.
ModuleStages module_stages(const experiment::Settings& settings, const experiment::Parts& parts,
                           const StagesRequest& request);

}  // namespace cairn::division
