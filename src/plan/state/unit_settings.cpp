#include "unit_settings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"

namespace cairn::plan {

std::size_t UnitSettings::hash() const {
  core::Hash hash;
  add(hash, copies);
  add(hash, shards);
  hash.add(overlap_gradient_reduce).add(overlap_parameter_gather);
  hash.add(static_cast<std::uint8_t>(body_gathered)).add(static_cast<std::uint8_t>(root_gathered));
  hash.add(static_cast<std::uint8_t>(sharding)).add(prefetch).add(offload.resident_units);
  hash.add(static_cast<std::uint8_t>(offload.optimizer))
      .add(static_cast<std::uint8_t>(offload.parameters))
      .add(static_cast<std::uint8_t>(offload.activations));
  add(hash, bucket_bytes);
  return hash.value();
}

Group shards(const Group& copies, std::int64_t shard) {
  if (shard == 0 || copies.size == 1) return copies;
  if (copies.size % shard != 0)
    throw core::ConfigurationError("strategy.zero.shard",
                                   fmt::format("{} does not divide the {} ranks that hold copies", shard, copies.size),
                                   fmt::format("choose a divisor of {}", copies.size));
  const std::int64_t in_row = std::gcd(shard, copies.in_row());
  return {.axis = copies.axis, .size = shard, .stride = copies.stride, .rows = shard / in_row, .apart = copies.apart};
}

Group replicas(const Group& copies, std::int64_t shard) {
  if (shard == 0 || copies.size == 1) return {.axis = copies.axis, .size = 1, .stride = copies.stride};
  const std::int64_t in_row = std::gcd(shard, copies.in_row());
  const std::int64_t rows = shard / in_row;
  return {.axis = copies.axis,
          .size = copies.size / shard,
          .stride = copies.stride * in_row,
          .rows = copies.rows / rows,
          .apart = copies.apart * rows};
}

namespace {

void check_units(const Strategy& strategy, Sharding sharding) {
  const auto wrong = [](const char* key, std::string message, std::string hint) {
    return core::ConfigurationError(std::string("strategy.zero.") + key, std::move(message), std::move(hint));
  };
  const Offload& offload = strategy.offload;
  const bool parameters_off = offload.parameters != Home::device;
  if (strategy.prefetch < 0 || strategy.prefetch > 2)
    throw wrong("prefetch", fmt::format("{} units ahead", strategy.prefetch), "use 0, 1 or 2");
  if (strategy.shard != 0 && sharding == Sharding::nothing)
    throw wrong("shard", "nothing is sharded", "use stage 1, 2 or 3, or leave shard out");
  if (parameters_off && (sharding == Sharding::optimizer || sharding == Sharding::gradients))
    throw wrong("offload.parameters", "whole parameters off the device beside a sharded optimizer",
                "use stage 3, or 0");
  if (parameters_off && !strategy.reshard_after_forward)
    throw wrong("reshard_after_forward", "offloaded parameters are always given up after forward", "leave it true");
  if (offload.update_in_backward && offload.optimizer == Home::device)
    throw wrong("offload.optimizer", "an update beside the backward pass is the host's",
                "offload the optimizer to host or nvme");
  if (offload.resident_units > 0 && strategy.pipeline * strategy.chunks > 1)
    throw wrong("offload.resident", "parameters that stay on the device are not modelled with pipeline stages",
                "use pp: 1 without chunks");
  if (strategy.subgroup_elements < 1.0)
    throw wrong("offload.subgroup", "a subgroup holds at least one parameter", "use 100e6");
}

}  // namespace

bool UnitSettings::copied() const {
  const auto more = [](const Group& ranks) { return ranks.size > 1; };
  return std::any_of(shards.begin(), shards.end(), more) || std::any_of(replicas.begin(), replicas.end(), more);
}
bool UnitSettings::parameters_move() const {
  return sharding == Sharding::parameters || offload.parameters != Home::device;
}
bool UnitSettings::reduces_every_pass() const {
  return shards_gradients() && (copied() || offload.optimizer != Home::device) && reduces_every_micro_batch;
}
bool UnitSettings::reduces_in_passes() const {
  if (sharding == Sharding::by_schedule) return false;
  if (copied()) return shards_gradients() || overlap_gradient_reduce;
  return offload.optimizer != Home::device;
}
bool UnitSettings::gathers_in_passes() const {
  return copied() && sharding == Sharding::optimizer && overlap_parameter_gather;
}
bool UnitSettings::gradients_pass_through(ParameterGroup group) const {
  if (sharding == Sharding::by_schedule) return shards[group].size > 1;
  return reduces_every_pass() && (shards[group].size > 1 || offload.optimizer != Home::device);
}

std::vector<ir::Shard> UnitSettings::gather_kernels(const PerGroup<double>& elements) const {
  std::vector<ir::Shard> gather;
  const auto add = [&gather](const ir::Graph& graph, double count) {
    const loopnest::Interval all{0, static_cast<std::int64_t>(std::ceil(count))};
    for (const ir::Operator& op : graph.operators()) gather.push_back({.op = &op, .graph = &graph, .box = {all}});
  };
  for (const ParameterGroup group : k_all_parameter_groups) {
    const Group& ranks = shards[group];
    // Who copies what comes copies it from a gather of one rank, too.
    const bool gathers = ranks.size > 1 || behaviour->copies_gathered;
    if (!keeps_shards() || !gathers || elements[group] <= 0.0) continue;
    add(kernels->gather.of_shard, elements[group] / static_cast<double>(ranks.size));
    add(kernels->gather.of_all, elements[group]);
  }
  return gather;
}

double UnitSettings::held_buckets() const {
  if (!behaviour->holds_buckets || sharding == Sharding::nothing || sharding == Sharding::by_schedule) return 0.0;
  const bool in_turns = overlap_gradient_reduce && sharding != Sharding::parameters;
  return bucket_bytes * (in_turns ? 2.0 : 1.0);
}

double UnitSettings::offloaded_gradient_bytes() const {
  const bool widens = treatment->step_end.gradient_copy && treatment->master;
  return numerics::bytes_per_element(widens ? *treatment->master : treatment->gradients);
}

double UnitSettings::reduced_copy_bytes() const {
  return reduces_to_shards() && behaviour->pads_gradients ? numerics::bytes_per_element(treatment->reduce) : 0.0;
}

GradientSync UnitSettings::sync(bool last) const {
  const bool whole = sharding == Sharding::nothing || (behaviour->reduce_whole_gradients && !keeps_shards());
  GradientSync sync{.collective = whole ? Collective::all_reduce : Collective::reduce_scatter,
                    .copies = shards,
                    .bytes_per_element = numerics::bytes_per_element(treatment->reduce),
                    .bucket_bytes = keeps_shards() ? std::numeric_limits<double>::max() : bucket_bytes,
                    .carried_elements = {},
                    .hold = {},
                    .replicas = replicas,
                    .waits = !overlap_gradient_reduce && copied(),
                    .held_bytes = 0.0,
                    .in_flight = {},
                    .onward = {}};
  if (reduces_every_pass() && !offload.gradients_in_place)
    sync.held_bytes = numerics::bytes_per_element(treatment->gradients);
  if (reduces_to_shards() && !kernels->reduction.operators().empty()) sync.kernels = &kernels->reduction;
  sync.copy_bytes = reduced_copy_bytes();
  if (offload.optimizer == Home::device) return sync;
  const double parameter = numerics::bytes_per_element(treatment->parameters);
  Onward onward{.gradient_bytes = offloaded_gradient_bytes()};
  if (keeps_shards() && behaviour->returns_offloaded_gradients)
    onward.returned_bytes = numerics::bytes_per_element(treatment->gradients);
  if (keeps_shards() && behaviour->awaits_offloaded_gradients) sync.waits = true;
  if (offload.update_in_backward && last) {
    onward.update = host_update;
    onward.state_bytes = offload.optimizer == Home::storage ? state_bytes(*treatment) : 0.0;
    onward.stored_parameter_bytes = offload.parameters == Home::storage ? parameter : 0.0;
    onward.parameter_bytes = offload.parameters == Home::device ? parameter : 0.0;
  }
  sync.onward = onward;
  return sync;
}

UnitSettings unit_settings(const Strategy& strategy, const ParameterTreatment& treatment,
                           const FrameworkBehaviour& behaviour, const PerGroup<Group>& copies,
                           const std::function<Gathered()>& kept, Sharding sharding, const ir::Graph& host_update,
                           const UnitKernels& kernels) {
  UnitSettings settings{.overlap_gradient_reduce = strategy.overlap_gradient_reduce,
                        .partial_shards = strategy.shard != 0,
                        .reduces_every_micro_batch = strategy.reduce_every_micro_batch || strategy.micro_batches == 1,
                        .single_stage = strategy.pipeline == 1,
                        .sharding = sharding,
                        .prefetch = strategy.prefetch,
                        .held_results = std::min(behaviour.held_results, strategy.micro_batches),
                        .bucket_bytes = strategy.bucket_bytes,
                        .copies = copies,
                        .shards = copies,
                        .replicas = {},
                        .offload = strategy.offload,
                        .treatment = &treatment,
                        .host_update = &host_update,
                        .kernels = &kernels,
                        .behaviour = &behaviour};
  settings.overlap_parameter_gather = settings.gathers_updated() && strategy.overlap_parameter_gather;
  if (!settings.apply()) return settings;
  check_units(strategy, sharding);
  for (const ParameterGroup group : k_all_parameter_groups) {
    if (sharding == Sharding::nothing) continue;
    // Experts have fewer copies: as many of them share one as both can.
    const bool fewer = group == ParameterGroup::expert && strategy.shard != 0;
    const std::int64_t shard = fewer ? std::gcd(strategy.shard, copies[group].size) : strategy.shard;
    settings.shards[group] = shards(copies[group], shard);
    settings.replicas[group] = replicas(copies[group], shard);
  }
  if (settings.parameters_move()) {
    const bool keeps_root = behaviour.keeps_root_gathered && strategy.offload.parameters == Home::device;
    if (!strategy.reshard_after_forward || keeps_root) settings.root_gathered = kept();
    if (!strategy.reshard_after_forward) settings.body_gathered = settings.root_gathered;
  }
  return settings;
}

}  // namespace cairn::plan
