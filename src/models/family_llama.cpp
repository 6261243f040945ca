// Llama and its nearest kin.
#include <algorithm>
#include <optional>
#include <vector>

#include "family.h"

namespace cairn::models {

void describe_llama(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  describe_gated(f, node, c, 0);
  describe_attention_bias(f, c);
  f.flag("mlp_bias", c.mlp_bias);
}

void describe_mistral(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  constexpr std::int64_t k_absent_kv_heads = 8, k_absent_window = 4096;
  describe_gated(f, node, c, k_absent_kv_heads);
  const std::optional<std::int64_t> window =
      describe_optional(f, node, "sliding_window", k_absent_window, k_max_positions);
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

// The window is null in files of models without one.
void describe_phi3(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  describe_gated(f, node, c, 0);
  c.embedding_dropout = 0.0;
  f.number("resid_pdrop", c.dropout, {.maximum = 1.0});
  f.number("embd_pdrop", c.embedding_dropout, {.maximum = 1.0});
  describe_rotation(f, c, "partial_rotary_factor", 1.0);
  std::optional<std::int64_t> window;
  f.count("sliding_window", window, {.minimum = 1, .maximum = k_max_positions});
  if (window) c.blocks = {{.repeat = c.layers, .attention = AttentionPattern{AttentionKind::sliding, *window}}};
}

// Norms behind attention and MLP, and of all queries and all keys together.
void describe_olmo2(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  c.norm_place = NormPlace::post;
  c.qk_norm = QkNorm::whole;
  describe_gated(f, node, c, 0);
  describe_attention_bias(f, c);
}

// Layers in chunks, rotated, and every fourth over the whole sequence, not rotated; experts in every n-th.
void describe_llama4(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  constexpr std::int64_t k_absent_kv_heads = 8, k_absent_head_dim = 128, k_absent_dense_ffn = 16384,
                         k_absent_chunk = 8192;
  if (node.find("head_dim") == nullptr) c.head_dim = k_absent_head_dim;
  describe_gated(f, node, c, k_absent_kv_heads);
  describe_attention_bias(f, c);
  MixtureConfig mixture{.experts = 16, .top_k = 1, .ffn = c.ffn, .shared_experts = 1};
  f.count("num_local_experts", mixture.experts, {.minimum = 1, .maximum = k_max_experts});
  f.count("num_experts_per_tok", mixture.top_k, {.minimum = 1, .maximum = k_max_experts});
  c.moe = mixture;
  c.ffn = k_absent_dense_ffn;
  f.count("intermediate_size_mlp", c.ffn, {.minimum = 1, .maximum = k_max_ffn});
  bool normalises = true;
  f.flag("use_qk_norm", normalises);
  if (normalises) c.qk_norm = QkNorm::unscaled;
  c.nope_scale = true;
  f.flag("attn_temperature_tuning", c.nope_scale);
  const std::optional<std::int64_t> chunk =
      describe_optional(f, node, "attention_chunk_size", k_absent_chunk, k_max_positions);
  std::int64_t rope_interval = 4, moe_interval = 1;
  f.count("no_rope_layer_interval", rope_interval, {.minimum = 1, .maximum = k_max_layers});
  f.count("interleave_moe_layer_step", moe_interval, {.minimum = 1, .maximum = k_max_layers});
  std::vector<std::int64_t> rotated;  // 1 where a layer's queries and keys are
  f.counts("no_rope_layers", rotated);
  f.check(
      "no_rope_layers", [&] { return rotated.empty() || static_cast<std::int64_t>(rotated.size()) >= c.layers; },
      "does not list as many layers as num_hidden_layers", "list 1 or 0 for each layer");
  std::optional<std::vector<std::int64_t>> with_experts;
  f.counts("moe_layers", with_experts);
  const AttentionPattern local =
      chunk ? AttentionPattern{.kind = AttentionKind::chunked, .window = *chunk} : AttentionPattern{};
  std::vector<BlockPattern> layers;
  for (std::int64_t layer = 0; layer < c.layers; ++layer) {
    const auto listed = static_cast<std::size_t>(layer);
    const bool rotates =
        rotated.empty() ? (layer + 1) % rope_interval != 0 : listed < rotated.size() && rotated[listed] != 0;
    const bool routes = with_experts
                            ? std::find(with_experts->begin(), with_experts->end(), layer) != with_experts->end()
                            : (layer + 1) % moe_interval == 0;
    layers.push_back({.mlp = routes ? MlpKind::moe : MlpKind::dense,
                      .attention = rotates ? local : AttentionPattern{.kind = AttentionKind::nope}});
  }
  set_layers(c, layers);
}

}  // namespace cairn::models
