// Mixtures of experts beside plain attention: GPT-OSS, GLM-4.5.
#include "family.h"

namespace cairn::models {

// Sinks, every other layer with a window, biases throughout, also of router and experts.
void describe_gpt_oss(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  constexpr std::int64_t k_absent_kv_heads = 8, k_absent_head_dim = 64, k_absent_window = 128;
  if (node.find("head_dim") == nullptr) c.head_dim = k_absent_head_dim;
  describe_gated(f, node, c, k_absent_kv_heads);
  describe_attention_bias(f, c, true);
  c.mlp_bias = true;
  c.attention_sinks = true;
  c.activation = Activation::clamped_silu;  // its file calls it silu
  MixtureConfig mixture{.experts = 128, .top_k = 4, .ffn = c.ffn, .router_bias = true};
  f.count(spelling(node, {"num_local_experts", "num_experts"}), mixture.experts,
          {.minimum = 1, .maximum = k_max_experts});
  f.count(spelling(node, {"num_experts_per_tok", "experts_per_token"}), mixture.top_k,
          {.minimum = 1, .maximum = k_max_experts});
  c.moe = mixture;
  describe_alternation(f, node, c, k_absent_window, [](std::int64_t layer) { return layer % 2 == 0; });
}

// Biases of queries, keys and values alone; dense layers first.
void describe_glm4_moe(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  constexpr std::int64_t k_absent_kv_heads = 8;
  constexpr double k_absent_rotation = 0.5;
  describe_gated(f, node, c, k_absent_kv_heads);
  bool attention_bias = false;
  f.flag("attention_bias", attention_bias);
  c.qkv_bias = attention_bias;
  bool normalises = false;
  f.flag("use_qk_norm", normalises);
  if (normalises) c.qk_norm = QkNorm::head;
  describe_rotation(f, c, "partial_rotary_factor", k_absent_rotation);
  MixtureConfig mixture{.experts = 128, .top_k = 8, .ffn = 1408, .shared_experts = 1, .balance_bias = true};
  f.count("n_routed_experts", mixture.experts, {.minimum = 1, .maximum = k_max_experts});
  f.count("num_experts_per_tok", mixture.top_k, {.minimum = 1, .maximum = k_max_experts});
  f.count("moe_intermediate_size", mixture.ffn, {.minimum = 1, .maximum = k_max_ffn});
  f.count("n_shared_experts", mixture.shared_experts, {.maximum = k_max_experts});
  c.moe = mixture;
  std::int64_t dense = 1;
  f.count("first_k_dense_replace", dense, {.maximum = k_max_layers});
  dense_then_moe(c, dense);
}

}  // namespace cairn::models
