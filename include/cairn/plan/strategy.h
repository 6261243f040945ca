// A parallel training plan: degrees of parallelism, sharding (ZeRO, FSDP), offload, recomputation, pipeline schedule,
// overlap. It decides what is done where and says nothing about how long that takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cairn/core/out_of_range.h"
#include "cairn/numerics/format.h"
#include "cairn/pipeline/generators.h"
#include "cairn/plan/framework_behaviour.h"
#include "cairn/program/mesh.h"
#include "cairn/sequence/scheme.h"

namespace cairn::plan {

// What data-parallel ranks shard among them instead of replicating: ZeRO stages 0, 1, 2, 3; the last is FSDP as well.
enum class Sharded : std::uint8_t { nothing, optimizer, gradients, parameters };

// The memory in which something is kept while nobody uses it.
enum class Home : std::uint8_t { device, host, storage };

struct Offload {
  Home optimizer = Home::device;  // master copy and moments; if not on the device, the host's cores run the update
  Home parameters = Home::device;
  Home activations = Home::device;  // what body layers keep for their backward pass
  std::int64_t resident_units =
      0;  // layers at the start of a pass whose parameters stay on the device although parameters are offloaded
  bool gradients_in_place = false;  // a gradient overwrites the parameter it belongs to: it takes no memory of its own
  bool update_in_backward = false;  // each unit is updated as soon as its gradients have reached the host

  bool any() const { return optimizer != Home::device || parameters != Home::device || activations != Home::device; }
  friend bool operator==(const Offload&, const Offload&) = default;
};

// Activation recomputation: what of a body layer runs again in backward instead of being saved. attention: its core
// (selective recomputation). per_op: all but attention and every second matrix product. operators: those listed.
enum class Recompute : std::uint8_t { none, attention, full, per_op, operators };

// Which layers recompute. every: all. block: the first `count` of every virtual stage. uniform: all, in groups of
// `count` layers of which only the group's input is saved.
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

// How matrix products overlap the tensor-parallel collectives around them.
//   chunked    both are cut into `count` pieces along the tokens: one piece is computed while another is sent
//   triggered  one kernel; the share of each rank is reduced as soon as the kernel has written it
//   halves     each half of the tokens computes while the other half communicates
struct TensorPieces {
  enum class Kind : std::uint8_t { none, chunked, triggered, halves };
  Kind kind = Kind::none;
  std::int64_t count = 1;
  friend bool operator==(const TensorPieces&, const TensorPieces&) = default;
};

// Settings that blocks of layers read as they are. Their cache key and their options hold all of them.
struct LayerSettings {
  bool share_saved_inputs = false;   // the input that a recomputed layer saves is sharded over the tensor axis
  bool overlap_tensor = true;        // tensor-parallel transfers of the input gradient overlap the weight gradient
  bool asynchronous_tensor = false;  // only readers of a tensor-parallel transfer's result wait for it
  TensorPieces tensor_pieces = {};
  friend bool operator==(const LayerSettings&, const LayerSettings&) = default;
};

// How the ranks of the context axis share the attention of a sequence.
struct AttentionSharing {
  const sequence::Scheme* scheme = nullptr;  // null where the context axis has one rank
  sequence::Grid grid = {};                  // of as many ranks as the context axis
  bool fp32_gradients = false;               // dQ, dK and dV travel in fp32, as they are added up; else in 16 bits
  friend bool operator==(const AttentionSharing&, const AttentionSharing&) = default;
};

// What layers take, and how their passes become a pipeline.
struct Structure : LayerSettings {
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t data = 1;
  std::int64_t context = 1;  // ranks that share the tokens of every sequence
  AttentionSharing attention = {};
  std::int64_t expert = 1;         // ranks over which experts are spread
  std::int64_t expert_tensor = 1;  // ranks over which each expert is split
  bool bilevel_experts = false;    // the token exchange takes two steps: to the right domain, then to a rank inside it
  // Most domains that one token may be sent to, each of which it crosses to once; 0: every copy crosses by itself.
  std::int64_t expert_domain_limit = 0;
  // Experts of a layer, over all ranks; fewer than `expert` (0: unset) are taken for one a rank.
  std::int64_t experts = 0;
  std::int64_t expert_copies = 1;  // experts per token (top-k), all different: copies of it that are sent
  // A token goes once to each rank that holds some of its experts, and once to each domain; results are summed by rank,
  // then by domain, before they return.
  bool merged_copies = false;
  bool overlap_experts = false;  // the token exchange overlaps all computation that does not depend on it
  program::AxisOrder order{program::Axis::tensor, program::Axis::context, program::Axis::data, program::Axis::pipeline};
  program::AxisOrder expert_order{program::Axis::expert_tensor, program::Axis::expert, program::Axis::expert_data,
                                  program::Axis::pipeline};
  std::int64_t micro_batch = 1;    // sequences
  std::int64_t micro_batches = 1;  // per step on one data-parallel rank
  bool sequence_parallel = false;  // norms, dropouts and residual sums are sharded by tokens over the tensor axis
  bool vocab_parallel = false;
  // Body layers of each virtual stage, in the order in which a micro-batch passes them. The first also holds the
  // embedding, the last the head; a stage of 0 layers passes on what it receives.
  std::vector<std::int64_t> stage_layers;
  Recompute recompute = Recompute::none;
  std::vector<std::string> recompute_operators = {};  // names of operators, or of their regions
  RecomputeLayers recompute_layers = {};
  std::string schedule = "1f1b";
  std::int64_t chunks = 1;                   // virtual stages per device, for schedule kinds that let one choose
  pipeline::Settings schedule_options = {};  // its stages, micro_batches and chunks are ignored: those above hold
  friend bool operator==(const Structure&, const Structure&) = default;
};

// Settings that messages between stages read as they are. Their cache key holds all of them.
struct MessageSettings {
  bool overlap_sends = true;  // pipeline sends overlap computation
  friend bool operator==(const MessageSettings&, const MessageSettings&) = default;
};

// Settings that nothing but the end of a step reads. Its cache key and its options hold all of them, no other key any.
struct StepEndSettings {
  // An update off the device runs subgroup by subgroup; the device updates one of every `device_every`, the host the
  // others. 0: none.
  double subgroup_elements = 100e6;
  std::int64_t device_every = 0;
  friend bool operator==(const StepEndSettings&, const StepEndSettings&) = default;
};

// Where the state of a stage is kept, and what its copies and neighbouring stages exchange when.
struct Exchanges : MessageSettings, StepEndSettings {
  Sharded sharded = Sharded::nothing;
  std::int64_t shard = 0;     // ranks that shard one copy; the others hold replicas of it (HSDP). 0: all
  std::int64_t prefetch = 1;  // layers whose parameters are gathered ahead of the computing one: 0, 1, 2
  // Gathered parameters are freed after forward and gathered again in backward; false: they stay to the end of
  // backward, and where several micro-batches are under way to the end of the step's last backward pass.
  bool reshard_after_forward = true;
  bool reduce_every_micro_batch = true;  // sharded gradients; false: they accumulate unsharded and are reduced once
  Offload offload;
  bool overlap_gradient_reduce = false;   // gradient reduction overlaps the last backward pass
  bool overlap_parameter_gather = false;  // the sharded optimizer's parameter gather overlaps the first forward pass
  double bucket_bytes = 0.0;              // gradients that are reduced in one collective [bytes]
  friend bool operator==(const Exchanges&, const Exchanges&) = default;
};

struct Strategy : Structure, Exchanges {};

// The settings from which pipeline::generate() makes the schedule. Throws core::ConfigurationError where a
// number is too large for a schedule.
inline pipeline::Settings schedule_settings(const Structure& structure) {
  pipeline::Settings settings = structure.schedule_options;
  settings.stages = core::narrow<std::int32_t>(structure.pipeline,
                                               {.key_path = "strategy.pp", .what = "stages", .hint = "use fewer"});
  settings.micro_batches = core::narrow<std::int32_t>(
      structure.micro_batches, {.key_path = "training.global_batch",
                                .what = "micro-batches on each rank",
                                .hint = "use a larger micro_batch, more ranks of dp, or fewer sequences"});
  settings.chunks = core::narrow<std::int32_t>(
      structure.chunks, {.key_path = "strategy.schedule.chunks", .what = "chunks", .hint = "use fewer"});
  return settings;
}

// Number formats and optimizer passes of parameters and gradients, from the precision recipe and the framework.
struct ParameterTreatment {
  numerics::Format parameters = numerics::Format::bf16;
  numerics::Format gradients = numerics::Format::fp32;
  numerics::Format reduce = numerics::Format::fp32;  // gradients on the wire
  numerics::Format gather = numerics::Format::bf16;  // parameters on the wire
  std::optional<numerics::Format> master = numerics::Format::fp32;
  numerics::Format moments_format = numerics::Format::fp32;
  int moments = 2;
  bool narrow_shards =
      true;  // sharded parameters are stored in their own format beside the master copy; else they are cast from it
  bool factored_moment = false;     // Adafactor: a further fp32 moment, of a matrix only the means of rows and columns
  bool separate_gradients = false;  // gradients in the parameters' format take memory beside the accumulated ones
  StepEndBehaviour step_end = {};
  // FP8 and the like: number of copies, in this narrower format, of every weight that matrix products read; the copies
  // are stored beside the parameters and made once per step.
  std::optional<numerics::Format> narrow = {};
  int narrow_copies = 0;
  bool narrow_maximum = false;  // the weight's maximum is found before it is cast
  std::int64_t history = 0;  // delayed scaling: maxima kept of each narrow tensor, reduced over all ranks once per step
  numerics::Format wide = numerics::Format::bf16;  // format of the other parameters when `parameters` is narrow
  friend bool operator==(const ParameterTreatment&, const ParameterTreatment&) = default;
};
// Bytes per element of what the optimizer keeps: master copy and moments, without a factored one.
double state_bytes(const ParameterTreatment& treatment);

}  // namespace cairn::plan
