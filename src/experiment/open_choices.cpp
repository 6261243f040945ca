#include "open_choices.h"

#include <utility>
#include <vector>

#include "cairn/experiment/stage_costs.h"
#include "cairn/pipeline/balanced_split.h"

namespace cairn::experiment {

using core::Picoseconds;

predict::MemoryLimits memory_limits(const Case& asked) {
  const hardware::Accelerator& accelerator = asked.parts.machine.accelerator.value;
  const hardware::Allocator& allocator = asked.parts.software.framework.allocator;
  core::Bytes library = allocator.gemm_workspace.on(accelerator.architecture);
  if (asked.resolved.model.moe) library += allocator.expert_workspace.on(accelerator.architecture);
  return {.allocator = allocator,
          .library_bytes = library.base(),
          .host = asked.parts.machine.cluster.value.host,
          .gpus_per_node = asked.parts.machine.network.gpus_per_node,
          .process_bytes = accelerator.reserved_memory.of_process().base(),
          .capacity_bytes = accelerator.process_memory().base()};
}

void OpenChoices::decide_by_price() {
  if (r_.resolved.strategy.stage_layers.empty()) balance();
  if (r_.resolved.choose_interval) r_.resolved.strategy.device_every = best_interval();
}

const program::Program& OpenChoices::lower() {
  plan::Strategy& strategy = r_.resolved.strategy;
  if (r_.resolved.choose_resident) strategy.offload.resident_units = most_resident();
  const program::Program& program = lowering_.lower(strategy);
  // An order that depends on times is found again with what its passes take.
  if (!orders_by_times()) return program;
  strategy.schedule_options.durations = durations(program, pricing_.analytic, pricing_.prices);
  return lowering_.lower(strategy);
}

bool OpenChoices::orders_by_times() const {
  return (pipeline::generator(r_.resolved.strategy.schedule).options & pipeline::takes::k_durations) != 0;
}

double OpenChoices::memory_floor() { return orders_by_times() ? 0.0 : lowering_.memory_floor(r_.resolved.strategy); }

// Of how many subgroups of parameters one is best updated on the device; 0: none.
std::int64_t OpenChoices::best_interval() {
  constexpr std::int64_t k_most = 12;
  plan::Strategy tried = r_.resolved.strategy;
  std::int64_t best = 0;
  Picoseconds shortest = 0;
  for (std::int64_t every = 0; every <= k_most; ++every) {
    tried.device_every = every;
    const Picoseconds time = predict::step_time(lowering_.lower(tried), pricing_.analytic, pricing_.pricer);
    if (every > 0 && time >= shortest) continue;
    shortest = time;
    best = every;
  }
  return best;
}

// Units whose offloaded parameters find room on the device.
std::int64_t OpenChoices::most_resident() {
  std::int64_t units = 0;
  for (const ir::LayerRun& run : lowering_.model().layers) units += run.count;
  std::int64_t least = 0;
  while (least < units) {
    const std::int64_t middle = (least + units + 1) / 2;
    plan::Strategy tried = r_.resolved.strategy;
    tried.offload.resident_units = middle;
    if (fits(tried))
      least = middle;
    else
      units = middle - 1;
  }
  return least;
}

bool OpenChoices::fits(const plan::Strategy& strategy) {
  try {
    return predict::fits(predict::memory_report(lowering_.lower(strategy), memory_limits(r_)));
  } catch (const core::ConfigurationError&) {
    return false;  // a number of units that this model or schedule cannot take
  }
}

// Time of one micro-batch through one layer, forward and backward, alone on its device.
Picoseconds OpenChoices::layer_time(std::size_t layer_class) {
  return pricing_.analytic.alone(lowering_.forward_block(r_.resolved.strategy, layer_class)) +
         pricing_.analytic.alone(lowering_.backward_block(r_.resolved.strategy, layer_class));
}

void OpenChoices::balance() {
  const ir::Model& model = lowering_.model();
  SplitKey key{.parts = r_.resolved.schedule->chain_length};
  for (const ir::LayerRun& run : model.layers) {
    const auto layer_class = static_cast<std::size_t>(run.layer_class);
    const Picoseconds time = layer_time(layer_class);
    switch (model.classes[layer_class].position) {
      case ir::Position::entry:
        key.first += run.count * time;
        break;
      case ir::Position::body:
        key.body.insert(key.body.end(), static_cast<std::size_t>(run.count), time);
        break;
      case ir::Position::exit:
        key.last += run.count * time;
        break;
    }
  }
  std::vector<std::int64_t>& layers = r_.resolved.strategy.stage_layers;
  if (splits_ != nullptr)
    if (const auto known = splits_->find(key); known != splits_->end()) {
      layers = known->second;
      return;
    }
  const pipeline::Split split = pipeline::balanced_split(key.body, key.parts, {.first = key.first, .last = key.last});
  layers.assign(split.counts.begin(), split.counts.end());
  if (splits_ != nullptr) splits_->emplace(std::move(key), layers);
}

}  // namespace cairn::experiment
