#include "cairn/models/huggingface.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>

#include "cairn/config/read.h"

namespace cairn::models {
namespace {

using config::Fields;
using config::Node;

// A key that may go by several names: the one the file uses, else the first.
std::string_view spelling(const Node& node, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (const Node* value = node.find(name); value != nullptr && !value->is_null()) return name;
  }
  return *names.begin();
}

void refuse_if(Fields& f, std::string_view key, bool present, std::string_view message) {
  f.check(
      key, [present] { return !present; }, message, "no layer of this kind can be built");
}

struct ShapeKeys {
  std::string_view layers, hidden, heads;
};

void describe_shape(Fields& f, TransformerConfig& c, const ShapeKeys& keys) {
  f.text("_name_or_path", c.name);
  f.count(keys.layers, c.layers, {.required = true, .minimum = 1, .maximum = k_max_layers});
  f.count(keys.hidden, c.hidden, {.required = true, .minimum = 1, .maximum = k_max_width});
  f.count(keys.heads, c.heads, {.required = true, .minimum = 1, .maximum = k_max_heads});
  f.count("vocab_size", c.vocab, {.required = true, .minimum = 1, .maximum = k_max_vocab});
}

void describe_activation(Fields& f, std::string_view key, TransformerConfig& c) {
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

// What llama, mistral, qwen2 and qwen3 share. `absent_kv_heads`: their number when the key is absent (0: as many as
// heads); a null always means as many as heads.
void describe_gated(Fields& f, const Node& node, TransformerConfig& c, std::int64_t absent_kv_heads) {
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

void describe_llama(Fields& f, const Node& node, TransformerConfig& c) {
  describe_gated(f, node, c, 0);
  bool attention_bias = false;
  f.flag("attention_bias", attention_bias);
  c.qkv_bias = c.projection_bias = attention_bias;
  f.flag("mlp_bias", c.mlp_bias);
}

void describe_mistral(Fields& f, const Node& node, TransformerConfig& c) {
  constexpr std::int64_t k_absent_kv_heads = 8, k_absent_window = 4096;
  describe_gated(f, node, c, k_absent_kv_heads);
  std::optional<std::int64_t> window;
  if (node.find("sliding_window") == nullptr) window = k_absent_window;
  f.count("sliding_window", window, {.minimum = 1, .maximum = k_max_positions});
  if (window) c.blocks = {{.repeat = c.layers, .attention = AttentionPattern{AttentionKind::sliding, *window}}};
}

// Which layers of a qwen model look back only a window: those listed, else all from max_window_layers on.
void describe_windows(Fields& f, const Node& node, TransformerConfig& c) {
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
    const AttentionPattern pattern = slides ? sliding : AttentionPattern{};
    if (!c.blocks.empty() && c.blocks.back().attention == pattern)
      ++c.blocks.back().repeat;
    else
      c.blocks.push_back({.attention = pattern});
  }
}

constexpr std::int64_t k_qwen_absent_kv_heads = 32;

void describe_qwen2(Fields& f, const Node& node, TransformerConfig& c) {
  c.qkv_bias = true;
  describe_gated(f, node, c, k_qwen_absent_kv_heads);
  describe_windows(f, node, c);
}

void describe_qwen3(Fields& f, const Node& node, TransformerConfig& c) {
  constexpr std::int64_t k_absent_head_dim = 128;
  c.qk_norm = true;
  if (node.find("head_dim") == nullptr) c.head_dim = k_absent_head_dim;
  describe_gated(f, node, c, k_qwen_absent_kv_heads);
  bool attention_bias = false;
  f.flag("attention_bias", attention_bias);
  c.qkv_bias = c.projection_bias = attention_bias;
  describe_windows(f, node, c);
}

constexpr std::int64_t k_default_widening = 4;
constexpr double k_default_dropout = 0.1;

void describe_gpt2(Fields& f, const Node& node, TransformerConfig& c) {
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

void describe_opt(Fields& f, const Node& node, TransformerConfig& c) {
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

void describe_bloom(Fields& f, const Node& node, TransformerConfig& c) {
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

void describe_mixtral(Fields& f, const Node& node, TransformerConfig& c) {
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

// Dense blocks first, then blocks with experts.
void dense_then_moe(TransformerConfig& c, std::int64_t dense) {
  c.blocks.clear();
  if (dense > 0) c.blocks.push_back({.repeat = dense, .mlp = MlpKind::dense});
  if (c.layers > dense) c.blocks.push_back({.repeat = c.layers - dense, .mlp = MlpKind::moe});
}

void describe_qwen3_moe(Fields& f, const Node& node, TransformerConfig& c) {
  constexpr std::int64_t k_absent_kv_heads = 4;
  c.qk_norm = true;
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
    const MlpKind mlp = !listed && (layer + 1) % step == 0 ? MlpKind::moe : MlpKind::dense;
    if (!c.blocks.empty() && c.blocks.back().mlp == mlp)
      ++c.blocks.back().repeat;
    else
      c.blocks.push_back({.mlp = mlp});
  }
}

void describe_deepseek(Fields& f, const Node& node, TransformerConfig& c, std::int64_t absent_dense) {
  describe_gated(f, node, c, 0);
  LatentConfig latent{.q_lora = 1536, .kv_lora = 512, .rope_dim = 64, .nope_dim = 128, .v_dim = 128};
  if (const Node* q_lora = node.find("q_lora_rank"); q_lora != nullptr && q_lora->is_null())
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
void describe_deepseek_v2(Fields& f, const Node& node, TransformerConfig& c) { describe_deepseek(f, node, c, 0); }
void describe_deepseek_v3(Fields& f, const Node& node, TransformerConfig& c) {
  constexpr std::int64_t k_absent_dense = 3;
  describe_deepseek(f, node, c, k_absent_dense);
}

struct Family {
  std::string_view model_type;
  void (*describe)(Fields&, const Node&, TransformerConfig&);
};

constexpr Family k_families[] = {
    {"bloom", describe_bloom},
    {"deepseek_v2", describe_deepseek_v2},
    {"deepseek_v3", describe_deepseek_v3},
    {"gpt2", describe_gpt2},
    {"llama", describe_llama},
    {"mistral", describe_mistral},
    {"mixtral", describe_mixtral},
    {"opt", describe_opt},
    {"qwen2", describe_qwen2},
    {"qwen3", describe_qwen3},
    {"qwen3_moe", describe_qwen3_moe},
};

const Family* find_family(const std::string& model_type, const Node& place, const std::string& key_path,
                          core::Diagnostics& diagnostics) {
  std::vector<std::string> known;
  for (const Family& family : k_families) {
    if (family.model_type == model_type) return &family;
    known.emplace_back(family.model_type);
  }
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
  const std::string near = core::nearest(model_type, known);
  diagnostics.add(
      config::error_at(place.place, key_path, "unknown model_type " + config::quote(model_type),
                       (near.empty() ? "" : "did you mean '" + near + "'? ") + std::string("supported: ") + list));
  return nullptr;
}

std::int64_t count_of(const Node& node, std::string_view key) {
  std::int64_t value = 0;
  core::Diagnostics ignored;  // a value that is no count is reported where the key is read
  config::read_fields(
      node,
      [&](Fields& f) {
        f.open();
        f.count(key, value);
      },
      ignored);
  return value;
}

}  // namespace

void warn_of_left_out(const Node& node, const TransformerConfig& model, core::Diagnostics& diagnostics,
                      std::string_view path) {
  const auto warn = [&](std::string_view key, std::string message, std::string hint) {
    core::Diagnostic warning =
        config::error_at(node.find(key)->place, config::join_path(path, key), std::move(message), std::move(hint));
    warning.severity = core::Severity::warning;
    diagnostics.add(std::move(warning));
  };
  constexpr std::string_view k_next = "num_nextn_predict_layers", k_groups = "n_group", k_chosen = "topk_group";
  if (const std::int64_t depth = count_of(node, k_next); depth > 0 && !model.mtp)
    warn(k_next, "modules that predict tokens further ahead, " + std::to_string(depth) + " of them, are left out",
         "set mtp: {depth: " + std::to_string(depth) + "} to train them, mtp: {depth: 0} to train without");
  const std::int64_t groups = count_of(node, k_groups), chosen = count_of(node, k_chosen);
  if (chosen > 0 && chosen < groups && model.moe && model.moe->node_limit == 0)
    warn(k_chosen,
         "a token's experts lie in " + std::to_string(chosen) + " of " + std::to_string(groups) +
             " groups, which is not taken to limit where it travels",
         "set moe: {node_limit: " + std::to_string(chosen) + "} where groups are nodes");
}

bool is_huggingface(const Node& node) { return node.find("model_type") != nullptr; }

TransformerConfig import_huggingface(const Node& node, core::Diagnostics& diagnostics, std::string_view path) {
  TransformerConfig result;
  const Node* model_type = node.find("model_type");
  const std::string key_path = config::join_path(path, "model_type");
  if (model_type == nullptr || !model_type->is_scalar()) {
    diagnostics.add(
        config::error_at(node.place, key_path, "missing", "a Hugging Face config.json names its architecture here"));
    return result;
  }
  const Family* family = find_family(model_type->text, *model_type, key_path, diagnostics);
  if (family == nullptr) return result;

  core::Diagnostics found;
  const auto description = [&](Fields& f) {
    f.open();
    family->describe(f, node, result);
  };
  config::read_fields(node, description, found, path);
  for (const core::Diagnostic& diagnostic : found.all()) diagnostics.add(diagnostic);
  if (found.has_errors()) return result;
  try {
    validate(result);
  } catch (const core::ConfigurationError& error) {
    for (core::Diagnostic diagnostic : error.diagnostics()) {
      diagnostic.file = node.place.file_name();
      diagnostics.add(std::move(diagnostic));
    }
  }
  return result;
}

}  // namespace cairn::models
