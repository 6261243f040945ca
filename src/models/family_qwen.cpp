// Qwen 2 and 3.
#include <algorithm>
#include <string>
#include <vector>

#include "family.h"

namespace cairn::models {
namespace {

constexpr std::int64_t k_qwen_absent_kv_heads = 32;

// Which layers of a qwen model look back only a window: those listed, else all from max_window_layers on.
void describe_windows(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  constexpr std::int64_t k_absent_window = 4096, k_absent_full_layers = 28;
  bool use_window = false;
  f.flag("use_sliding_window", use_window);
  std::optional<std::int64_t> window;
  if (node.find("sliding_window") == nullptr) window = k_absent_window;
  f.count("sliding_window", window, {.minimum = 1, .maximum = k_max_positions});
  std::int64_t full_layers = k_absent_full_layers;
  f.count("max_window_layers", full_layers);
  std::vector<std::string> types;
  f.texts("layer_types", types);
  f.check(
      "layer_types", [&] { return types.empty() || static_cast<std::int64_t>(types.size()) == c.layers; },
      "does not list as many layers as num_hidden_layers", "list one type per layer");
  for (const std::string& type : types) {
    f.check(
        "layer_types", [&] { return type == "full_attention" || type == "sliding_attention"; },
        "names an attention that is not modelled yet", "full_attention or sliding_attention");
  }
  if (!use_window || !window) return;
  const AttentionPattern sliding{.kind = AttentionKind::sliding, .window = *window};
  for (std::int64_t layer = 0; layer < c.layers; ++layer) {
    const auto listed = static_cast<std::size_t>(layer);
    const bool slides =
        types.empty() ? layer >= full_layers : listed < types.size() && types[listed] == "sliding_attention";
    append_layer(c, {.attention = slides ? sliding : AttentionPattern{}});
  }
}

}  // namespace

void describe_qwen2(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  c.qkv_bias = true;
  describe_gated(f, node, c, k_qwen_absent_kv_heads);
  describe_windows(f, node, c);
}

void describe_qwen3(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  constexpr std::int64_t k_absent_head_dim = 128;
  c.qk_norm = QkNorm::head;
  if (node.find("head_dim") == nullptr) c.head_dim = k_absent_head_dim;
  describe_gated(f, node, c, k_qwen_absent_kv_heads);
  bool attention_bias = false;
  f.flag("attention_bias", attention_bias);
  c.qkv_bias = c.projection_bias = attention_bias;
  describe_windows(f, node, c);
}

void describe_qwen3_moe(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  constexpr std::int64_t k_absent_kv_heads = 4;
  c.qk_norm = QkNorm::head;
  describe_gated(f, node, c, k_absent_kv_heads);
  bool attention_bias = false;
  f.flag("attention_bias", attention_bias);
  c.qkv_bias = c.projection_bias = attention_bias;
  MixtureConfig mixture{.experts = 128, .top_k = 8, .ffn = 768};
  f.count("num_experts", mixture.experts, {.minimum = 1, .maximum = k_max_experts});
  f.count("num_experts_per_tok", mixture.top_k, {.minimum = 1, .maximum = k_max_experts});
  f.count("moe_intermediate_size", mixture.ffn, {.minimum = 1, .maximum = k_max_ffn});
  std::int64_t step = 1;
  f.count("decoder_sparse_step", step, {.minimum = 1, .maximum = k_max_layers});
  std::vector<std::int64_t> dense;
  f.counts("mlp_only_layers", dense);
  bool use_window = false;
  f.flag("use_sliding_window", use_window);
  refuse_if(f, "use_sliding_window", use_window, "a window beside experts is not modelled");
  c.moe = mixture;
  // Layer l has experts where l + 1 is a multiple of the step, unless listed.
  if (step == 1 && dense.empty()) return;
  for (std::int64_t layer = 0; layer < c.layers; ++layer) {
    const bool listed = std::find(dense.begin(), dense.end(), layer) != dense.end();
    append_layer(c, {.mlp = !listed && (layer + 1) % step == 0 ? MlpKind::moe : MlpKind::dense});
  }
}

}  // namespace cairn::models
