// What a training framework does around the mathematics: facts that can be read in its source (semantics), and four
// numbers that can only be fitted. The four are the same for every framework; `ideal` has all of them at 0.
//
//   host time of a step = kernels x host_per_kernel + micro-batches x host_per_micro_batch + host_per_step
//   kernels of a tensor-parallel collective on n ranks = 1 + n x launches_per_peer where pipeline messages leave their
//   domain, else 1
// Files: configs/frameworks/<name>.yaml; a release (megatron@2021) lays its entry under `releases:` over the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cairn/config/fields.h"
#include "cairn/config/node.h"
#include "cairn/core/quantity.h"
#include "cairn/hardware/precision.h"
#include "cairn/numerics/format.h"

namespace cairn::hardware {

enum class AttentionKernel : std::uint8_t { unfused, fused_softmax, flash1, flash2, flash3, cudnn };
enum class NormKernel : std::uint8_t { fused, unfused };
// unfused: one widened copy, differentiated by hand; log_softmax: library operators under automatic differentiation.
enum class LossKernel : std::uint8_t { fused, unfused, log_softmax };
// fused: bias, activation, dropout and residual in one kernel per place; eager: one kernel per elementary operation.
enum class PointwiseKernel : std::uint8_t { fused, eager };
std::string_view name(AttentionKernel kernel);
std::string_view name(NormKernel kernel);
std::string_view name(LossKernel kernel);
std::string_view name(PointwiseKernel kernel);

// Defaults of `training.kernels`.
struct Kernels {
  AttentionKernel attention = AttentionKernel::flash2;
  NormKernel norm = NormKernel::fused;
  PointwiseKernel pointwise = PointwiseKernel::fused;
  LossKernel loss = LossKernel::unfused;
  bool wide_scores = false;       // unfused attention widens the scores to fp32 before it scales and masks them
  bool scaled_product = false;    // the product of queries and keys scales its result: no pass of its own
  bool separate_qkv = false;      // queries, keys and values are products of their own
  bool separate_gate = false;     // a gated MLP's two input projections are products of their own
  bool narrow_norm = false;       // unfused RMS normalisation computes in the activations' format
  bool gathers_logits = false;    // every tensor-parallel rank gathers all logits and computes the whole loss
  bool finds_best_token = false;  // the loss finds the most likely token of every row, for the accuracy it reports
  bool compiled = false;
};

// Where a fused softmax kernel exists: least < s <= longest, s and (micro-batch x local heads) multiples of `multiple`.
// Elsewhere the scores go through separate kernels.
struct FusedSoftmax {
  std::int64_t least = 16;
  std::int64_t longest = 4096;
  std::int64_t multiple = 4;

  bool applies(std::int64_t s, std::int64_t local_heads, std::int64_t micro_batch) const {
    return s > least && s <= longest && s % multiple == 0 && (local_heads * micro_batch) % multiple == 0;
  }
};

// Gradients are reduced in buckets of max(elements, elements_per_rank x dp) parameters, or of `bytes`.
struct Bucket {
  std::optional<core::Bytes> bytes = {};
  std::int64_t elements = 40'000'000;
  std::int64_t elements_per_rank = 0;

  // [bytes] of one bucket on `dp` ranks.
  core::Bytes size(std::int64_t dp, numerics::Format gradients) const;
};

// Which communication runs beside computation by default. An experiment's `overlap` overrides the flags.
struct OverlapDefaults {
  bool dp_reduce = false;                      // gradient reduction beside the backward pass of the last micro-batch
  std::optional<bool> dp_reduce_sharded = {};  // the same where ranks share the optimizer's state; default: dp_reduce
  bool dp_gather = false;                      // parameter gathers (ZeRO) beside the forward pass of the first
  bool tp_backward = false;  // all-reduce or gather of an input gradient beside the weight gradient's product
  bool pp = false;
  bool ep = false;  // transfers of routed tokens beside the shared experts
  Bucket bucket = {};
};

enum class HostWaits : std::uint8_t { never, unless_interleaved, always };

struct PointToPoint {
  bool scatter_gather = true;  // each tensor-parallel rank sends its 1/tp of an activation, gathered again on arrival
  HostWaits host_waits = HostWaits::unless_interleaved;  // a host that synchronises cannot run ahead
};

// How a pipeline is cut where an experiment does not say.
//   even       as many layers in every stage; others are an error
//   balanced   the slowest stage as fast as possible, by times that are predicted
//   by_weight  stages filled in turn up to their share of the weights of layers and head (pipeline/balanced_split.h)
enum class StageRule : std::uint8_t { even, balanced, by_weight };

// What makes the host wait for the device, beside messages. A host that waits starts the next pass with an empty queue.
struct HostBehaviour {
  bool synchronises_passes = false;  // before every forward and backward pass of a micro-batch
};

// recipe: as the precision recipe says; parameters: accumulated and reduced in the parameters' own format.
enum class GradientFormat : std::uint8_t { recipe, parameters };

struct Accumulation {
  bool fused = true;  // the weight gradient's product adds into the gradient buffer
  GradientFormat format = GradientFormat::recipe;
  // Every backward pass leaves whole gradients in the parameters' format beside the buffer they are added to. Counted
  // as held throughout: all there from the end of one backward pass to its addition, or, in the reducer's buckets,
  // always.
  bool separate_buffer = false;
  bool whole_reduce = false;  // ZeRO 1 and 2 sum every gradient on every rank instead of each rank's shard
};

// Passes of the optimizer step over memory. Reads and writes of Adam itself follow from the recipe.
struct OptimizerStep {
  std::int64_t gradient_reads = 1;  // passes over the gradients before the update (norm, finite check)
  bool gradient_copy = true;  // gradients narrower than the master copy are first widened into a buffer of its format
  bool separate_parameter_copy = true;  // a pass of its own reads the master copy and writes the new parameters
};

// every_micro_batch: sharded gradients are reduced as soon as each backward pass makes them, and added up as shards;
// last: they are added up whole and reduced once (FSDP under no_sync).
enum class ReduceWhen : std::uint8_t { every_micro_batch, last_micro_batch };

// Gradients and parameters kept in shards (ZeRO 2 and 3, FSDP).
struct Sharding {
  ReduceWhen reduce = ReduceWhen::every_micro_batch;
  std::int64_t prefetch = 1;          // units gathered ahead of the one that computes
  bool reshard_after_forward = true;  // gathered parameters are given up between forward and backward
  bool narrow_shards =
      true;              // stage 3 keeps shards in the parameters' format beside the master copy; else casts from it
  bool pipeline = true;  // whether sharded gradients and parameters go together with pipeline stages
};

struct Recompute {
  bool gathers_saved_input = false;  // a layer's saved input is split over tensor-parallel ranks
  bool covers_ends = false;          // full recomputation takes in embedding, last norm and head, not the loss
};

// What a pipeline stage keeps although it has no use for it.
struct StageBuffers {
  // Results (logits) of earlier micro-batches on the last stage: slots that are overwritten, not emptied.
  std::int64_t results = 0;
};

// What the release can do at all; a plan that asks for more gets a warning.
struct Capabilities {
  bool sequence_parallel = true;
  bool selective_recompute = true;
  std::int64_t zero = 1;  // highest stage
  bool interleaved = true;
};

// What the framework takes from the device beside the tensors of the plan.
//   reserved = held + factor x passing, rounded up to whole segments; held includes the matrix library's workspace
struct Allocator {
  // Reserved over allocated memory at the peak, of what comes and goes during a step: caching and fragmentation. What
  // is held throughout is allocated once.
  double reserve_factor = 1.0;
  // In its place where the ranks of one copy of the model exchange activations during a step: what is handed to a
  // communicator's stream cannot be reused before that stream has passed it. Absent: the same.
  std::optional<double> exchange_factor = {};
  // A block that a communicator's stream has used is given out again only when that stream has passed it. The host,
  // which runs ahead of the device by a pass, allocates anew what the reductions of tensor-parallel ranks used.
  // (PyTorch, c10/cuda/CUDACachingAllocator.cpp, recordStream.)
  bool records_streams = false;
  core::Bytes segment = {};         // granularity at which memory is taken from the device; 0: bytes
  core::Bytes gemm_workspace = {};  // of the matrix library, for as long as the program runs

  double factor(bool exchanges) const { return exchanges ? exchange_factor.value_or(reserve_factor) : reserve_factor; }
  // `held` throughout the step, `passing` beside it at the peak.
  core::Bytes reserved(core::Bytes held, core::Bytes passing, bool exchanges) const;
};

struct FittedNumbers {
  core::Seconds host_per_kernel = {};
  core::Seconds host_per_micro_batch = {};
  core::Seconds host_per_step = {};
  // Kernels' worth of host time that every rank of a tensor-parallel group adds to each of the group's collectives, in
  // a pipeline whose messages leave their domain. Observed, without a cause that is known.
  std::int64_t launches_per_peer = 0;
};

struct FrameworkProfile {
  std::string name = {};
  Kernels kernels = {};
  FusedSoftmax fused_softmax = {};
  Accumulation accumulation = {};
  OverlapDefaults overlap = {};
  StageRule stages = StageRule::even;
  PointToPoint p2p = {};
  HostBehaviour host = {};
  OptimizerStep optimizer = {};
  Sharding sharding = {};
  Recompute recompute = {};
  StageBuffers buffers = {};
  Allocator allocator = {};
  Capabilities capabilities = {};
  FittedNumbers fitted = {};
  std::vector<std::pair<std::string, config::Node>> releases = {};  // empty once a release has been laid over the file

  // The recipe with the framework's own choices; keys the experiment set itself are the caller's to restore.
  PrecisionRecipe adjust(PrecisionRecipe recipe) const;
};

void describe(config::Fields& fields, Kernels& kernels);
void describe(config::Fields& fields, FusedSoftmax& softmax);
void describe(config::Fields& fields, Bucket& bucket);
void describe(config::Fields& fields, OverlapDefaults& overlap);
void describe(config::Fields& fields, PointToPoint& p2p);
void describe(config::Fields& fields, HostBehaviour& host);
void describe(config::Fields& fields, Accumulation& accumulation);
void describe(config::Fields& fields, OptimizerStep& optimizer);
void describe(config::Fields& fields, Sharding& sharding);
void describe(config::Fields& fields, Recompute& recompute);
void describe(config::Fields& fields, StageBuffers& buffers);
void describe(config::Fields& fields, Allocator& allocator);
void describe(config::Fields& fields, Capabilities& capabilities);
void describe(config::Fields& fields, FittedNumbers& fitted);
void describe(config::Fields& fields, FrameworkProfile& profile);

}  // namespace cairn::hardware
