// What a strategy asks of the units of a pass: who holds which share of parameters and gradients, and when they move.
#pragma once

#include "cairn/plan/layer.h"
#include "cairn/plan/strategy.h"

namespace cairn::plan {

// The ranks that split a copy among them, and those that hold equal shards: neighbours along the axis of the copies
// share a copy.
//   copies (size n, stride s) -> shards (f, s), replicas (n / f, s f);  f = `shard`, n where it is 0
// Throws core::ConfigurationError when f does not divide n.
Group shards(const Group& copies, std::int64_t shard);
Group replicas(const Group& copies, std::int64_t shard);

// Throws core::ConfigurationError for settings that do not go together.
void check_units(const Strategy& strategy);
// Whether a device ever has two micro-batches of one chunk between their forward and backward passes.
bool several_under_way(const pipeline::Schedule& schedule);

struct UnitSettings {
  const Strategy* strategy = nullptr;
  const ParameterTreatment* treatment = nullptr;
  PerGroup<Group> copies;          // ranks that hold copies of the parameters
  PerGroup<Group> shards;          // over which gradients are summed first
  PerGroup<Group> replicas;        // and then their shards
  bool several_under_way = false;  // see above; matters to parameters that stay gathered
  // Sharded parameters and gradients move when the schedule says so, whatever the units do.
  bool exchanged = false;
  const ir::Graph* host_update = nullptr;

  // Whether any of it applies: else passes are made of layers alone.
  bool apply() const;
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

// Those of a strategy; `copies`: ranks that hold copies of each group's parameters; `exchanged`: as above.
// `host_update` is left out.
UnitSettings unit_settings(const Strategy& strategy, const ParameterTreatment& treatment, const PerGroup<Group>& copies,
                           const pipeline::Schedule& schedule, bool exchanged = false);

}  // namespace cairn::plan
