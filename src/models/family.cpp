#include "family.h"

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

void append_layer(TransformerConfig& c, const BlockPattern& layer) {
  const auto same = [&](const BlockPattern& last) {
    return last.attention == layer.attention && last.mlp == layer.mlp;
  };
  if (!c.blocks.empty() && same(c.blocks.back()))
    ++c.blocks.back().repeat;
  else
    c.blocks.push_back(layer);
}

void dense_then_moe(TransformerConfig& c, std::int64_t dense) {
  c.blocks.clear();
  if (dense > 0) c.blocks.push_back({.repeat = dense, .mlp = MlpKind::dense});
  if (c.layers > dense) c.blocks.push_back({.repeat = c.layers - dense, .mlp = MlpKind::moe});
}

}  // namespace cairn::models
