// The settings of a parallel training plan: everything that decides what is done where, and nothing about how long it
// takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cairn/core/out_of_range.h"
#include "cairn/numerics/format.h"
#include "cairn/pipeline/generators.h"
#include "cairn/program/mesh.h"

namespace cairn::plan {

// What is kept once among the ranks that hold copies instead of on every one of them; each includes those before it.
enum class Sharded : std::uint8_t { nothing, optimizer, gradients, parameters };

// Where something lives between its uses.
enum class Home : std::uint8_t { device, host, storage };

struct Offload {
  Home optimizer = Home::device;  // master copy and moments; off the device the host's cores update
  Home parameters = Home::device;
  Home activations = Home::device;  // what body layers keep for their backward pass
  std::int64_t resident_units =
      0;  // offloaded parameters of so many units stay on the device: those a pass starts with
  bool gradients_in_place = false;  // gradients take the memory of the parameters they belong to
  // The update runs over subgroups of parameters; of every `device_every` one is updated on the device, 0: none.
  double subgroup_elements = 100e6;
  std::int64_t device_every = 0;
  bool update_in_backward = false;  // each unit is updated as soon as its gradients have reached the host

  bool any() const { return optimizer != Home::device || parameters != Home::device || activations != Home::device; }
  friend bool operator==(const Offload&, const Offload&) = default;
};

// What of a body layer runs again in backward instead of being kept: nothing; the attention core; the whole layer;
// everything but attention and every second matrix product; a list of operators.
enum class Recompute : std::uint8_t { none, attention, full, per_op, operators };

// Which layers: all; the first of every virtual stage; all, a group of layers at a time of which only the input is
// kept.
enum class RecomputeMethod : std::uint8_t { every, block, uniform };

// Body layers first .. last, counted through the model from 0.
struct LayerRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  friend bool operator==(const LayerRange&, const LayerRange&) = default;
};

struct RecomputeLayers {
  RecomputeMethod method = RecomputeMethod::every;
  std::int64_t count = 1;          // block: layers of a virtual stage; uniform: layers of a group
  std::vector<LayerRange> ranges;  // empty: all
  friend bool operator==(const RecomputeLayers&, const RecomputeLayers&) = default;
};

// How products and the tensor-parallel transfers around them run beside each other.
//   chunked    a product and its gather or reduction in `count` pieces along the tokens, piece by piece
//   triggered  one kernel whose results are reduced as they come, one share for each rank
//   halves     two halves of the tokens take turns: one computes while the other communicates
struct TensorPieces {
  enum class Kind : std::uint8_t { none, chunked, triggered, halves };
  Kind kind = Kind::none;
  std::int64_t count = 1;
  friend bool operator==(const TensorPieces&, const TensorPieces&) = default;
};

struct Strategy {
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t data = 1;
  std::int64_t context = 1;        // ranks that share the tokens of every sequence
  std::int64_t expert = 1;         // ranks over which experts are spread
  std::int64_t expert_tensor = 1;  // ranks over which each expert is split
  bool bilevel_experts = false;    // tokens go to other domains first, then to ranks inside, in two exchanges
  // Domains that a token's copies may go to, each crossing to a domain once: 0 where every copy crosses on its own.
  std::int64_t expert_domains = 0;
  std::int64_t expert_copies = 1;  // of a token
  bool overlap_experts = false;    // transfers of routed tokens beside whatever does not need them
  program::AxisOrder order{program::Axis::tensor, program::Axis::context, program::Axis::data, program::Axis::pipeline};
  program::AxisOrder expert_order{program::Axis::expert_tensor, program::Axis::expert, program::Axis::expert_data,
                                  program::Axis::pipeline};
  std::int64_t micro_batch = 1;    // sequences
  std::int64_t micro_batches = 1;  // per step on one data-parallel rank
  bool sequence_parallel = false;  // what is not split over tensor-parallel ranks otherwise is split along the sequence
  bool vocab_parallel = false;
  // Body layers of every virtual stage that a micro-batch passes, in its order. One without any hands on what arrives;
  // the first holds the embedding besides, the last the head.
  std::vector<std::int64_t> stage_layers;
  Sharded sharded = Sharded::nothing;
  std::int64_t shard = 0;                // ranks that split one copy among them; the others hold replicas. 0: all
  std::int64_t prefetch = 1;             // units whose parameters are fetched ahead of the one that computes: 0, 1, 2
  bool reshard_after_forward = true;     // sharded parameters are given up between forward and backward
  bool reduce_every_micro_batch = true;  // sharded gradients; else they are added up whole and reduced once
  Offload offload;
  Recompute recompute = Recompute::none;
  std::vector<std::string> recompute_operators = {};  // names of operators, or of their regions
  RecomputeLayers recompute_layers = {};
  bool share_saved_inputs = false;  // a recomputed layer's whole input is kept in shards over the tensor axis
  std::string schedule = "1f1b";
  std::int64_t chunks = 1;                   // virtual stages per device, where the kind leaves them to choose
  pipeline::Settings schedule_options = {};  // beside stages, micro-batches and chunks, which are those above

  bool overlap_gradient_reduce = false;   // beside the last backward pass
  bool overlap_parameter_gather = false;  // beside the first forward pass (sharded optimizer)
  bool overlap_tensor = true;             // input-gradient transfers beside the weight gradient
  bool asynchronous_tensor = false;       // nothing waits for a transfer but what reads its result
  TensorPieces tensor_pieces = {};
  bool overlap_sends = true;  // pipeline sends beside computation
  double bucket_bytes = 0.0;  // gradients sent together
};

// What the strategy's schedule is generated from, under the name of its kind. Throws core::ConfigurationError where a
// schedule cannot number as many.
inline pipeline::Settings schedule_settings(const Strategy& strategy) {
  pipeline::Settings settings = strategy.schedule_options;
  settings.stages =
      core::narrow<std::int32_t>(strategy.pipeline, {.key_path = "strategy.pp", .what = "stages", .hint = "use fewer"});
  settings.micro_batches = core::narrow<std::int32_t>(
      strategy.micro_batches, {.key_path = "training.global_batch",
                               .what = "micro-batches on each rank",
                               .hint = "use a larger micro_batch, more ranks of dp, or fewer sequences"});
  settings.chunks = core::narrow<std::int32_t>(
      strategy.chunks, {.key_path = "strategy.schedule.chunks", .what = "chunks", .hint = "use fewer"});
  return settings;
}

// How a step treats parameters, whatever the plan.
struct ParameterTreatment {
  numerics::Format parameters = numerics::Format::bf16;
  numerics::Format gradients = numerics::Format::fp32;
  numerics::Format reduce = numerics::Format::fp32;  // gradients on the wire
  numerics::Format gather = numerics::Format::bf16;  // parameters on the wire
  std::optional<numerics::Format> master = numerics::Format::fp32;
  numerics::Format moments_format = numerics::Format::fp32;
  int moments = 2;
  bool narrow_shards =
      true;  // sharded parameters are kept in their own format beside the master copy; else cast from it
  bool factored_moment = false;     // one more moment, in fp32, kept of a matrix as its rows' and its columns' means
  bool separate_gradients = false;  // gradients in the parameters' format live beside those they are added to
  int gradient_reads = 1;           // passes over the gradients before the update (norm)
  bool gradient_copy = false;       // narrow gradients are first widened to the master's format, into a buffer
  bool gradient_join = false;       // and before that joined into one tensor of their own format
  bool gradient_scale = false;      // what the update reads is multiplied (loss scale, clipping) by a pass of its own
  bool separate_parameter_copy = false;  // the parameters are written by a pass of its own that reads the master copy
  // Weights whose products read a format narrower than 16 bits: copies kept beside the parameters and made once per
  // step.
  std::optional<numerics::Format> narrow = {};
  int narrow_copies = 0;
  bool narrow_maximum = false;  // the weight's maximum is found before it is cast
  std::int64_t history = 0;  // maxima kept of each narrow tensor, and summed up over all ranks once per step; 0: none
  numerics::Format wide = numerics::Format::bf16;  // of the other parameters when `parameters` is narrow
  friend bool operator==(const ParameterTreatment&, const ParameterTreatment&) = default;
};

}  // namespace cairn::plan
