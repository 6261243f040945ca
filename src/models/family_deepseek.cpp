// DeepSeek 2 and 3, Kimi K2: latent attention, dense blocks before those with experts.
#include "family.h"

namespace cairn::models {
namespace {

void describe_deepseek(config::Fields& f, const config::Node& node, TransformerConfig& c, std::int64_t absent_dense) {
  describe_gated(f, node, c, 0);
  LatentConfig latent{.q_lora = 1536, .kv_lora = 512, .rope_dim = 64, .nope_dim = 128, .v_dim = 128};
  if (const config::Node* q_lora = node.find("q_lora_rank"); q_lora != nullptr && q_lora->is_null())
    latent.q_lora = 0;
  else
    f.count("q_lora_rank", latent.q_lora, {.maximum = k_max_width});
  f.count("kv_lora_rank", latent.kv_lora, {.minimum = 1, .maximum = k_max_width});
  f.count("qk_rope_head_dim", latent.rope_dim, {.minimum = 1, .maximum = k_max_width});
  f.count("qk_nope_head_dim", latent.nope_dim, {.minimum = 1, .maximum = k_max_width});
  f.count("v_head_dim", latent.v_dim, {.minimum = 1, .maximum = k_max_width});
  c.mla = latent;
  c.kv_heads.reset();
  c.head_dim = latent.v_dim;
  MixtureConfig mixture{.experts = 256, .top_k = 8, .ffn = 2048};
  f.count("n_routed_experts", mixture.experts, {.minimum = 1, .maximum = k_max_experts});
  f.count("num_experts_per_tok", mixture.top_k, {.minimum = 1, .maximum = k_max_experts});
  f.count("moe_intermediate_size", mixture.ffn, {.minimum = 1, .maximum = k_max_ffn});
  f.count("n_shared_experts", mixture.shared_experts, {.maximum = k_max_experts});
  c.moe = mixture;
  std::int64_t dense = absent_dense;
  f.count("first_k_dense_replace", dense, {.maximum = k_max_layers});
  std::int64_t step = 1;
  f.count("moe_layer_freq", step, {.minimum = 1, .maximum = k_max_layers});
  refuse_if(f, "moe_layer_freq", step != 1, "experts in every n-th layer only are not modelled");
  bool attention_bias = false;
  f.flag("attention_bias", attention_bias);
  refuse_if(f, "attention_bias", attention_bias, "biases in latent attention are not modelled");
  dense_then_moe(c, dense);
}

}  // namespace

void describe_deepseek_v2(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  describe_deepseek(f, node, c, 0);
}
void describe_deepseek_v3(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  constexpr std::int64_t k_absent_dense = 3;
  describe_deepseek(f, node, c, k_absent_dense);
  c.moe->balance_bias = true;
}
void describe_kimi_k2(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  describe_deepseek_v3(f, node, c);
}

}  // namespace cairn::models
