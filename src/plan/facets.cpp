#include "facets.h"

#include <algorithm>

namespace cairn::plan {

namespace {

// A list of truth values as one number.
template <class... Flags>
std::int64_t flags(Flags... values) {
  std::int64_t result = 0;
  ((result = 2 * result + static_cast<std::int64_t>(values)), ...);
  return result;
}

std::int64_t homes(const Offload& offload) {
  return static_cast<std::int64_t>(offload.optimizer) + 4 * static_cast<std::int64_t>(offload.parameters) +
         16 * static_cast<std::int64_t>(offload.activations);
}

// Copies of both groups' parameters lie on the same stages.
std::int64_t rows(const UnitSettings& settings) { return word_of_rows(settings.copies[ParameterGroup::dense]); }

// What the words of a pass's transfers are about.
enum class Sort : std::int64_t { none = 1, gather, reduce, units, special_units, side };

}  // namespace

FacetTable::Traffic FacetTable::units(const UnitSettings& settings) {
  const Strategy& strategy = *settings.strategy;
  const Offload& offload = strategy.offload;
  return {static_cast<std::int64_t>(Sort::units),
          flags(strategy.reshard_after_forward, settings.reduces_every_pass(), settings.several_under_way,
                strategy.overlap_gradient_reduce, strategy.overlap_parameter_gather, offload.gradients_in_place,
                offload.update_in_backward, strategy.reduce_whole_gradients) +
              256 * static_cast<std::int64_t>(settings.sharding) + 2048 * homes(offload) + 131072 * strategy.prefetch,
          strategy.shard + (offload.resident_units << 32),
          word(settings.copies[ParameterGroup::dense]),
          word(settings.copies[ParameterGroup::expert]),
          bits(strategy.bucket_bytes),
          bits(offload.subgroup_elements),
          offload.device_every,
          rows(settings)};
}

Facets FacetTable::of(const UnitSettings& settings, const Meshes& meshes, LayerCache& layers,
                      const StageMessages& messages, bool shares_parameters, bool side_rows) {
  const Strategy& strategy = *settings.strategy;
  Facets facets;
  LayerCache::Words words = layers.words(strategy, meshes, strategy.recompute);
  words[5] +=
      16 * static_cast<std::int64_t>(strategy.offload.activations);  // 0 to 2; these are not shared with a neighbour
  facets.layers = layers_.of(words);
  facets.messages = messages_.of({flags(true, strategy.host_waits_for_arrival, strategy.scatter_sends,
                                        strategy.overlap_sends, strategy.host_waits_for_computation),
                                  messages.stages_in_domain() > 1 ? word(messages.between(Hop::inside)) : 0,
                                  word(messages.between(Hop::across))});
  const std::int64_t dense = word(settings.copies[ParameterGroup::dense]);
  const std::int64_t expert = word(settings.copies[ParameterGroup::expert]);
  if (settings.apply()) {
    Traffic traffic = units(settings);
    facets.plain = traffic_.of(traffic);
    traffic[0] = static_cast<std::int64_t>(Sort::special_units);
    facets.gather = facets.reduce = traffic_.of(traffic);
  } else {
    facets.plain = facets.gather = facets.reduce = traffic_.of({static_cast<std::int64_t>(Sort::none)});
    if (settings.gathers_in_passes())
      facets.gather = traffic_.of({static_cast<std::int64_t>(Sort::gather), dense, expert, rows(settings)});
    if (settings.reduces_in_passes())
      facets.reduce = traffic_.of({static_cast<std::int64_t>(Sort::reduce), dense, expert, rows(settings),
                                   flags(settings.sharding == Sharding::optimizer, strategy.reduce_whole_gradients),
                                   bits(strategy.bucket_bytes)});
  }
  if (side_rows)
    facets.side = traffic_.of({static_cast<std::int64_t>(Sort::side), facets.plain, dense, expert, strategy.shard,
                               static_cast<std::int64_t>(settings.sharding), rows(settings)});
  facets.ends = ends_.of({dense, expert, rows(settings),
                          static_cast<std::int64_t>(settings.sharding) + 8 * flags(strategy.overlap_gradient_reduce,
                                                                                   strategy.overlap_parameter_gather,
                                                                                   strategy.reduce_whole_gradients),
                          settings.apply() ? facets.plain : 0, settings.apply() ? facets.messages : 0,
                          shares_parameters ? word(meshes.dense.group(Axis::pipeline)) : 0,
                          std::min(strategy.held_results, strategy.micro_batches)});
  return facets;
}

}  // namespace cairn::plan
