// Behaviour that a training framework shows in every plan and that can be read in its source code. A framework profile
// (software/framework.h, configs/frameworks) holds one of these structures.
#pragma once

#include <cstdint>

namespace cairn::plan {

// Whether the host thread that issues kernels blocks until a pipeline message has arrived. unless_interleaved: it does
// only where a device has a single chunk.
enum class HostWaits : std::uint8_t { never, unless_interleaved, always };

// What a framework does at the end of every step: passes over gradients and parameters beside those that follow from
// number formats. It is part of ParameterTreatment: the operators of updates and of what the step's end reduces are made
// from it (src/plan/state/parameter_update.h).
struct StepEndBehaviour {
  std::int64_t gradient_reads = 1;  // passes over the gradients before the update (norm, finite check)
  bool gradient_copy = false;   // gradients narrower than the master copy are first widened into a buffer of its format
  bool gradient_join = false;   // and before that joined into one tensor of their own format
  bool gradient_scale = false;  // what the update reads is multiplied (loss scale, clipping) by a pass of its own
  bool separate_parameter_copy = false;  // a pass of its own reads the master copy and writes the parameters
  bool separate_kernels = false;         // every arithmetic operation of the device's update is a pass of its own
  // Reads and scaling come first and go over all gradients that the rank holds, not over those alone that it updates.
  bool whole_gradients = false;
  // What is reduced is copies of the gradients: joined, divided, in the format on the wire, then copied back.
  bool copies_to_buckets = false;
  friend bool operator==(const StepEndBehaviour&, const StepEndBehaviour&) = default;
};

struct FrameworkBehaviour {
  bool scatter_sends = false;  // a replicated activation is sent as 1/tensor slices and gathered on arrival
  HostWaits host_waits = HostWaits::never;  // a host that waits cannot run ahead
  // Before every forward and backward pass of a micro-batch the host waits until the device has done all it was given,
  // and starts the pass with an empty queue.
  bool host_waits_for_computation = false;
  // In a pipeline whose messages cross domains, issuing a tensor-parallel collective costs the host extra time for each
  // rank of the group (hardware/host_times.h: launches_per_peer, launches_per_peer_across), whether its ranks share a
  // domain or lie in several.
  bool issues_per_peer = false;
  bool issues_per_peer_across = false;
  // What tensor-parallel reductions have used comes free at the end of the pass, not with its last reader: a block that
  // a communicator's stream has used is given out again only when that stream has passed it, and the host, which runs
  // ahead of the device by a pass, allocates anew. (PyTorch, c10/cuda/CUDACachingAllocator.cpp, recordStream.) A host
  // that issues_per_peer(_across) holds up is taken to be no further than its device, and finds such blocks free.
  bool records_reductions = false;
  // Sequence parallelism gathers what a layer makes along the sequence (a norm's output) in an operator of its own:
  // products that read it keep the gathered tensor for the backward pass, in place of the shard, and the gradients
  // that several products make of it are added up before one reduce-scatter. Per tensor of b s h elements, over t
  // ranks, read by k products, both passes:
  //   one all-gather, one reduce-scatter, b s h elements kept
  // else each product gathers shards again and scatters by itself (Megatron-LM, core/tensor_parallel/layers.py,
  // LinearWithGradAccumulationAndAsyncCommunication, 2025):
  //   two all-gathers, k reduce-scatters, b s h / t elements kept
  // Gradients are added up so only where products make all that a tensor has.
  bool keeps_gathered_inputs = false;
  bool reduce_whole_gradients =
      false;  // all-reduce instead of reduce-scatter, though a rank keeps or updates its shard
  // Gradients of shared state are sent from buckets of their own, allocated whole: two where their reduction runs beside
  // the backward pass and parameters stay whole. They are there from the first backward pass to the update (under a
  // pipeline while the last gradients are reduced; with shared parameters always), and with them whole gradients go.
  bool holds_buckets = false;
  // A shard is copied into the gather's buffer, and what was gathered out of it into tensors of their own before a unit
  // runs; else operators read the buffer, of which the shard is a part.
  bool copies_gathered = false;
  // Gradients that are reduced to shards before the update (ZeRO 2 and 3) are first copied into a tensor that the number
  // of ranks divides, whether they need padding or not; and are divided by a factor of that number in a pass of their
  // own, so that sums stay in range.
  bool pads_gradients = false;
  bool divides_gradients = false;
  // Parameters of the first and last layer are not resharded after a forward pass, whatever the others do, unless the
  // host keeps them: they stay gathered to the end of its backward pass, and where other micro-batches are under way in
  // between to the end of the step's last one, but are given up where a schedule updates them before.
  bool keeps_root_gathered = false;
  // Shards of gradients that go to a host which keeps the optimizer, where parameters are sharded. `awaits`: the host
  // issues no more work before they are there. `returns`: they go there once more before, in their own format, and back.
  bool awaits_offloaded_gradients = false;
  bool returns_offloaded_gradients = false;
  bool recompute_ends = false;  // full recomputation includes the first and last layer, but not the loss
  // Recomputation operator by operator keeps the result of every product that it does not run again, whether the
  // backward pass reads it or not: a cache filled as operators run knows no readers.
  bool keeps_unread_products = false;
  // And it runs attention again: the kernel at hand is not among those whose results it keeps.
  bool repeats_attention = false;
  // Ranks that share a sequence join the tiles of their attention by one kernel for each operation, else by one for each
  // tile (src/plan/layer/attention_joins.h). As the other pointwise kernels: it follows from them.
  bool eager_joins = false;
  // Ranks that share a sequence wait for every exchange of its attention as soon as they have issued it: no tile runs
  // beside one. A compiler that traces exchanges as functions of tensors puts the wait right behind each, and leaves it
  // there in graphs for training (PyTorch, torch/distributed/_functional_collectives.py, _maybe_wrap_tensor;
  // torch/_inductor/fx_passes/post_grad.py, reorder_for_locality, and config.py, reorder_for_compute_comm_overlap, off
  // by default).
  bool waits_for_attention = false;
  // The last stage keeps the logits of this many past micro-batches, unused, until newer ones overwrite them.
  std::int64_t held_results = 0;
  friend bool operator==(const FrameworkBehaviour&, const FrameworkBehaviour&) = default;
};

}  // namespace cairn::plan
