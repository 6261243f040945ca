// ZeRO, FSDP, HSDP and offload as the parts of a plan see them: which ranks hold which shard of parameters and
// gradients, and when shards are gathered, reduced and moved.
#pragma once

#include <functional>

#include "cairn/plan/framework_behaviour.h"
#include "cairn/plan/layer.h"
#include "cairn/plan/strategy.h"
#include "interned.h"
#include "parameter_update.h"
#include "vocabulary.h"

namespace cairn::plan {

// HSDP: the ranks that shard one copy of the parameters, and the ranks that hold equal shards (replicas). Neighbours
// along the axis of the copies shard a copy.
//   copies (size n, stride s) -> shards (f, s), replicas (n / f, s f);  f = `shard`, n where it is 0
// Of a group of r rows with n / r ranks each (program/mesh.h), a copy is sharded over g = gcd(f, n / r) ranks of each
// of f / g rows, so within a row as far as possible.
// Throws core::ConfigurationError when f does not divide n.
Group shards(const Group& copies, std::int64_t shard);
Group replicas(const Group& copies, std::int64_t shard);

// What data-parallel ranks shard; each includes those before it (plan/strategy.h: Sharded).
//   nothing       every rank holds and updates everything
//   optimizer     each rank updates its shard, then parameters are gathered
//   gradients     also, every unit (layer) reduce-scatters its gradients in the backward pass
//   parameters    also, every unit gathers its parameters before use and frees them afterwards
//   by_schedule   as `parameters`, but the schedule's side rows say when parameters and gradients move
enum class Sharding : std::uint8_t { nothing, optimizer, gradients, parameters, by_schedule };
inline Sharding sharding(const Strategy& strategy, bool exchanged_by_schedule) {
  return exchanged_by_schedule ? Sharding::by_schedule : static_cast<Sharding>(strategy.sharded);
}
static_assert(static_cast<Sharding>(Sharded::optimizer) == Sharding::optimizer);
static_assert(static_cast<Sharding>(Sharded::gradients) == Sharding::gradients);
static_assert(static_cast<Sharding>(Sharded::parameters) == Sharding::parameters);

// How long a rank keeps what a unit has gathered. Of a chunk with m micro-batches, each of one forward and one backward
// pass, that is so many gathers a step:
//   for_a_pass          2 m  the unit reshards after its forward and after its backward pass
//   for_a_micro_batch     m  from a forward pass to the end of its backward pass
//   for_the_step          1  from the first forward pass to the end of the last one that needs them
// PassKey::special marks the two passes of for_the_step (program/pass_key.h).
// A unit that does not reshard after its forward pass keeps them for the step where another micro-batch may be under
// way in between, whose passes need them, too. Source: PyTorch, fully_shard (`reshard_after_forward`) and
// torch/distributed/pipelining/stage.py, backward_maybe_with_nosync: under a pipeline no backward pass but the last
// reshards. That holds for units that reshard after their forward pass, too, whose next forward pass needs no gather
// there: this is not modelled.
enum class Gathered : std::uint8_t { for_a_pass, for_a_micro_batch, for_the_step };

// Cache key of passes that move parameters and gradients, and of what a stage holds for the whole step. Members named
// as in Strategy and FrameworkBehaviour mean the same. Members in which successive plans often differ come first, so
// that a comparison ends early.
struct UnitSettings {
  bool overlap_gradient_reduce = false;
  bool overlap_parameter_gather = false;  // false, too, where nothing is gathered after the update
  bool partial_shards = false;            // HSDP: there are several replicas of every shard
  // Of body layers, and of the root: the layers at both ends, with what they share.
  Gathered body_gathered = Gathered::for_a_pass;
  Gathered root_gathered = Gathered::for_a_pass;
  bool reduces_every_micro_batch = true;  // as the strategy says; also true where there is one micro-batch
  bool single_stage = false;
  Sharding sharding = Sharding::nothing;
  std::int64_t prefetch = 1;
  std::int64_t held_results = 0;  // the framework's, at most the number of micro-batches
  double bucket_bytes = 0.0;
  PerGroup<Group> copies;    // ranks that hold copies of the parameters
  PerGroup<Group> shards;    // ranks over which gradients are reduced to shards
  PerGroup<Group> replicas;  // ranks over which those shards are then all-reduced
  Offload offload;
  const ParameterTreatment* treatment = nullptr;
  const ir::Graph* host_update = nullptr;
  const UnitKernels* kernels = nullptr;
  const FrameworkBehaviour* behaviour = nullptr;  // the same in all plans of a Lowering

  friend bool operator==(const UnitSettings&, const UnitSettings&) = default;
  std::size_t hash() const;

  // Whether units move anything; if not, passes consist of layers alone.
  bool apply() const { return shards_gradients() || partial_shards || offload.any(); }
  bool shards_gradients() const { return sharding == Sharding::gradients || sharding == Sharding::parameters; }
  // Whether parameters must be gathered after the update, since each rank has updated its shard.
  bool gathers_updated() const { return sharding == Sharding::optimizer || sharding == Sharding::gradients; }
  // Whether gradients are reduced to shards before the update is reached.
  bool reduces_to_shards() const {
    return keeps_shards() || (sharding == Sharding::gradients && !behaviour->reduce_whole_gradients);
  }
  // Whether a rank stores only shards of the parameters.
  bool keeps_shards() const { return sharding >= Sharding::parameters; }
  bool copied() const;
  bool parameters_move() const;
  // Whether every backward pass reduces gradients, and whether any does; if none does, the end of the step reduces
  // them.
  bool reduces_every_pass() const;
  bool reduces_in_passes() const;
  // Whether the first forward passes of a step gather the parameters after gathers_updated(), not the step's end.
  bool gathers_in_passes() const;
  // Whether the group's gradients live on the device only between their making and their transfer.
  bool gradients_pass_through(ParameterGroup group) const;
  // The kernels that a gather of so many elements takes beside the collective; none where parameters are whole, of one
  // rank only where it copies what it gathers.
  std::vector<ir::Shard> gather_kernels(const PerGroup<double>& elements) const;
  // Bytes of buckets that are allocated whole (FrameworkBehaviour::holds_buckets).
  double held_buckets() const;
  // Of an element, as wide as an optimizer on the host updates from: widened on the device where that one widens them.
  double offloaded_gradient_bytes() const;
  // Bytes an element of the copy that is reduced in place of whole gradients; 0: none.
  double reduced_copy_bytes() const;
  GradientSync sync(bool last) const;
};

// Those of a strategy; `copies`: ranks that hold copies of each group's parameters; `kept`: says how long the
// schedule has units keep what they do not reshard after their forward pass, and is called only where some do not;
// `host_update`, `kernels`: the operators of an update by the host and of gathers and reductions. Throws
// core::ConfigurationError for settings that do not go together.
UnitSettings unit_settings(const Strategy& strategy, const ParameterTreatment& treatment,
                           const FrameworkBehaviour& behaviour, const PerGroup<Group>& copies,
                           const std::function<Gathered()>& kept, Sharding sharding, const ir::Graph& host_update,
                           const UnitKernels& kernels);

}  // namespace cairn::plan
