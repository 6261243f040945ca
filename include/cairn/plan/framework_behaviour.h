// What a training framework does whatever the plan: semantics that can be read in its source.
#pragma once

#include <cstdint>

namespace cairn::plan {

// When the processor that issues kernels blocks until a pipeline message has come.
enum class HostWaits : std::uint8_t { never, unless_interleaved, always };

struct FrameworkBehaviour {
  bool scatter_sends = false;  // a replicated activation is sent as 1/tensor slices and gathered on arrival
  HostWaits host_waits = HostWaits::never;
  bool host_waits_for_computation = false;  // before every pass, until the device has done all it was given
  // Every rank of a tensor-parallel group takes host time at the group's collectives, in a pipeline whose messages
  // leave their domain.
  bool issues_per_peer = false;
  // What tensor-parallel reductions have used comes free at the end of the pass, not with its last reader.
  bool records_reductions = false;
  bool reduce_whole_gradients = false;  // all-reduced though each rank updates its shard only
  bool recompute_ends = false;          // full recomputation takes in the first and last layer, but not the loss
  std::int64_t held_results = 0;        // micro-batches whose results the last stage holds until others replace them
  friend bool operator==(const FrameworkBehaviour&, const FrameworkBehaviour&) = default;
};

}  // namespace cairn::plan
