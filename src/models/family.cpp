#include "family.h"

#include <algorithm>
#include <optional>

namespace cairn::models {

std::string_view spelling(const config::Node& node, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (const config::Node* value = node.find(name); value != nullptr && !value->is_null()) return name;
  }
  return *names.begin();
}

void refuse_if(config::Fields& f, std::string_view key, bool present, std::string_view message) {
  f.check(
      key, [present] { return !present; }, message, "no layer of this kind can be built");
}

void describe_shape(config::Fields& f, TransformerConfig& c, const ShapeKeys& keys) {
  f.text("_name_or_path", c.name);
  f.count(keys.layers, c.layers, {.required = true, .minimum = 1, .maximum = k_max_layers});
  f.count(keys.hidden, c.hidden, {.required = true, .minimum = 1, .maximum = k_max_width});
  f.count(keys.heads, c.heads, {.required = true, .minimum = 1, .maximum = k_max_heads});
  f.count("vocab_size", c.vocab, {.required = true, .minimum = 1, .maximum = k_max_vocab});
}

void describe_activation(config::Fields& f, std::string_view key, TransformerConfig& c) {
  f.choice(key, c.activation,
           {{"gelu", Activation::gelu},
            {"gelu_new", Activation::gelu},
            {"gelu_fast", Activation::gelu},
            {"gelu_pytorch_tanh", Activation::gelu},
            {"silu", Activation::silu},
            {"swish", Activation::silu},
            {"relu", Activation::relu},
            {"relu2", Activation::squared_relu}});
}

void describe_gated(config::Fields& f, const config::Node& node, TransformerConfig& c, std::int64_t absent_kv_heads) {
  c.norm = Norm::rmsnorm;
  c.position = PositionEncoding::rope;
  c.gated_mlp = true;
  c.bias = false;
  c.activation = Activation::silu;
  describe_shape(f, c, {.layers = "num_hidden_layers", .hidden = "hidden_size", .heads = "num_attention_heads"});
  f.count("intermediate_size", c.ffn, {.required = true, .minimum = 1, .maximum = k_max_ffn});
  if (absent_kv_heads > 0 && node.find("num_key_value_heads") == nullptr) c.kv_heads = absent_kv_heads;
  f.count("num_key_value_heads", c.kv_heads, {.minimum = 1, .maximum = k_max_heads});
  f.count("head_dim", c.head_dim, {.minimum = 1, .maximum = k_max_width});
  f.flag("tie_word_embeddings", c.tied_embeddings);
  f.number("attention_dropout", c.attention_dropout, {.maximum = 1.0});
  describe_activation(f, "hidden_act", c);
}

std::vector<std::string> describe_layer_types(config::Fields& f, const TransformerConfig& c,
                                              std::initializer_list<std::string_view> known,
                                              const std::function<std::string(std::int64_t)>& absent) {
  std::vector<std::string> types;
  f.texts("layer_types", types);
  f.check(
      "layer_types", [&] { return types.empty() || static_cast<std::int64_t>(types.size()) == c.layers; },
      "does not list as many layers as num_hidden_layers", "list one type per layer");
  std::string names;
  for (const std::string_view name : known) names += (names.empty() ? "" : " or ") + std::string(name);
  f.check(
      "layer_types",
      [&] {
        return std::all_of(types.begin(), types.end(), [&](const std::string& type) {
          return std::find(known.begin(), known.end(), type) != known.end();
        });
      },
      "names an attention that is not modelled yet", names);
  if (types.empty())
    for (std::int64_t layer = 0; layer < c.layers; ++layer) types.push_back(absent(layer));
  return types;
}

std::optional<std::int64_t> describe_optional(config::Fields& f, const config::Node& node, std::string_view key,
                                              std::int64_t absent, std::int64_t maximum) {
  std::optional<std::int64_t> count;
  if (node.find(key) == nullptr) count = absent;
  f.count(key, count, {.minimum = 1, .maximum = maximum});
  return count;
}

void set_sliding_layers(TransformerConfig& c, const std::vector<std::string>& types, std::int64_t window) {
  std::vector<BlockPattern> layers;
  for (const std::string& type : types)
    layers.push_back({.attention = type == k_sliding_layer
                                       ? AttentionPattern{.kind = AttentionKind::sliding, .window = window}
                                       : AttentionPattern{}});
  set_layers(c, layers);
}

void describe_alternation(config::Fields& f, const config::Node& node, TransformerConfig& c, std::int64_t absent_window,
                          const std::function<bool(std::int64_t)>& slides) {
  const std::optional<std::int64_t> window =
      describe_optional(f, node, "sliding_window", absent_window, k_max_positions);
  const std::vector<std::string> types = describe_layer_types(
      f, c, {k_full_layer, k_sliding_layer},
      [&](std::int64_t layer) { return std::string(slides(layer) ? k_sliding_layer : k_full_layer); });
  if (!window) return;
  set_sliding_layers(c, types, *window);
}

void describe_attention_bias(config::Fields& f, TransformerConfig& c, bool absent) {
  bool attention_bias = absent;
  f.flag("attention_bias", attention_bias);
  c.qkv_bias = c.projection_bias = attention_bias;
}

void describe_rotation(config::Fields& f, TransformerConfig& c, std::string_view key, double absent) {
  double share = absent;
  f.number(key, share, {.maximum = 1.0, .positive = true});
  if (share < 1.0 && c.heads > 0) c.rope_dim = static_cast<std::int64_t>(static_cast<double>(c.head_size()) * share);
}

void set_layers(TransformerConfig& c, const std::vector<BlockPattern>& layers) {
  const auto same = [](const BlockPattern& a, const BlockPattern& b) {
    return a.attention == b.attention && a.mlp == b.mlp;
  };
  const auto repeats = [&](std::size_t period) {
    if (layers.size() % period != 0) return false;
    for (std::size_t layer = period; layer < layers.size(); ++layer)
      if (!same(layers[layer], layers[layer - period])) return false;
    return true;
  };
  c.blocks.clear();
  std::size_t period = 1;
  while (period < layers.size() && !repeats(period)) ++period;
  for (std::size_t layer = 0; layer < std::min(period, layers.size()); ++layer) {
    if (!c.blocks.empty() && same(c.blocks.back(), layers[layer]))
      ++c.blocks.back().repeat;
    else
      c.blocks.push_back(layers[layer]);
  }
  if (period == 1 && !c.blocks.empty()) c.blocks.front().repeat = c.layers;
}

void dense_then_moe(TransformerConfig& c, std::int64_t dense) {
  c.blocks.clear();
  if (dense > 0) c.blocks.push_back({.repeat = dense, .mlp = MlpKind::dense});
  if (c.layers > dense) c.blocks.push_back({.repeat = c.layers - dense, .mlp = MlpKind::moe});
}

}  // namespace cairn::models
