// Mamba 2, as transformers and as mamba_ssm write it, and Nemotron-H.
#include <algorithm>
#include <string>
#include <vector>

#include "cairn/config/read.h"
#include "family.h"

namespace cairn::models {
namespace {

// A model of mixers and nothing else, unless its pattern says more.
void describe_mixers(TransformerConfig& c) {
  c.norm = Norm::rmsnorm;
  c.position = PositionEncoding::none;
  c.bias = false;
  c.blocks = {{.repeat = std::max<std::int64_t>(c.layers, 1),
               .mlp = MlpKind::none,
               .attention = AttentionPattern{.kind = AttentionKind::mamba2}}};
}

void describe_inside(config::Fields& f, const config::Node& node, Mamba2Config& m) {
  f.count(spelling(node, {"n_groups", "mamba_n_groups"}), m.groups, {.minimum = 1, .maximum = k_max_heads});
  f.count(spelling(node, {"conv_kernel", "mamba_d_conv"}), m.conv, {.minimum = 1, .maximum = k_max_state});
  f.count(spelling(node, {"chunk_size", "mamba_chunk_size"}), m.chunk, {.minimum = 1, .maximum = k_max_chunk});
  f.flag("use_bias", m.bias);
  f.flag(spelling(node, {"use_conv_bias", "mamba_conv_bias"}), m.conv_bias);
}

// One layer for each letter: M a mixer, * attention, - an MLP, each with a norm and a residual connection of its own.
void append_letter(config::Fields& f, std::string_view key, std::vector<BlockPattern>& layers, char letter) {
  const AttentionPattern nothing{.kind = AttentionKind::none}, mixer{.kind = AttentionKind::mamba2};
  refuse_if(f, key, letter == 'E', "experts beside state-space mixers are not modelled yet");
  f.check(
      key, [&] { return letter == 'M' || letter == '*' || letter == '-' || letter == 'E'; },
      "names a layer that is not known", "M for a mixer, * for attention, - for an MLP");
  if (letter == 'M') layers.push_back({.mlp = MlpKind::none, .attention = mixer});
  if (letter == '*') layers.push_back({.mlp = MlpKind::none, .attention = AttentionPattern{}});
  if (letter == '-') layers.push_back({.mlp = MlpKind::dense, .attention = nothing});
}

char letter_of(const std::string& type) {
  if (type == "mamba" || type == "linear_attention") return 'M';
  if (type == "attention" || type == "full_attention") return '*';
  if (type == "mlp") return '-';
  return type == "moe" ? 'E' : '?';
}

void describe_pattern(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  constexpr std::string_view k_pattern = "hybrid_override_pattern";
  std::vector<std::string> types;
  std::string letters;
  f.text(k_pattern, letters);
  f.texts("layers_block_type", types);
  const std::string_view key = node.find("layers_block_type") != nullptr ? "layers_block_type" : k_pattern;
  if (!types.empty()) letters.clear();
  for (const std::string& type : types) letters += letter_of(type);
  f.check(
      key, [&] { return !letters.empty() && letters.size() <= static_cast<std::size_t>(k_max_layers); },
      "must name every layer", "as in hybrid_override_pattern: M-M*M-");
  c.layers = static_cast<std::int64_t>(letters.size());
  std::vector<BlockPattern> layers;
  for (const char letter : letters) append_letter(f, key, layers, letter);
  set_layers(c, layers);
  std::int64_t stated = c.layers;
  f.count("num_hidden_layers", stated, {.minimum = 1, .maximum = k_max_layers});
  f.check(
      "num_hidden_layers", [&] { return stated == c.layers; }, "is not the number of layers that the pattern names",
      "leave it out");
}

}  // namespace

// Its gated norm spans all channels, where mamba_ssm's spans those of a group: of the same tensors and the same work.
void describe_mamba2(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  Mamba2Config mixer{.heads = 128, .groups = 8};
  c.layers = 64;
  c.hidden = 4096;
  c.vocab = 32768;
  f.text("_name_or_path", c.name);
  f.count("num_hidden_layers", c.layers, {.minimum = 1, .maximum = k_max_layers});
  f.count("hidden_size", c.hidden, {.minimum = 1, .maximum = k_max_width});
  f.count("vocab_size", c.vocab, {.minimum = 1, .maximum = k_max_vocab});
  f.count("num_heads", mixer.heads, {.minimum = 1, .maximum = k_max_heads});
  f.count("head_dim", mixer.head_dim, {.minimum = 1, .maximum = k_max_width});
  f.count("state_size", mixer.state, {.minimum = 1, .maximum = k_max_state});
  double expand = 2.0;
  f.number("expand", expand, {.positive = true});
  f.check(
      "expand",
      [&] {
        return static_cast<double>(mixer.heads.value_or(0) * mixer.head_dim) == expand * static_cast<double>(c.hidden);
      },
      "times hidden_size is not num_heads x head_dim", "the mixer's inner width is both");
  describe_inside(f, node, mixer);
  f.flag("tie_word_embeddings", c.tied_embeddings);
  describe_mixers(c);
  c.mamba2 = mixer;
}

void describe_mamba_ssm(config::Fields& f, const config::Node&, TransformerConfig& c) {
  f.count("n_layer", c.layers, {.required = true, .minimum = 1, .maximum = k_max_layers});
  f.count("d_model", c.hidden, {.required = true, .minimum = 1, .maximum = k_max_width});
  f.count("vocab_size", c.vocab, {.required = true, .minimum = 1, .maximum = k_max_vocab});
  // The checkpoint's table has the padded rows.
  constexpr std::int64_t k_absent_multiple = 8;
  c.vocab_multiple = k_absent_multiple;
  f.count("pad_vocab_size_multiple", c.vocab_multiple, {.minimum = 1, .maximum = k_max_vocab});
  c.vocab = c.padded_vocab(1);
  c.vocab_multiple.reset();
  c.tied_embeddings = true;
  f.flag("tie_embeddings", c.tied_embeddings);
  bool rms = true;
  f.flag("rms_norm", rms);
  std::int64_t mlp = 0;
  f.count("d_intermediate", mlp, {.maximum = k_max_ffn});
  refuse_if(f, "d_intermediate", mlp > 0, "MLPs in mamba_ssm's files are not modelled yet");
  std::vector<std::int64_t> attention;
  f.counts("attn_layer_idx", attention);
  refuse_if(f, "attn_layer_idx", !attention.empty(), "attention in mamba_ssm's files is not modelled yet");
  Mamba2Config mixer;
  std::string layer = "Mamba1";
  std::int64_t expand = 2;
  f.value("ssm_cfg", mixer, {}, [&](config::Value& v, Mamba2Config& m) {
    v.object([&](config::Fields& g) {
      g.text("layer", layer);
      g.count("d_state", m.state, {.minimum = 1, .maximum = k_max_state});
      g.count("d_conv", m.conv, {.minimum = 1, .maximum = k_max_state});
      g.count("expand", expand, {.minimum = 1, .maximum = k_max_ways});
      g.count("headdim", m.head_dim, {.minimum = 1, .maximum = k_max_width});
      g.count("ngroups", m.groups, {.minimum = 1, .maximum = k_max_heads});
      g.count("chunk_size", m.chunk, {.minimum = 1, .maximum = k_max_chunk});
      g.flag("bias", m.bias);
      g.flag("conv_bias", m.conv_bias);
    });
  });
  refuse_if(f, "ssm_cfg", layer != "Mamba2", "a state-space layer other than Mamba2 is not modelled");
  f.check(
      "ssm_cfg", [&] { return expand * c.hidden % mixer.head_dim == 0; },
      "has a headdim that does not divide expand x d_model", "every head has headdim channels");
  mixer.heads = expand * c.hidden / mixer.head_dim;
  describe_mixers(c);
  if (!rms) c.norm = Norm::layernorm;
  c.mamba2 = mixer;
}

void describe_nemotron_h(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  Mamba2Config mixer{.heads = 128, .groups = 8, .chunk = 128};
  c.hidden = 4096;
  c.heads = 32;
  c.kv_heads = 8;
  c.head_dim = 128;
  c.ffn = 21504;
  c.vocab = 131072;
  c.activation = Activation::squared_relu;
  f.text("_name_or_path", c.name);
  f.count("hidden_size", c.hidden, {.minimum = 1, .maximum = k_max_width});
  f.count("num_attention_heads", c.heads, {.minimum = 1, .maximum = k_max_heads});
  f.count("num_key_value_heads", c.kv_heads, {.minimum = 1, .maximum = k_max_heads});
  f.count(spelling(node, {"head_dim", "attention_head_dim"}), c.head_dim, {.minimum = 1, .maximum = k_max_width});
  f.count("intermediate_size", c.ffn, {.minimum = 1, .maximum = k_max_ffn});
  f.count("vocab_size", c.vocab, {.minimum = 1, .maximum = k_max_vocab});
  f.count("mamba_num_heads", mixer.heads, {.minimum = 1, .maximum = k_max_heads});
  f.count("mamba_head_dim", mixer.head_dim, {.minimum = 1, .maximum = k_max_width});
  f.count("ssm_state_size", mixer.state, {.minimum = 1, .maximum = k_max_state});
  describe_inside(f, node, mixer);
  bool attention_bias = false;
  f.flag("attention_bias", attention_bias);
  f.flag("tie_word_embeddings", c.tied_embeddings);
  f.number("attention_dropout", c.attention_dropout, {.maximum = 1.0});
  f.number("hidden_dropout", c.dropout, {.maximum = 1.0});
  describe_activation(f, "mlp_hidden_act", c);
  describe_mixers(c);
  c.qkv_bias = c.projection_bias = attention_bias;
  f.flag("mlp_bias", c.mlp_bias);
  describe_pattern(f, node, c);
  c.mamba2 = mixer;
}

}  // namespace cairn::models
