// Llama and its nearest kin.
#include "family.h"

namespace cairn::models {

void describe_llama(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  describe_gated(f, node, c, 0);
  bool attention_bias = false;
  f.flag("attention_bias", attention_bias);
  c.qkv_bias = c.projection_bias = attention_bias;
  f.flag("mlp_bias", c.mlp_bias);
}

void describe_mistral(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  constexpr std::int64_t k_absent_kv_heads = 8, k_absent_window = 4096;
  describe_gated(f, node, c, k_absent_kv_heads);
  std::optional<std::int64_t> window;
  if (node.find("sliding_window") == nullptr) window = k_absent_window;
  f.count("sliding_window", window, {.minimum = 1, .maximum = k_max_positions});
  if (window) c.blocks = {{.repeat = c.layers, .attention = AttentionPattern{AttentionKind::sliding, *window}}};
}

void describe_mixtral(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  constexpr std::int64_t k_absent_kv_heads = 8;
  describe_gated(f, node, c, k_absent_kv_heads);
  MixtureConfig mixture{.experts = 8, .top_k = 2, .ffn = c.ffn};
  f.count("num_local_experts", mixture.experts, {.minimum = 1, .maximum = k_max_experts});
  f.count("num_experts_per_tok", mixture.top_k, {.minimum = 1, .maximum = k_max_experts});
  std::optional<std::int64_t> window;
  f.count("sliding_window", window, {.minimum = 1, .maximum = k_max_positions});
  c.moe = mixture;
  if (window) c.blocks = {{.repeat = c.layers, .attention = AttentionPattern{AttentionKind::sliding, *window}}};
}

}  // namespace cairn::models
