// The model: sizes, attention, MLP, experts.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cairn/models/transformer_config.h"
#include "megatron.h"
#include "megatron_patterns.h"

namespace cairn::launch {
namespace {

using models::TransformerConfig;

constexpr const char* k_moe = "--num-experts";
constexpr const char* k_mla = "--multi-latent-attention";

const TransformerConfig& model(const Export& e) { return e.job.parts().model; }

// arguments.py 1320: 4 h, or 8/3 h in multiples of 64 where the MLP is gated by --swiglu alone.
void read_ffn(Import& i) {
  const auto hidden = i.experiment.count("model.hidden");
  if (i.said("--ffn-hidden-size") || !hidden || *hidden > models::k_max_width) return;
  constexpr std::int64_t k_multiple = 64;
  const std::int64_t whole = 4 * *hidden;
  i.experiment.put("model.ffn", std::to_string(i.said("--swiglu") ? whole * 2 / 3 / k_multiple * k_multiple : whole),
                   {});
}

// transformer_config.py: one key and value head where only --group-query-attention is said.
void read_kv_heads(Import& i) {
  if (!i.flag("--group-query-attention"))
    return i.no_effect("--num-query-groups", "without --group-query-attention every head has keys of its own");
  const auto groups = i.count("--num-query-groups");
  i.experiment.put("model.kv_heads", std::to_string(groups.value_or(1)), i.take("--group-query-attention")->place);
}
void write_kv_heads(Export& e) {
  e.keys.take("model.kv_heads");
  if (model(e).kv_head_count() == model(e).heads) return;
  e.say("--group-query-attention");
  e.say("--num-query-groups", model(e).kv_head_count());
}

// Padded to a multiple times tp; --padded-vocab-size is the padded one itself.
void read_vocab(Import& i) {
  constexpr std::int64_t k_multiple = 128;
  if (const auto padded = i.count("--padded-vocab-size")) {
    i.experiment.put("model.vocab", std::to_string(*padded), i.take("--padded-vocab-size")->place);
    i.no_effect("--vocab-size", "--padded-vocab-size says the rows of the table");
    return i.no_effect("--make-vocab-size-divisible-by", "--padded-vocab-size says the rows of the table");
  }
  if (const auto vocab = i.count("--vocab-size"))
    i.experiment.put("model.vocab", std::to_string(*vocab), i.take("--vocab-size")->place);
  const auto multiple = i.count("--make-vocab-size-divisible-by");
  i.experiment.put("model.vocab_multiple", std::to_string(multiple.value_or(k_multiple)), {});
}
void write_vocab(Export& e) {
  e.keys.take("model.vocab");
  const auto multiple = e.keys.take_count("model.vocab_multiple");
  if (!multiple) return e.say("--padded-vocab-size", model(e).vocab);
  e.say("--vocab-size", model(e).vocab);
  e.say("--make-vocab-size-divisible-by", *multiple);
}

void read_position(Import& i) {
  if (i.flag("--use-rotary-position-embeddings"))
    i.experiment.put("model.position", "rope", i.take("--use-rotary-position-embeddings")->place);
  const std::string position = i.experiment.text("model.position");
  if (i.said("--no-position-embedding")) {
    if (position == "rope")
      i.no_effect("--no-position-embedding", "rotary positions have no table");
    else
      i.error(i.take("--no-position-embedding")->place, "--no-position-embedding",
              "without rotary positions, which Megatron-LM refuses", "say --position-embedding-type rope or none");
  }
  if (position == "learned") {
    if (const auto rows = i.count("--max-position-embeddings"))
      i.experiment.put("model.max_positions", std::to_string(*rows), i.take("--max-position-embeddings")->place);
  } else {
    i.no_effect("--max-position-embeddings", "only a table of learned positions has that size");
  }
}
void write_position(Export& e) {
  const auto rows = e.keys.take_count("model.max_positions");
  const bool learned = model(e).position == models::PositionEncoding::learned;
  e.say("--max-position-embeddings", learned && rows ? *rows : e.job.experiment().training.seq_len);
}

void read_rotated(Import& i) {
  const Word* word = i.word("--rotary-percent");
  const auto heads = i.experiment.count("model.heads"), hidden = i.experiment.count("model.hidden");
  if (word == nullptr || !heads || !hidden || *heads == 0 || i.experiment.text("model.position") != "rope") return;
  const std::int64_t size = i.experiment.count("model.head_dim").value_or(*hidden / *heads);
  char* end = nullptr;
  const double share = std::strtod(word->text.c_str(), &end);
  if (end != word->text.c_str() + word->text.size() || !(share > 0.0 && share <= 1.0))
    return i.error(word->place, "--rotary-percent", fmt::format("{} is no share of a head", config::quote(word->text)),
                   "write a number above 0, at most 1");
  if (share < 1.0)
    i.experiment.put("model.rope_dim", std::to_string(std::llround(share * static_cast<double>(size))), word->place);
}
void write_rotated(Export& e) {
  const auto size = e.keys.take_count("model.rope_dim");
  const bool partly = size && *size != model(e).head_size();
  if (partly && !model(e).head_dim) e.say("--kv-channels", model(e).head_size());  // a share of it
  if (partly)
    e.say("--rotary-percent",
          fmt::format("{}", static_cast<double>(*size) / static_cast<double>(model(e).head_size())));
}

struct MlpWord {
  const char* argument;
  bool gated;
  models::Activation activation;
  const char* ours;
};
constexpr MlpWord k_mlps[] = {{"--swiglu", true, models::Activation::silu, "silu"},
                              {"--squared-relu", false, models::Activation::squared_relu, "squared_relu"},
                              {"--quick-geglu", true, models::Activation::clamped_silu, "clamped_silu"},
                              {"", false, models::Activation::gelu, "gelu"}};
void read_mlp(Import& i) {
  const MlpWord* chosen = nullptr;
  for (const MlpWord& each : k_mlps) {
    const Argument* said = *each.argument != '\0' && i.flag(each.argument) ? i.take(each.argument) : nullptr;
    if (said != nullptr && chosen != nullptr)
      i.error(said->place, each.argument, fmt::format("beside {}", chosen->argument), "keep one of the two");
    if (said != nullptr || (chosen == nullptr && *each.argument == '\0')) chosen = &each;
  }
  i.experiment.put("model.gated_mlp", chosen->gated ? "true" : "false", {});
  if (chosen->activation != models::Activation::silu && chosen->activation != models::Activation::gelu)
    i.experiment.put("model.activation", chosen->ours, {});
}
void write_mlp(Export& e) {
  for (const MlpWord& each : k_mlps) {
    if (each.gated != model(e).gated_mlp || each.activation != model(e).activation_function()) continue;
    e.keys.take("model.gated_mlp");
    e.keys.take("model.activation");
    if (*each.argument != '\0') e.say(each.argument);
  }
}

void read_bias(Import& i) {
  const bool without = i.flag("--disable-bias-linear");
  i.experiment.put("model.bias", without ? "false" : "true", {});
  if (!without) return i.no_effect("--add-qkv-bias", "every product has a bias");
  if (i.flag("--add-qkv-bias")) i.experiment.put("model.qkv_bias", "true", i.take("--add-qkv-bias")->place);
}
void write_bias(Export& e) {
  const TransformerConfig& m = model(e);
  const bool bias = m.has_projection_bias();
  for (const char* key : {"model.bias", "model.projection_bias"}) e.keys.take(key);
  if (!bias) e.say("--disable-bias-linear");
  if (m.has_mlp_bias() == bias) e.keys.take("model.mlp_bias");
  if (m.has_mlp_bias() != bias)
    e.unsaid("model.mlp_bias", m.has_mlp_bias() ? "true" : "false",
             "the MLP has biases as the projection of attention has");
  if (m.has_qkv_bias() && !bias) e.say("--add-qkv-bias");
  if (m.has_qkv_bias() || !bias)
    e.keys.take("model.qkv_bias");
  else
    e.unsaid("model.qkv_bias", "false", "queries, keys and values have biases where all products have");
}

void write_dropout(Export& e) {
  e.keys.take("model.attention_dropout");
  e.say("--attention-dropout", fmt::format("{}", model(e).probability_dropout()));
  if (model(e).stream_entry_dropout() == model(e).dropout) e.keys.take("model.embedding_dropout");
}

void read_qk_norm(Import& i) {
  if (i.said(k_mla)) i.no_effect("--qk-layernorm", "latent attention has these norms anyway");
  if (!i.said(k_mla) && i.flag("--qk-layernorm"))
    i.experiment.put("model.qk_norm", "true", i.take("--qk-layernorm")->place);
  if (i.flag("--qk-l2-norm")) i.experiment.put("model.qk_norm", "unscaled", i.take("--qk-l2-norm")->place);
}
void write_qk_norm(Export& e) {
  using models::QkNorm;
  const QkNorm norm = model(e).qk_norm;
  if (norm == QkNorm::whole) return;
  e.keys.take("model.qk_norm");
  if (norm == QkNorm::head || model(e).mla) e.say("--qk-layernorm");
  if (norm == QkNorm::unscaled) e.say("--qk-l2-norm");
}

void read_experts(Import& i) {
  if (!i.said(k_moe)) return;
  const auto width = i.count("--moe-ffn-hidden-size");
  const std::int64_t ffn = width.value_or(i.experiment.count("model.ffn").value_or(0));
  i.experiment.put("model.moe.ffn", std::to_string(ffn), {});
  if (const auto shared = i.count("--moe-shared-expert-intermediate-size"); shared && *shared > 0) {
    const bool whole = ffn > 0 && *shared % ffn == 0;
    const config::Place place = i.take("--moe-shared-expert-intermediate-size")->place;
    i.experiment.put("model.moe.shared_experts", std::to_string(whole ? *shared / ffn : 1), place);
    if (!whole) i.experiment.put("model.moe.shared_ffn", std::to_string(*shared), place);
  }
  const bool padded = i.said("--moe-pad-expert-input-to-capacity");
  if (i.said("--moe-expert-capacity-factor") && padded)
    i.take("--moe-pad-expert-input-to-capacity");
  else if (const Argument* factor = i.take("--moe-expert-capacity-factor"))
    i.remark(*factor,
             "Cairn pads the rows of every expert to its capacity, as with --moe-pad-expert-input-to-capacity");
  else
    i.no_effect("--moe-pad-expert-input-to-capacity", "without --moe-expert-capacity-factor");
}
void write_experts(Export& e) {
  if (!model(e).moe) return;
  const models::MixtureConfig& moe = *model(e).moe;
  e.keys.take("model.moe.ffn");
  e.say("--moe-ffn-hidden-size", moe.ffn);
  if (moe.shared_experts > 0) e.say("--moe-shared-expert-intermediate-size", moe.shared_width());
  for (const char* key : {"model.moe.shared_experts", "model.moe.shared_ffn"}) e.keys.take(key);
  if (moe.capacity_factor > 0.0) e.say("--moe-pad-expert-input-to-capacity");
  e.say("--moe-grouped-gemm");
}

// What of a layer differs between layers.
struct Layer {
  bool moe = false;
  std::int64_t window = 0;  // 0: all keys
  bool rotates = true;
  friend bool operator==(const Layer&, const Layer&) = default;
};

// A pattern over all layers: a list, or a period with the places where it is 1.
std::vector<std::int64_t> pattern(Import& i, const char* name, std::int64_t layers, bool last_of_period,
                                  std::int64_t on) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(layers), on);
  const Word* word = i.word(name);
  if (word == nullptr) return all;
  if (word->text.find('[') == std::string::npos) {
    const auto period = i.count(name);
    if (!period || *period == 0) return all;
    for (std::int64_t layer = 0; layer < layers; ++layer)
      all[static_cast<std::size_t>(layer)] = last_of_period ? (layer + 1) % *period == 0 : layer % *period == 0;
    return all;
  }
  const auto list = layer_pattern(word->text);
  if (!list)
    i.error(word->place, name, fmt::format("{} is no pattern of layers", config::quote(word->text)),
            "write it as in [0]*3+[1]*58");
  else if (static_cast<std::int64_t>(list->size()) != layers)
    i.error(word->place, name, fmt::format("a pattern of {} layers for {}", list->size(), layers),
            "write one number for each layer");
  else
    return *list;
  return all;
}

std::int64_t window_of(Import& i) {
  const Word* word = i.word("--window-size");
  if (word == nullptr) return 0;
  const std::size_t comma = word->text.find(',');
  char* end = nullptr;
  const long long left = std::strtoll(word->text.c_str(), &end, 10);
  if (comma == std::string::npos || end != word->text.c_str() + comma || left < 0 || left >= models::k_max_positions) {
    i.error(word->place, "--window-size", fmt::format("{} is no window", config::quote(word->text)),
            "write the keys before and behind a query, as in 127,0");
    return 0;
  }
  return left + 1;  // and the query's own key
}

config::Node block_of(const Layer& layer, std::int64_t repeat, bool has_experts, bool latent) {
  config::Node block = config::make_node(config::NodeKind::map, {});
  block.put("repeat", config::make_scalar(std::to_string(repeat), {}));
  if (has_experts) block.put("mlp", config::make_scalar(layer.moe ? "moe" : "dense", {}));
  if (layer.window > 0) {
    config::Node sliding = config::make_node(config::NodeKind::map, {});
    sliding.put("sliding", config::make_scalar(std::to_string(layer.window), {}));
    block.put("attention", std::move(sliding));
  } else if (!layer.rotates) {
    block.put("attention", config::make_scalar("nope", {}));
  } else if (!latent) {
    block.put("attention", config::make_scalar("full", {}));
  }
  return block;
}

// core/models/gpt/gpt_layer_specs.py: layer i has experts where i % N == 0; core/transformer/utils.py: layer i + 1 sees
// all keys where (i + 1) % N == 0; the same for --no-rope-freq (attention.py).
void read_blocks(Import& i) {
  const auto layers = i.experiment.count("model.layers");
  if (!layers || *layers > models::k_max_layers) return;
  const bool experts = i.said(k_moe);
  if (!experts) i.no_effect("--moe-layer-freq", fmt::format("without {}", k_moe));
  const std::int64_t window = window_of(i);
  if (window == 0) i.no_effect("--window-attn-skip-freq", "without --window-size");
  const auto moe = pattern(i, "--moe-layer-freq", *layers, false, experts ? 1 : 0);
  const bool skips = i.said("--window-attn-skip-freq");
  const bool skips_by_list = skips && i.word("--window-attn-skip-freq")->text.find('[') != std::string::npos;
  const auto windows = pattern(i, "--window-attn-skip-freq", *layers, true, window > 0 ? (skips ? 0 : 1) : 0);
  const auto unrotated = pattern(i, "--no-rope-freq", *layers, true, 0);
  std::vector<Layer> all;
  for (std::size_t layer = 0; layer < moe.size(); ++layer) {
    const bool windowed = window > 0 && ((skips && !skips_by_list) ? windows[layer] == 0 : windows[layer] == 1);
    all.push_back({.moe = moe[layer] == 1, .window = windowed ? window : 0, .rotates = unrotated[layer] == 0});
  }
  if (all.empty()) return;  // which the experiment is refused for
  const bool alike = std::all_of(all.begin(), all.end(), [&](const Layer& each) { return each == all.front(); });
  if (alike && all.front() == Layer{.moe = experts}) return;
  config::Node blocks = config::make_node(config::NodeKind::list, {});
  for (auto begin = all.begin(); begin != all.end();) {
    const auto end = std::find_if(begin, all.end(), [&](const Layer& each) { return !(each == *begin); });
    blocks.items.push_back(block_of(*begin, end - begin, experts, i.said(k_mla)));
    begin = end;
  }
  i.experiment.put("model.blocks", std::move(blocks));
}

bool said_layers(const TransformerConfig& m, std::vector<Layer>& all) {
  std::vector<Layer> period;
  for (const models::BlockPattern& block : m.blocks) {
    const models::AttentionPattern attention = m.attention_of(block);
    const bool plain = attention.kind == (m.mla ? models::AttentionKind::mla : models::AttentionKind::full);
    const bool sliding = attention.kind == models::AttentionKind::sliding && !m.mla;
    const bool unrotated = attention.kind == models::AttentionKind::nope;
    if (!(plain || sliding || unrotated) || m.mlp_of(block) == models::MlpKind::none) return false;
    period.insert(period.end(), static_cast<std::size_t>(block.repeat),
                  {.moe = m.mlp_of(block) == models::MlpKind::moe,
                   .window = sliding ? attention.window : 0,
                   .rotates = !unrotated});
  }
  for (std::int64_t layer = 0; layer < m.layers; ++layer)
    all.push_back(period[static_cast<std::size_t>(layer) % period.size()]);
  std::int64_t window = 0;
  for (const Layer& layer : all) {
    if (layer.window > 0 && window > 0 && layer.window != window) return false;
    window = std::max(window, layer.window);
  }
  return true;
}

void write_blocks(Export& e) {
  if (model(e).blocks.empty()) {
    e.keys.take("model.blocks");
    return;
  }
  std::vector<Layer> all;
  if (!said_layers(model(e), all))
    return e.unsaid("model.blocks", "layers differ by more than experts, one window and rotation");
  e.keys.take("model.blocks");
  std::vector<std::int64_t> moe, windows, unrotated;
  std::int64_t window = 0;
  for (const Layer& layer : all) {
    moe.push_back(layer.moe ? 1 : 0);
    windows.push_back(layer.window > 0 ? 1 : 0);
    unrotated.push_back(layer.rotates ? 0 : 1);
    window = std::max(window, layer.window);
  }
  const auto has = [](const std::vector<std::int64_t>& each, std::int64_t value) {
    return std::find(each.begin(), each.end(), value) != each.end();
  };
  if (model(e).moe && has(moe, 0)) e.say("--moe-layer-freq", pattern_text(moe));
  if (window > 0) e.say("--window-size", fmt::format("{},0", window - 1));
  if (window > 0 && has(windows, 0)) e.say("--window-attn-skip-freq", pattern_text(windows));
  if (has(unrotated, 1)) e.say("--no-rope-freq", pattern_text(unrotated));
}

}  // namespace

std::vector<Row> megatron_model_rows() {
  return {
      {.argument = "--num-layers", .key = "model.layers", .required = true},
      {.argument = "--hidden-size", .key = "model.hidden", .required = true},
      {.argument = "--num-attention-heads", .key = "model.heads", .required = true},
      {.argument = "--kv-channels", .key = "model.head_dim"},
      {.argument = "--ffn-hidden-size", .key = "model.ffn"},
      {.argument = "--untie-embeddings-and-output-weights",
       .key = "model.tied_embeddings",
       .kind = Kind::flag,
       .words = {{"", "false"}},
       .unsaid = "true"},
      {.argument = "--normalization",
       .key = "model.norm",
       .kind = Kind::word,
       .words = {{"LayerNorm", "layernorm"}, {"RMSNorm", "rmsnorm"}},
       .unsaid = "layernorm"},
      {.argument = "--position-embedding-type",
       .key = "model.position",
       .kind = Kind::word,
       .words = {{"learned_absolute", "learned"}, {"rope", "rope"}, {"yarn", "rope"}, {"none", "none"}},
       .unsaid = "learned"},
      {.argument = "--hidden-dropout", .key = "model.dropout", .kind = Kind::number, .unsaid = "0.1"},
      {.argument = "--attention-output-gate",
       .key = "model.attention_gate",
       .kind = Kind::flag,
       .words = {{"", "true"}},
       .unsaid = "false"},
      {.argument = "--softmax-type",
       .key = "model.attention_sinks",
       .kind = Kind::word,
       .words = {{"vanilla", "false"}, {"learnable", "true"}},
       .unsaid = "false"},
      {.argument = "--mtp-num-layers", .key = "model.mtp.depth"},
      {.argument = k_moe, .key = "model.moe.experts"},
      {.argument = "--moe-router-topk", .key = "model.moe.top_k", .unsaid = "2", .needs = k_moe},
      {.argument = "--moe-expert-capacity-factor",
       .key = "model.moe.capacity_factor",
       .kind = Kind::number,
       .needs = k_moe},
      {.argument = "--moe-router-enable-expert-bias",
       .key = "model.moe.balance_bias",
       .kind = Kind::flag,
       .words = {{"", "true"}},
       .unsaid = "false",
       .needs = k_moe},
      {.argument = "--moe-shared-expert-gate",
       .key = "model.moe.shared_gate",
       .kind = Kind::flag,
       .words = {{"", "true"}},
       .unsaid = "false",
       .needs = k_moe},
      {.argument = "--q-lora-rank", .key = "model.mla.q_lora", .unsaid = "0", .needs = k_mla},
      {.argument = "--kv-lora-rank", .key = "model.mla.kv_lora", .unsaid = "32", .needs = k_mla},
      {.argument = "--qk-head-dim", .key = "model.mla.nope_dim", .unsaid = "128", .needs = k_mla},
      {.argument = "--qk-pos-emb-head-dim", .key = "model.mla.rope_dim", .unsaid = "64", .needs = k_mla},
      {.argument = "--v-head-dim", .key = "model.mla.v_dim", .unsaid = "128", .needs = k_mla},
  };
}

std::vector<Rule> megatron_model_rules() {
  return {
      {.read = read_ffn},
      {.read = read_kv_heads, .write = write_kv_heads},
      {.read = read_vocab, .write = write_vocab},
      {.read = read_position, .write = write_position},
      {.read = read_rotated, .write = write_rotated},
      {.read = read_mlp, .write = write_mlp},
      {.read = read_bias, .write = write_bias},
      {.read =
           [](Import& i) {
             const Word* word = i.word("--attention-dropout");
             i.experiment.put("model.attention_dropout", word != nullptr ? word->text : "0.1",
                              word != nullptr ? word->place : config::Place{});
           },
       .write = write_dropout},
      {.read = read_qk_norm, .write = write_qk_norm},
      {.read = [](Import& i) { i.flag(k_mla); },
       .write =
           [](Export& e) {
             if (model(e).mla) e.say(k_mla);
           }},
      {.read = read_experts, .write = write_experts},
      {.read =
           [](Import& i) {
             i.flag("--moe-grouped-gemm");
             i.flag("--use-mcore-models");
           }},
      {.read = read_blocks, .write = write_blocks},
  };
}

std::vector<Fixed> megatron_model_fixed() {
  return {{"model.version", "1"},
          {"model.kind", "transformer"},
          {"model.norm_place", "pre"},
          {"model.causal", "true"},
          {"model.nope_scale", "false"},
          {"model.score_cap", "false"},
          {"model.logit_cap", "false"},
          {"model.embedding_scale", "false"},
          {"model.embedding_norm", "false"},
          {"model.residual", "standard"},
          {"model.ways", "1"},
          {"model.moe.capacity_factor", "dropless"},
          {"model.moe.imbalance", "1"},
          {"model.moe.node_limit", "none"},
          {"model.moe.router_bias", "false"},
          {"model.moe.shortcut", "false"}};
}

}  // namespace cairn::launch
