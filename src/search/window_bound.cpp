#include "cairn/search/window_bound.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "cairn/pipeline/generators.h"

namespace cairn::search {
namespace {

using core::Picoseconds;
using experiment::LayerFloor;

// Layers and micro-batches may add up to more than simulated time reaches.
__extension__ using Wide = __int128;
Picoseconds within_reach(Wide time) { return static_cast<Picoseconds>(std::min<Wide>(time, core::k_reach)); }

struct WideFloor {
  Wide forward = 0;
  Wide backward = 0;
};

// Of one virtual stage.
struct StageFloor {
  WideFloor sum;
  LayerFloor largest;

  void add(const LayerFloor& layer) {
    sum.forward += layer.forward;
    sum.backward += layer.backward;
    largest.forward = std::max(largest.forward, layer.forward);
    largest.backward = std::max(largest.backward, layer.backward);
  }
};

std::vector<StageFloor> stage_floors(const ir::Model& model, std::span<const LayerFloor> floors,
                                     std::span<const std::int64_t> stage_layers) {
  std::vector<StageFloor> stages(stage_layers.size());
  std::size_t stage = 0;
  std::int64_t room = stage_layers.front();
  for (const ir::LayerRun& run : model.layers) {
    const auto layer_class = static_cast<std::size_t>(run.layer_class);
    const ir::Position position = model.classes[layer_class].position;
    for (std::int64_t i = 0; i < run.count; ++i) {
      if (position == ir::Position::entry) {
        stages.front().add(floors[layer_class]);
      } else if (position == ir::Position::exit) {
        stages.back().add(floors[layer_class]);
      } else {
        while (room == 0 && stage + 1 < stages.size()) room = stage_layers[++stage];
        --room;
        stages[stage].add(floors[layer_class]);
      }
    }
  }
  return stages;
}

}  // namespace

Picoseconds window_bound(const ir::Model& model, std::span<const LayerFloor> floors, const pipeline::Schedule& schedule,
                         std::span<const std::int64_t> stage_layers) {
  const bool whole = !pipeline::generator(schedule.kind).splits && schedule.weight_copies() == 1 &&
                     schedule.side_rows.empty() && schedule.waits.empty() && schedule.pieces == 1;
  if (!whole || static_cast<std::size_t>(schedule.chain_length) != stage_layers.size()) return 0;
  const std::vector<StageFloor> stages = stage_floors(model, floors, stage_layers);
  // What passes before a micro-batch reaches a stage, and after its gradient has left it.
  std::vector<WideFloor> before(stages.size());
  for (std::size_t s = 1; s < stages.size(); ++s)
    before[s] = {.forward = before[s - 1].forward + stages[s - 1].sum.forward - stages[s - 1].largest.forward,
                 .backward = before[s - 1].backward + stages[s - 1].sum.backward - stages[s - 1].largest.backward};
  Wide longest = 0;
  for (std::int32_t device = 0; device < schedule.stages; ++device) {
    const auto row = schedule.row(device);
    const auto stage_of = [&](const pipeline::Operation& operation) {
      return static_cast<std::size_t>(schedule.virtual_stage(device, operation.chunk));
    };
    Wide time = 0;
    for (std::int32_t chunk = 0; chunk < schedule.chunks; ++chunk) {
      const WideFloor& sum = stages[static_cast<std::size_t>(schedule.virtual_stage(device, chunk))].sum;
      time += schedule.micro_batches * (sum.forward + sum.backward);
    }
    if (row.front().phase == pipeline::Phase::forward) time += before[stage_of(row.front())].forward;
    if (row.back().phase == pipeline::Phase::backward) time += before[stage_of(row.back())].backward;
    longest = std::max(longest, time);
  }
  return within_reach(longest);
}

Picoseconds work_bound(const ir::Model& model, std::span<const LayerFloor> floors, std::string_view schedule,
                       std::int64_t micro_batches, std::int64_t devices) {
  if (pipeline::generator(schedule).splits) return 0;
  Wide all = 0;
  for (const ir::LayerRun& run : model.layers) {
    const LayerFloor& layer = floors[static_cast<std::size_t>(run.layer_class)];
    all += run.count * (static_cast<Wide>(layer.forward) + layer.backward);
  }
  return within_reach(micro_batches * all / devices);
}

}  // namespace cairn::search
