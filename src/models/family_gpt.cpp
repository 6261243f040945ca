// GPT-2 and its kin: layer normalisation, an MLP without gate.
#include <optional>

#include "family.h"

namespace cairn::models {
namespace {

constexpr std::int64_t k_default_widening = 4;
constexpr double k_default_dropout = 0.1;

}  // namespace

void describe_gpt2(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  c.tied_embeddings = true;
  c.activation = Activation::gelu;
  describe_shape(f, c,
                 {.layers = spelling(node, {"n_layer", "num_hidden_layers"}),
                  .hidden = spelling(node, {"n_embd", "hidden_size"}),
                  .heads = spelling(node, {"n_head", "num_attention_heads"})});
  c.ffn = k_default_widening * c.hidden;
  f.count("n_inner", c.ffn, {.minimum = 1, .maximum = k_max_ffn});
  c.max_positions = 1024;
  f.count(spelling(node, {"n_positions", "max_position_embeddings"}), c.max_positions,
          {.minimum = 1, .maximum = k_max_positions});
  c.dropout = k_default_dropout;
  c.embedding_dropout = c.attention_dropout = k_default_dropout;
  f.number("resid_pdrop", c.dropout, {.maximum = 1.0});
  f.number("embd_pdrop", c.embedding_dropout, {.maximum = 1.0});
  f.number("attn_pdrop", c.attention_dropout, {.maximum = 1.0});
  f.flag("tie_word_embeddings", c.tied_embeddings);
  describe_activation(f, "activation_function", c);
  bool cross_attention = false;
  f.flag("add_cross_attention", cross_attention);
  refuse_if(f, "add_cross_attention", cross_attention, "cross-attention is not modelled yet");
}

void describe_opt(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  constexpr std::int64_t k_position_offset = 2;  // the first two rows of the table stand for no position
  c.tied_embeddings = true;
  c.activation = Activation::relu;
  describe_shape(f, c,
                 {.layers = "num_hidden_layers",
                  .hidden = spelling(node, {"hidden_size", "d_model"}),
                  .heads = "num_attention_heads"});
  f.count("ffn_dim", c.ffn, {.required = true, .minimum = 1, .maximum = k_max_ffn});
  std::int64_t positions = 2048;
  f.count("max_position_embeddings", positions, {.minimum = 1, .maximum = k_max_positions});
  c.max_positions = positions + k_position_offset;
  c.dropout = k_default_dropout;
  c.embedding_dropout = c.attention_dropout = 0.0;
  f.number("dropout", c.dropout, {.maximum = 1.0});
  f.number("attention_dropout", c.attention_dropout, {.maximum = 1.0});
  f.flag("enable_bias", c.bias);
  f.flag("tie_word_embeddings", c.tied_embeddings);
  describe_activation(f, "activation_function", c);
  std::int64_t embedding_width = c.hidden;
  f.count("word_embed_proj_dim", embedding_width, {.minimum = 1, .maximum = k_max_width});
  refuse_if(f, "word_embed_proj_dim", embedding_width != c.hidden,
            "an embedding narrower than the residual stream is not modelled yet");
  bool norm_first = true;
  f.flag("do_layer_norm_before", norm_first);
  refuse_if(f, "do_layer_norm_before", !norm_first, "normalisation after each sub-layer is not modelled yet");
  bool no_final_norm = false;
  f.flag("_remove_final_layer_norm", no_final_norm);
  refuse_if(f, "_remove_final_layer_norm", no_final_norm, "a model without final normalisation is not modelled yet");
  bool scaled_norms = true;
  f.flag("layer_norm_elementwise_affine", scaled_norms);
  refuse_if(f, "layer_norm_elementwise_affine", !scaled_norms, "normalisation without gain is not modelled yet");
}

void describe_bloom(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  c.tied_embeddings = true;
  c.position = PositionEncoding::alibi;
  c.activation = Activation::gelu;
  c.embedding_norm = true;
  describe_shape(f, c,
                 {.layers = spelling(node, {"n_layer", "num_hidden_layers"}),
                  .hidden = spelling(node, {"hidden_size", "n_embed"}),
                  .heads = spelling(node, {"n_head", "num_attention_heads"})});
  c.ffn = k_default_widening * c.hidden;
  c.embedding_dropout = c.attention_dropout = 0.0;
  f.number("hidden_dropout", c.dropout, {.maximum = 1.0});
  f.number("attention_dropout", c.attention_dropout, {.maximum = 1.0});
  f.flag("tie_word_embeddings", c.tied_embeddings);
  bool normed_residual = false;
  f.flag("apply_residual_connection_post_layernorm", normed_residual);
  refuse_if(f, "apply_residual_connection_post_layernorm", normed_residual,
            "a residual stream taken after normalisation is not modelled yet");
}

// Attention and MLP side by side, behind one norm or one each; one key head for all queries, or some.
void describe_falcon(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  c.tied_embeddings = true;
  c.activation = Activation::gelu;
  describe_shape(f, c,
                 {.layers = spelling(node, {"num_hidden_layers", "n_layer"}),
                  .hidden = spelling(node, {"hidden_size", "n_embed"}),
                  .heads = spelling(node, {"num_attention_heads", "n_head"})});
  c.ffn = k_default_widening * c.hidden;
  f.count("ffn_hidden_size", c.ffn, {.minimum = 1, .maximum = k_max_ffn});
  bool alibi = false, grouped = false, multi_query = true, parallel = true;
  f.flag("alibi", alibi);
  f.flag("new_decoder_architecture", grouped);
  f.flag("multi_query", multi_query);
  f.flag("parallel_attn", parallel);
  c.position = alibi ? PositionEncoding::alibi : PositionEncoding::rope;
  std::optional<std::int64_t> kv_heads;
  f.count(spelling(node, {"num_kv_heads", "n_head_kv"}), kv_heads, {.minimum = 1, .maximum = k_max_heads});
  if (grouped)
    c.kv_heads = kv_heads;
  else if (multi_query)
    c.kv_heads = 1;
  std::int64_t norms = grouped ? 2 : 1;
  f.count("num_ln_in_parallel_attn", norms, {.minimum = 1, .maximum = 2});
  if (parallel) {
    c.residual = Residual::parallel;
    c.norm_place = grouped && norms == 2 ? NormPlace::pre : NormPlace::shared;
  }
  c.bias = false;
  f.flag("bias", c.bias);
  c.embedding_dropout = c.attention_dropout = 0.0;
  f.number("hidden_dropout", c.dropout, {.maximum = 1.0});
  f.number("attention_dropout", c.attention_dropout, {.maximum = 1.0});
  f.flag("tie_word_embeddings", c.tied_embeddings);
  describe_activation(f, "activation", c);
}

// Attention and MLP side by side, a quarter of a head rotated, biases throughout.
void describe_gpt_neox(config::Fields& f, const config::Node&, TransformerConfig& c) {
  constexpr double k_absent_rotation = 0.25;
  c.position = PositionEncoding::rope;
  c.activation = Activation::gelu;
  describe_shape(f, c, {.layers = "num_hidden_layers", .hidden = "hidden_size", .heads = "num_attention_heads"});
  f.count("intermediate_size", c.ffn, {.required = true, .minimum = 1, .maximum = k_max_ffn});
  describe_rotation(f, c, "rotary_pct", k_absent_rotation);
  bool parallel = true;
  f.flag("use_parallel_residual", parallel);
  if (parallel) c.residual = Residual::parallel;
  describe_attention_bias(f, c, true);
  c.attention_dropout = 0.0;
  f.number("hidden_dropout", c.dropout, {.maximum = 1.0});
  f.number("attention_dropout", c.attention_dropout, {.maximum = 1.0});
  f.flag("tie_word_embeddings", c.tied_embeddings);
  describe_activation(f, "hidden_act", c);
}

}  // namespace cairn::models
