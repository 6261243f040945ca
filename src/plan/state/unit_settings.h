// What a strategy asks of the units of a pass: who holds which share of parameters and gradients, and when they move.
#pragma once

#include "cairn/plan/framework_behaviour.h"
#include "cairn/plan/layer.h"
#include "cairn/plan/strategy.h"
#include "interned.h"
#include "vocabulary.h"

namespace cairn::plan {

// The ranks that split a copy among them, and those that hold equal shards: neighbours along the axis of the copies
// share a copy.
//   copies (size n, stride s) -> shards (f, s), replicas (n / f, s f);  f = `shard`, n where it is 0
// Of r rows of n / r copies each, a share takes what it can of a row before it takes of others: g = gcd(f, n / r) ranks
// of each of f / g rows.
// Throws core::ConfigurationError when f does not divide n.
Group shards(const Group& copies, std::int64_t shard);
Group replicas(const Group& copies, std::int64_t shard);

// What becomes of what ranks with the same parameters may share; each includes those before it.
//   nothing       every rank holds and updates all of it
//   optimizer     updates of shards, gathered behind them
//   gradients     units of passes reduce them into shards
//   parameters    units gather them, too, and give them up
//   by_schedule   as `parameters`, but both move when side rows of the schedule say so, whatever the units do
enum class Sharding : std::uint8_t { nothing, optimizer, gradients, parameters, by_schedule };
inline Sharding sharding(const Strategy& strategy, bool exchanged_by_schedule) {
  return exchanged_by_schedule ? Sharding::by_schedule : static_cast<Sharding>(strategy.sharded);
}
static_assert(static_cast<Sharding>(Sharded::optimizer) == Sharding::optimizer);
static_assert(static_cast<Sharding>(Sharded::gradients) == Sharding::gradients);
static_assert(static_cast<Sharding>(Sharded::parameters) == Sharding::parameters);

// Whether a device ever has two micro-batches of one chunk between their forward and backward passes.
bool several_under_way(const pipeline::Schedule& schedule);

// The key of whatever moves parameters and gradients, and of what a stage holds for the whole step. Members named as in
// Strategy and FrameworkBehaviour mean the same. What plans that follow each other differ in stands first, where a
// comparison ends soonest.
struct UnitSettings {
  bool overlap_gradient_reduce = false;
  bool overlap_parameter_gather = false;
  bool reshard_after_forward = true;
  bool reduce_whole_gradients = false;
  bool partial_shards = false;            // ranks that hold copies split them into more than one
  bool several_under_way = false;         // see above; matters to parameters that stay gathered
  bool reduces_every_micro_batch = true;  // or there is one micro-batch
  bool single_stage = false;
  Sharding sharding = Sharding::nothing;
  std::int64_t prefetch = 1;
  std::int64_t held_results = 0;  // never more than there are micro-batches
  double bucket_bytes = 0.0;
  double held_buckets = 0.0;  // bytes of buckets that are allocated whole; see FrameworkBehaviour
  PerGroup<Group> copies;     // ranks that hold copies of the parameters
  PerGroup<Group> shards;     // over which gradients are summed first
  PerGroup<Group> replicas;   // and then their shards
  Offload offload;
  const ParameterTreatment* treatment = nullptr;
  const ir::Graph* host_update = nullptr;

  friend bool operator==(const UnitSettings&, const UnitSettings&) = default;
  std::size_t hash() const;

  // Whether any of it applies: else passes are made of layers alone.
  bool apply() const { return shards_gradients() || partial_shards || offload.any(); }
  bool shards_gradients() const { return sharding == Sharding::gradients || sharding == Sharding::parameters; }
  // An update of shards leaves whole parameters in pieces.
  bool gathers_updated() const { return sharding == Sharding::optimizer || sharding == Sharding::gradients; }
  // What a rank keeps of parameters are shards.
  bool keeps_shards() const { return sharding >= Sharding::parameters; }
  bool copied() const;
  bool parameters_move() const;
  // Gradients are reduced by every backward pass, or by a chunk's last one; else at the end of the step.
  bool reduces_every_pass() const;
  bool reduces_in_passes() const;
  // First forward passes gather what an update of shards left in pieces, where units do not move their parameters.
  bool gathers_in_passes() const;
  // Whether the group's gradients live on the device only between their making and their transfer.
  bool gradients_pass_through(ParameterGroup group) const;
  GradientSync sync(bool last) const;
};

// Those of a strategy; `copies`: ranks that hold copies of each group's parameters; `host_update`: the operators of an
// update by the host. Throws core::ConfigurationError for settings that do not go together.
UnitSettings unit_settings(const Strategy& strategy, const ParameterTreatment& treatment,
                           const FrameworkBehaviour& behaviour, const PerGroup<Group>& copies,
                           const pipeline::Schedule& schedule, Sharding sharding, const ir::Graph& host_update);

}  // namespace cairn::plan
