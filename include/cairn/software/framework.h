// A framework profile: how a training framework (Megatron-LM, FSDP, ...) runs a plan. It holds facts that its source
// code shows, and a few numbers that can only be fitted:
//   host limits (hardware/host_times.h)   the rows of k_host_numbers
//   memory (hardware/allocator.h)         reserve_factor and exchange_factor, of frameworks whose tensors are not all
//                                         known
// Every profile has values of its own; `ideal` has the host limits at 0.
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
#include "cairn/hardware/accelerator.h"
#include "cairn/hardware/allocator.h"
#include "cairn/hardware/host_times.h"
#include "cairn/models/kernels.h"
#include "cairn/numerics/format.h"
#include "cairn/plan/framework_behaviour.h"
#include "cairn/software/precision.h"

namespace cairn::software {

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
  std::optional<bool> dp_reduce_zero3 = {};    // dp_reduce where ranks share parameters; default: as for ZeRO 1 and up
  bool tp_backward = false;  // all-reduce or gather of an input gradient beside the weight gradient's product
  bool pp = false;
  bool ep = false;  // transfers of routed tokens beside the shared experts
  Bucket bucket = {};
};

// How a pipeline is cut where an experiment does not say.
//   even       as many layers in every stage; others are an error
//   balanced   the slowest stage as fast as possible, by times that are predicted
//   by_weight  stages filled in turn up to their share of the weights of layers and head (pipeline/balanced_split.h)
enum class StageRule : std::uint8_t { even, balanced, by_weight };

// recipe: as the precision recipe says; parameters: accumulated and reduced in the parameters' own format.
enum class GradientFormat : std::uint8_t { recipe, parameters };

struct Accumulation {
  bool fused = true;  // the weight gradient's product adds into the gradient buffer
  GradientFormat format = GradientFormat::recipe;
  // Every backward pass leaves whole gradients in the parameters' format beside the buffer they are added to. Counted
  // as held throughout: all there from the end of one backward pass to its addition, or, in the reducer's buckets,
  // always.
  bool separate_buffer = false;
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

// What the release can do at all; a plan that asks for more gets a warning.
struct Capabilities {
  bool sequence_parallel = true;
  bool selective_recompute = true;
  std::int64_t zero = 1;  // highest stage
  bool interleaved = true;
};

struct FrameworkProfile {
  std::string name = {};
  models::Kernels kernels = {};  // defaults of `training.kernels`
  // Its attention kernel on accelerators of an architecture, in place of that of `kernels`.
  std::vector<std::pair<std::string, models::AttentionKernel>> attention_on = {};
  std::string libraries = {};  // releases of libraries it runs, as calibrations name them; empty: calibrations' own
  FusedSoftmax fused_softmax = {};
  Accumulation accumulation = {};
  OverlapDefaults overlap = {};
  StageRule stages = StageRule::even;
  std::string attention_sharing = "zigzag";  // default of strategy.attention: a scheme of sequence/scheme.h
  bool attention_fp32_gradients = false;     // default of strategy.attention.fp32_gradients
  // Passes over memory beside the update itself, whose reads and writes follow from the recipe and from whether it is
  // one kernel.
  plan::StepEndBehaviour step_end{.gradient_copy = true, .separate_parameter_copy = true};
  Sharding sharding = {};
  std::vector<models::AttentionKernel> repeats_attention = {};  // kernels that per-op recomputation runs again
  bool gathers_saved_input = false;  // a layer's saved input is split over tensor-parallel ranks that recompute it
  // Behaviour that changes the Program, from several keys of the file; whole_behaviour() adds what the fit decides.
  plan::FrameworkBehaviour behaviour{.scatter_sends = true, .host_waits = plan::HostWaits::unless_interleaved};
  hardware::Allocator allocator = {};
  Capabilities capabilities = {};
  hardware::HostTimes host_times = {};
  std::vector<std::pair<std::string, config::Node>> releases = {};  // empty once a release has been laid over the file

  models::Kernels kernels_on(const hardware::Accelerator& accelerator) const;
  // The recipe with the framework's own choices; the caller restores keys that the experiment itself sets.
  PrecisionRecipe adjust(PrecisionRecipe recipe) const;
  // `behaviour` with the members that depend on the fitted numbers (issues_per_peer, issues_per_peer_across): neither
  // where a kernel costs the host nothing, since further ones then cost nothing either.
  plan::FrameworkBehaviour whole_behaviour() const;
};

void describe(config::Fields& fields, FusedSoftmax& softmax);
void describe(config::Fields& fields, Bucket& bucket);
void describe(config::Fields& fields, OverlapDefaults& overlap);
void describe(config::Fields& fields, Sharding& sharding);
void describe(config::Fields& fields, Capabilities& capabilities);
void describe(config::Fields& fields, FrameworkProfile& profile);

}  // namespace cairn::software
