// A decoder-only transformer as layer classes: `embedding` (entry), one class per distinct block (body), `head` (exit).
//
// Pre-norm block, b = batch, s = sequence, h = hidden:
//   y = norm1(x); qkv = W_qkv y; rotate q, k; context = attention(q, k, v); x1 = x + dropout(W_proj context)
//   y = norm2(x1); x2 = x1 + dropout(W_fc2 activation(W_fc1 y))
//
// Operators split and merge along dimensions of these names:
//   batch, sequence (query, key: the two roles a token plays in attention), hidden, kv_heads, group (query heads of one
//   kv head), qkv (index inside one kv head of the fused projection's output: group queries, one key, one value),
//   head_dim, ffn, gate (0: goes through the activation, 1: factor), vocab, positions, classes (the vocabulary where
//   the loss is not split); ways (sub-layers side by side, see src/models/kraken.cpp); q_lora, kv_lora (latent
//   attention); chunk (a run of the sequence: attention in chunks, linear attention, delta rule, state-space mixer),
//   position, key_position (places in it); key_dim, mixed, tap (delta rule and its convolution); state_groups (see
//   src/models/mamba2.cpp); peer, source, experts, slots, expert_ffn (see src/models/mixture.h), choices, choice
//   (router).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cairn/ir/model.h"
#include "cairn/ir/narrow.h"
#include "cairn/models/kernels.h"
#include "cairn/models/transformer_config.h"
#include "cairn/numerics/format.h"

namespace cairn::models {

struct BuildOptions {
  Kernels kernels;
  numerics::Format activation = numerics::Format::bf16;
  numerics::Format parameter = numerics::Format::bf16;
  numerics::Format parameter_gradient = numerics::Format::fp32;
  bool fused_accumulation = true;
  std::optional<ir::NarrowProducts> narrow = {};  // products of body layers; own_parts is filled in by the builder
  // Ranks that share the vocabulary: it is padded to a multiple of vocab_multiple times this. 0: not padded, as in
  // published parameter counts.
  std::int64_t vocab_divisor = 0;
  // The micro-batch is cut into so many equal parts that pass each layer in turn: transfers of one part overlap the
  // computation of another (two-batch overlap of experts).
  std::int64_t parts = 1;
  // Shared experts run during the token exchange to the routed experts, not after these.
  bool shared_experts_first = false;
  // Domains that hold experts, for a router in two levels.
  std::int64_t expert_domains = 1;
  // A rank holds several experts.
  bool several_experts = false;
  friend bool operator==(const BuildOptions&, const BuildOptions&) = default;
};

// The model with its backward pass. FLOPs of operators that are no contractions are counts of elementary operations per
// point, listed beside each operator in the sources; they never decide a price, which bytes do.
// Not modelled as operators: the rotation and slope tables (b x heads times smaller than what they act on), the scalar
// mean of the token losses. Errors: core::ConfigurationError, as validate(); learned positions without max_positions.
ir::Model build_transformer(const TransformerConfig& config, const BuildOptions& options);

// Assumptions in the description of such a model run by such kernels, one sentence each.
std::vector<std::string> assumptions(const TransformerConfig& config, const Kernels& kernels);

// All parameters, tied ones once; and those that a token meets: of routed experts only the ones it goes to.
//   active = total - (1 - top_k / experts) x parameters of routed experts
// Modules that predict further tokens serve training alone and are counted apart.
struct ParameterCount {
  std::int64_t total = 0;
  std::int64_t active = 0;
  std::int64_t prediction = 0;
};
ParameterCount count_parameters(const TransformerConfig& config, const ir::Model& model);

}  // namespace cairn::models
