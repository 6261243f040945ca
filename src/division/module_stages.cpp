#include "cairn/division/module_stages.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/division/layer_prices.h"
#include "cairn/partition/balanced_tree.h"
#include "cairn/partition/chain_cut.h"

namespace cairn::division {
namespace {

// Embedding and head with the layers between them in a group, and the place of each in the list of all modules.
struct Tree {
  partition::Module root = {};
  std::vector<std::size_t> places = {};
};

Tree tree_of(const std::vector<ModuleRow>& modules) {
  const auto leaf = [](const ModuleRow& row) {
    return partition::Module{.name = row.name, .time = row.time, .memory = row.memory};
  };
  Tree tree{.root = {.name = "model"}};
  partition::Module layers{.name = "layers"};
  std::size_t place = 1;  // behind the root
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const ModuleRow& module = modules[i];
    if (module.is_layer && (i == 0 || !modules[i - 1].is_layer)) ++place;  // the group comes before what is in it
    tree.places.push_back(place++);
    (module.is_layer ? layers : tree.root).children.push_back(leaf(module));
    if (module.is_layer && (i + 1 == modules.size() || !modules[i + 1].is_layer))
      tree.root.children.push_back(std::move(layers));
  }
  return tree;
}

DeviceLoads loads_of(const std::vector<ModuleRow>& modules, const std::vector<double>& costs, std::int64_t devices,
                     std::int64_t ModuleRow::*device) {
  DeviceLoads result;
  result.loads.resize(static_cast<std::size_t>(devices));
  std::vector<std::int64_t> layers(static_cast<std::size_t>(devices));
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const auto on = static_cast<std::size_t>(modules[i].*device);
    result.loads[on] += costs[i];
    if (modules[i].is_layer) ++layers[on];
  }
  result.most = *std::max_element(result.loads.begin(), result.loads.end());
  if (modules.front().*device == 0 && modules.back().*device == devices - 1)
    result.stages = fmt::format("[{}]", fmt::join(layers, ", "));
  return result;
}

// With what their prices rest on, not shared out yet. Of modules that share parameters the first ones hold them, one on
// each of up to two devices, as the two ends of a pipeline do.
ModuleStages priced_modules(const experiment::Settings& settings, const experiment::Parts& parts,
                            std::int64_t devices) {
  constexpr std::int64_t k_ends = 2;
  std::int64_t copies = 0;
  const experiment::Resolved resolved = experiment::resolve(settings, parts);
  LayerPrices prices(settings, parts);
  const std::vector<LayerCost> costs = prices.costs(resolved);
  const LayerPrices::Layers layers = prices.layers(resolved);
  ModuleStages priced{.assumptions = prices.assumptions(), .warnings = prices.warnings()};
  for (std::size_t i = 0; i < layers.of.size(); ++i) {
    const LayerCost& cost = costs[layers.of[i]];
    const bool held = copies >= std::min(devices, k_ends);
    if (cost.tied > 0) ++copies;
    priced.modules.push_back({.name = layers.name(i),
                              .is_layer = layers.in_body(i),
                              .time = cost.forward + cost.backward,
                              .memory = cost.state - (held ? cost.tied : 0) + cost.saved});
  }
  return priced;
}

}  // namespace

ModuleStages module_stages(const experiment::Settings& settings, const experiment::Parts& parts,
                           const StagesRequest& request) {
  constexpr double k_shares = 1e12;  // of the model, as normalized_costs has them
  ModuleStages result = priced_modules(settings, parts, request.devices);
  const Tree tree = tree_of(result.modules);
  const partition::TreePartition parted =
      partition::partition_tree(tree.root, {.devices = request.devices,
                                            .memory_weight = request.memory_weight,
                                            .unserved = partition::Unserved::device_before});
  const std::vector<std::int64_t> all = partition::normalized_costs(tree.root, request.memory_weight);
  std::vector<std::int64_t> chain;  // of the rows alone: the groups have no cost, and need no device of their own
  for (const std::size_t place : tree.places) chain.push_back(all[place]);
  const std::vector<std::size_t> begins = partition::cut_evenly(chain, request.devices).begins;
  std::vector<double> costs;
  for (std::size_t i = 0; i < result.modules.size(); ++i) {
    const auto after = std::upper_bound(begins.begin(), begins.end(), i);
    result.modules[i].tree_device = parted.device[tree.places[i]];
    result.modules[i].exact_device = after - begins.begin() - 1;
    costs.push_back(static_cast<double>(chain[i]) / k_shares);
  }
  result.tree = loads_of(result.modules, costs, request.devices, &ModuleRow::tree_device);
  result.exact = loads_of(result.modules, costs, request.devices, &ModuleRow::exact_device);
  return result;
}

}  // namespace cairn::division
