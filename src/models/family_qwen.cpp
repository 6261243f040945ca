// Qwen 2, 3 and 3 Next.
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
  const std::optional<std::int64_t> window =
      describe_optional(f, node, "sliding_window", k_absent_window, k_max_positions);
  std::int64_t full_layers = k_absent_full_layers;
  f.count("max_window_layers", full_layers);
  const std::vector<std::string> types = describe_layer_types(
      f, c, {k_full_layer, k_sliding_layer},
      [&](std::int64_t layer) { return std::string(layer >= full_layers ? k_sliding_layer : k_full_layer); });
  if (!use_window || !window) return;
  set_sliding_layers(c, types, *window);
}

void describe_experts(config::Fields& f, MixtureConfig& mixture) {
  f.count("num_experts", mixture.experts, {.minimum = 1, .maximum = k_max_experts});
  f.count("num_experts_per_tok", mixture.top_k, {.minimum = 1, .maximum = k_max_experts});
  f.count("moe_intermediate_size", mixture.ffn, {.minimum = 1, .maximum = k_max_ffn});
}

// Layer l has experts where l + 1 is a multiple of the step, unless listed.
std::vector<BlockPattern> describe_sparse_layers(config::Fields& f, const TransformerConfig& c) {
  std::int64_t step = 1;
  f.count("decoder_sparse_step", step, {.minimum = 1, .maximum = k_max_layers});
  std::vector<std::int64_t> dense;
  f.counts("mlp_only_layers", dense);
  std::vector<BlockPattern> layers;
  for (std::int64_t layer = 0; layer < c.layers; ++layer) {
    const bool listed = std::find(dense.begin(), dense.end(), layer) != dense.end();
    layers.push_back({.mlp = !listed && (layer + 1) % step == 0 ? MlpKind::moe : MlpKind::dense});
  }
  return layers;
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
  describe_attention_bias(f, c);
  describe_windows(f, node, c);
}

void describe_qwen3_moe(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  constexpr std::int64_t k_absent_kv_heads = 4;
  c.qk_norm = QkNorm::head;
  describe_gated(f, node, c, k_absent_kv_heads);
  describe_attention_bias(f, c);
  MixtureConfig mixture{.experts = 128, .top_k = 8, .ffn = 768};
  describe_experts(f, mixture);
  const std::vector<BlockPattern> layers = describe_sparse_layers(f, c);
  bool use_window = false;
  f.flag("use_sliding_window", use_window);
  refuse_if(f, "use_sliding_window", use_window, "a window beside experts is not modelled");
  c.moe = mixture;
  const bool all =
      std::all_of(layers.begin(), layers.end(), [](const BlockPattern& b) { return b.mlp == MlpKind::moe; });
  if (!all) set_layers(c, layers);
}

// Three layers with a delta rule, one with attention; experts beside a weighted shared one.
void describe_qwen3_next(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  constexpr std::int64_t k_absent_kv_heads = 2, k_absent_head_dim = 256;
  constexpr double k_absent_rotation = 0.25;
  c.qk_norm = QkNorm::head;
  c.attention_gate = true;
  if (node.find("head_dim") == nullptr) c.head_dim = k_absent_head_dim;
  describe_gated(f, node, c, k_absent_kv_heads);
  describe_attention_bias(f, c);
  describe_rotation(f, c, "partial_rotary_factor", k_absent_rotation);
  MixtureConfig mixture{.experts = 512, .top_k = 10, .ffn = 512};
  describe_experts(f, mixture);
  std::int64_t shared = 512;
  f.count("shared_expert_intermediate_size", shared, {.maximum = k_max_ffn});
  if (shared > 0) {
    mixture.shared_experts = 1;
    mixture.shared_ffn = shared;
    mixture.shared_gate = true;
  }
  c.moe = mixture;
  DeltaConfig delta{.key_heads = 16, .value_heads = 32, .key_dim = 128, .value_dim = 128, .convolution = 4};
  f.count("linear_num_key_heads", delta.key_heads, {.minimum = 1, .maximum = k_max_heads});
  f.count("linear_num_value_heads", delta.value_heads, {.minimum = 1, .maximum = k_max_heads});
  f.count("linear_key_head_dim", delta.key_dim, {.minimum = 1, .maximum = k_max_width});
  f.count("linear_value_head_dim", delta.value_dim, {.minimum = 1, .maximum = k_max_width});
  f.count("linear_conv_kernel_dim", delta.convolution, {.minimum = 1, .maximum = k_max_width});
  c.delta = delta;
  std::int64_t interval = 4;
  f.count("full_attention_interval", interval, {.minimum = 1, .maximum = k_max_layers});
  constexpr std::string_view k_linear_layer = "linear_attention";
  const std::vector<std::string> types = describe_layer_types(
      f, c, {k_full_layer, k_linear_layer},
      [&](std::int64_t layer) { return std::string((layer + 1) % interval == 0 ? k_full_layer : k_linear_layer); });
  std::vector<BlockPattern> layers = describe_sparse_layers(f, c);
  for (std::size_t layer = 0; layer < std::min(layers.size(), types.size()); ++layer)
    layers[layer].attention =
        AttentionPattern{.kind = types[layer] == k_full_layer ? AttentionKind::full : AttentionKind::delta};
  set_layers(c, layers);
}

}  // namespace cairn::models
