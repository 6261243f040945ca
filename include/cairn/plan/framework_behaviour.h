// What a training framework does whatever the plan: semantics that can be read in its source. Profiles hold it
// (software/framework.h).
#pragma once

#include <cstdint>

namespace cairn::plan {

// When the processor that issues kernels blocks until a pipeline message has come.
enum class HostWaits : std::uint8_t { never, unless_interleaved, always };

struct FrameworkBehaviour {
  bool scatter_sends = false;  // a replicated activation is sent as 1/tensor slices and gathered on arrival
  HostWaits host_waits = HostWaits::never;  // a host that waits cannot run ahead
  // Before every forward and backward pass of a micro-batch the host waits until the device has done all it was given,
  // and starts the pass with an empty queue.
  bool host_waits_for_computation = false;
  // Every rank of a tensor-parallel group takes host time at the group's collectives, in a pipeline whose messages
  // leave their domain.
  bool issues_per_peer = false;
  // What tensor-parallel reductions have used comes free at the end of the pass, not with its last reader: a block that
  // a communicator's stream has used is given out again only when that stream has passed it, and the host, which runs
  // ahead of the device by a pass, allocates anew. (PyTorch, c10/cuda/CUDACachingAllocator.cpp, recordStream.)
  bool records_reductions = false;
  bool reduce_whole_gradients = false;  // all-reduced though each rank keeps or updates its shard only
  // Gradients of shared state are sent from buckets of their own, allocated whole: two where their reduction runs beside
  // the backward pass and parameters stay whole. They are there from the first backward pass to the update (under a
  // pipeline while the last gradients are reduced; with shared parameters always), and with them whole gradients go.
  bool holds_buckets = false;
  bool recompute_ends = false;  // full recomputation takes in the first and last layer, but not the loss
  // Micro-batches whose results (logits) the last stage holds without use: slots that are overwritten, not emptied.
  std::int64_t held_results = 0;
  friend bool operator==(const FrameworkBehaviour&, const FrameworkBehaviour&) = default;
};

}  // namespace cairn::plan
