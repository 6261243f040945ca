// The kernels that a training program runs a transformer's operators with: a framework has its own, an experiment may
// name others.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cairn/config/fields.h"

namespace cairn::models {

enum class AttentionKernel : std::uint8_t {
#define CAIRN_ATTENTION_KERNEL(name, text, scores) name,
#include "cairn/models/attention_kernels.def"
#undef CAIRN_ATTENTION_KERNEL
};
inline constexpr std::array k_attention_kernels{
#define CAIRN_ATTENTION_KERNEL(name, text, scores) AttentionKernel::name,
#include "cairn/models/attention_kernels.def"
#undef CAIRN_ATTENTION_KERNEL
};
enum class NormKernel : std::uint8_t { fused, unfused };
// fused: bias, activation, dropout and residual addition in one kernel per place, as hand-fused by training frameworks.
// eager: one kernel per elementary operation.
enum class PointwiseKernel : std::uint8_t { fused, eager };
// fused: one kernel. unfused: a chain of fp32 kernels over one widened copy, whose derivative is written by hand.
// log_softmax: library operators under automatic differentiation, each with a result of its own. fused_linear: one kernel
// over the logits of a piece of the tokens, which the head makes piece by piece and the gradient overwrites.
enum class LossKernel : std::uint8_t { fused, unfused, log_softmax, fused_linear };
// What writes transposed copies of operands in FP8. plain: at the rate of other pointwise kernels; else the kernels of a
// library, whose rate calibrations know.
enum class TransposeKernel : std::uint8_t { plain, transformer_engine };

// As files write it.
std::string_view name(AttentionKernel kernel);
// As calibrations name its measurements.
const char* variant(AttentionKernel kernel);
std::string name(TransposeKernel kernel);   // empty: plain
bool keeps_scores(AttentionKernel kernel);  // whether the scores are written to device memory between kernels

struct Kernels {
  AttentionKernel attention = AttentionKernel::flash2;
  NormKernel norm = NormKernel::fused;
  PointwiseKernel pointwise = PointwiseKernel::fused;
  LossKernel loss = LossKernel::unfused;
  TransposeKernel transpose = TransposeKernel::plain;
  bool wide_scores = false;        // unfused attention widens the scores to fp32 before it scales and masks them
  bool scaled_product = false;     // the product of queries and keys scales its result: no pass of its own
  bool separate_qkv = false;       // queries, keys and values are products of their own
  bool repeats_keys = false;       // keys and values of their own products are copied to every query head
  bool copies_qkv = false;         // where every head has its own keys: queries, keys and values are copied, keys and
                                   // values again, and then rotated in place
  bool separate_gate = false;      // a gated MLP's two input projections are products of their own
  bool narrow_norm = false;        // unfused RMS normalisation computes in the activations' format
  bool wide_norm = false;          // fused normalisation reads a widened copy, which is made again for its derivative
  bool one_pass_norm = false;      // the derivative of a fused normalisation makes its parameters' gradients, too
  bool joins_qkv = false;          // gradients of queries, keys and values are made apart and then copied into one;
                                   // not where cuDNN reads all of them from one tensor
  bool weighted_experts = false;   // experts scale their rows by the router's weights, which travel with these
  bool sorts_rows = false;         // all-to-all dispatcher: ranks of several experts sort rows by expert, and back
  bool fused_router = false;       // choice and balancing loss of the router in kernels of their own, not operation by
                                   // operation
  bool copies_logits = false;      // unfused loss: the maximum is subtracted into a further fp32 tensor, not in place
  bool finds_best_token = false;   // log_softmax: every row's largest logit is found again, for the accuracy
  bool gathers_logits = false;     // every tensor-parallel rank gathers all logits and computes the whole loss
  std::int64_t metric_passes = 0;  // over the logits' bytes, by metrics that a training loop computes beside the loss
  bool compiled_loss = false;      // where a compiler is used, it takes in the loss
  bool compiled = false;           // a compiler fuses norms and pointwise chains, whatever the two say

  bool repeats_heads() const { return repeats_keys && separate_qkv; }
  bool fused_norm() const { return compiled || norm == NormKernel::fused; }
  bool widens_norm() const { return wide_norm && norm == NormKernel::fused && !compiled; }
  LossKernel loss_kernel() const {
    return compiled && compiled_loss && loss != LossKernel::fused_linear ? LossKernel::fused : loss;
  }
  bool fused_pointwise() const { return compiled || pointwise == PointwiseKernel::fused; }
  friend bool operator==(const Kernels&, const Kernels&) = default;
};

// Those that an experiment may name; what it leaves out is the framework's.
struct KernelChoice {
  std::optional<AttentionKernel> attention = {};
  std::optional<NormKernel> norm = {};
  std::optional<PointwiseKernel> pointwise = {};
  std::optional<LossKernel> loss = {};
  std::optional<bool> compiled = {};

  Kernels over(Kernels kernels) const;
};
// The choice that names them all.
KernelChoice choice_of(const Kernels& kernels);

void describe(config::Value& value, AttentionKernel& kernel);
void describe(config::Fields& fields, Kernels& kernels);
void describe(config::Fields& fields, KernelChoice& kernels);

}  // namespace cairn::models
