// The model of NeMo: sizes, attention, MLP, experts.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/core/printable.h"
#include "cairn/models/transformer_config.h"
#include "megatron.h"
#include "nemo.h"
#include "numbers.h"

namespace cairn::launch {
namespace {

using models::TransformerConfig;

constexpr const char* k_nemo_experts = "model.num_moe_experts";
constexpr const char* k_nemo_window = "model.window_size";

const TransformerConfig& nemo_transformer(const Export& e) { return e.job.parts().model; }

bool nemo_model_given(const Import& i) {
  return std::any_of(i.given.overrides.begin(), i.given.overrides.end(),
                     [](const std::string& each) { return each.starts_with("model="); });
}

// What is as Cairn's model has it anyway; another value has no counterpart.
constexpr Pair k_nemo_agreed[] = {{"model.transformer_block_type", "pre_ln"},
                                  {"model.headscale", "false"},
                                  {"model.normalize_attention_scores", "true"},
                                  {"model.attention_type", "multihead"},
                                  {"model.pre_process", "true"},
                                  {"model.post_process", "true"},
                                  {"model.fp32_residual_connection", "false"},
                                  {"model.fp16_lm_cross_entropy", "false"},
                                  {"model.cpu_offloading", "false"},
                                  {"trainer.accumulate_grad_batches", "1"}};

// megatron_gpt_model.py, get_specs: which layers the model is built of.
constexpr const char* k_nemo_layers[] = {"", "te_gpt", "megatron_gpt_full_te_layer_autocast", "decoder_block_gpt"};
void read_nemo_kind(Import& i) {
  if (!nemo_truth(i, k_nemo_core, false))
    i.notes.emplace_back("Without mcore_gpt: true NeMo builds its own layers, which are read as Megatron-Core's.");
  const Word* kind = i.word("model.name");
  const bool known =
      kind == nullptr || nemo_model_given(i) ||
      std::find(std::begin(k_nemo_layers), std::end(k_nemo_layers), kind->text) != std::end(k_nemo_layers);
  if (!known)
    i.error(kind->place, "model.name", fmt::format("{} builds layers of its own", core::quoted(kind->text)),
            "give the model, as in --set model=falcon-7b");
  if (nemo_truth(i, "model.multi_latent_attention", false) && !nemo_model_given(i))
    i.error(i.take("model.multi_latent_attention")->place, "model.multi_latent_attention",
            "has no counterpart in what is read of NeMo", "give the model, as in --set model=deepseek-v3");
  for (const char* name : {"model.mcore_customization_config.parallel_attention",
                           "model.mcore_customization_config.new_decoder_architecture"})
    i.no_effect(name, "of Falcon's layers alone");
  for (const Pair& each : k_nemo_agreed) {
    const Argument* said = i.find(each.theirs);
    if (said == nullptr || said->values.size() != 1) continue;
    std::string value = said->values.front().text;
    std::transform(value.begin(), value.end(), value.begin(), [](char letter) {
      return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
    });
    if (value == each.ours) i.take(each.theirs);
  }
}
void write_nemo_kind(Export& e) { e.say(k_nemo_core, "true"); }

// transformer_config.py: 4 h, also where the MLP is gated.
void read_nemo_ffn(Import& i) {
  const auto hidden = i.experiment.count("model.hidden");
  if (i.said("model.ffn_hidden_size") || !hidden || *hidden > models::k_max_width) return;
  i.experiment.put("model.ffn", std::to_string(4 * *hidden), {});
}

// The tokenizer's size, padded to a multiple times tp; override_vocab_size is the padded one itself.
constexpr const char* k_nemo_multiple = "model.make_vocab_size_divisible_by";
constexpr const char* k_nemo_vocab = "model.override_vocab_size";
void read_nemo_vocab(Import& i) {
  constexpr std::int64_t k_usual = 128;
  if (const auto rows = i.count(k_nemo_vocab)) {
    i.experiment.put("model.vocab", std::to_string(*rows), i.take(k_nemo_vocab)->place);
    return i.no_effect(k_nemo_multiple, "override_vocab_size says the rows of the table");
  }
  i.experiment.put("model.vocab_multiple", std::to_string(i.count(k_nemo_multiple).value_or(k_usual)), {});
}
void write_nemo_vocab(Export& e) {
  e.keys.take("model.vocab");
  const auto multiple = e.keys.take_count("model.vocab_multiple");
  if (!multiple) return e.say(k_nemo_vocab, nemo_transformer(e).vocab);
  e.say(k_nemo_multiple, *multiple);
  e.unsaid("model.vocab", std::to_string(nemo_transformer(e).vocab), "NeMo takes it from the tokenizer");
}

// megatron_gpt_model.py hands encoder_seq_length to Megatron-Core as the length of the table.
constexpr const char* k_nemo_rows = "model.max_position_embeddings";
void read_nemo_position(Import& i) {
  const bool learned = i.experiment.text("model.position") == "learned";
  if (learned && !nemo_truth(i, k_nemo_core, false))
    if (const auto rows = i.count(k_nemo_rows))
      i.experiment.put("model.max_positions", std::to_string(*rows), i.take(k_nemo_rows)->place);
  i.no_effect(k_nemo_rows, learned ? "the table of Megatron-Core has encoder_seq_length rows"
                                   : "only a table of learned positions has that size");
}
void write_nemo_position(Export& e) {
  const auto rows = e.keys.take_count("model.max_positions");
  if (rows && nemo_transformer(e).position == models::PositionEncoding::learned &&
      *rows != e.job.experiment().training.seq_len)
    e.unsaid("model.max_positions", std::to_string(*rows), "the table has a row for every token of a sequence");
}

constexpr const char* k_nemo_rotated = "model.rotary_percentage";
void read_nemo_rotated(Import& i) {
  if (i.experiment.text("model.position") != "rope") return i.no_effect(k_nemo_rotated, "positions are not rotated");
  const Word* word = i.word(k_nemo_rotated);
  const auto heads = i.experiment.count("model.heads"), hidden = i.experiment.count("model.hidden");
  if (word == nullptr || !heads || !hidden || *heads == 0) return;
  const std::int64_t size = i.experiment.count("model.head_dim").value_or(*hidden / *heads);
  const auto share = decimal(word->text);
  if (!share || !(*share > 0.0 && *share <= 1.0))
    return i.error(word->place, k_nemo_rotated, fmt::format("{} is no share of a head", core::quoted(word->text)),
                   "write a number above 0, at most 1");
  if (*share < 1.0)
    i.experiment.put("model.rope_dim", std::to_string(std::llround(*share * static_cast<double>(size))), word->place);
}
void write_nemo_rotated(Export& e) {
  const TransformerConfig& m = nemo_transformer(e);
  const auto size = e.keys.take_count("model.rope_dim");
  if (!size || *size == m.head_size()) return;
  if (!m.head_dim) e.say("model.kv_channels", m.head_size());  // a share of it
  e.say(k_nemo_rotated, fmt::format("{}", static_cast<double>(*size) / static_cast<double>(m.head_size())));
}

// parts/utils_funcs.py, activation_to_func; gated where the name ends in glu.
struct NemoMlp {
  const char* theirs;
  bool gated;
  models::Activation activation;
  const char* ours;
};
constexpr NemoMlp k_nemo_mlps[] = {{"gelu", false, models::Activation::gelu, "gelu"},
                                   {"fast-swiglu", true, models::Activation::silu, "silu"},
                                   {"swiglu", true, models::Activation::silu, "silu"},
                                   {"fast-geglu", true, models::Activation::gelu, "gelu"},
                                   {"geglu", true, models::Activation::gelu, "gelu"},
                                   {"fast-reglu", true, models::Activation::relu, "relu"},
                                   {"reglu", true, models::Activation::relu, "relu"},
                                   {"squared-relu", false, models::Activation::squared_relu, "squared_relu"},
                                   {"approx-gelu", false, models::Activation::gelu, "gelu"}};
void read_nemo_mlp(Import& i) {
  const Word* word = i.word("model.activation");
  const std::string name = word != nullptr ? word->text : "gelu";
  const bool openai = nemo_truth(i, "model.openai_gelu", false);
  for (const NemoMlp& each : k_nemo_mlps) {
    if (name != each.theirs) continue;
    i.experiment.put("model.gated_mlp", each.gated ? "true" : "false", word != nullptr ? word->place : config::Place{});
    return i.experiment.put("model.activation", openai ? "gelu" : each.ours, {});
  }
  std::vector<std::string_view> all;
  for (const NemoMlp& each : k_nemo_mlps) all.emplace_back(each.theirs);
  i.error(word->place, "model.activation", fmt::format("{} is no activation of NeMo", core::quoted(name)),
          fmt::format("use one of {}", fmt::join(all, ", ")));
}
void write_nemo_mlp(Export& e) {
  const TransformerConfig& m = nemo_transformer(e);
  for (const NemoMlp& each : k_nemo_mlps) {
    if (each.gated != m.gated_mlp || each.activation != m.activation_function()) continue;
    e.keys.take("model.gated_mlp");
    e.keys.take("model.activation");
    return e.say("model.activation", each.theirs);
  }
}

void read_nemo_bias(Import& i) {
  const bool bias = nemo_truth(i, "model.bias", true);
  i.experiment.put("model.bias", bias ? "true" : "false", {});
  if (bias) return i.no_effect("model.qkv_bias", "every product has a bias");
  if (nemo_truth(i, "model.qkv_bias", false))
    i.experiment.put("model.qkv_bias", "true", i.take("model.qkv_bias")->place);
}
void write_nemo_bias(Export& e) {
  const TransformerConfig& m = nemo_transformer(e);
  const bool bias = m.has_projection_bias();
  for (const char* key : {"model.bias", "model.projection_bias", "model.mlp_bias", "model.qkv_bias"}) e.keys.take(key);
  e.say("model.bias", bias ? "true" : "false");
  if (m.has_mlp_bias() != bias)
    e.unsaid("model.mlp_bias", m.has_mlp_bias() ? "true" : "false",
             "the MLP has biases as the projection of attention has");
  if (m.has_qkv_bias() && !bias) e.say("model.qkv_bias", "true");
  if (!m.has_qkv_bias() && bias)
    e.unsaid("model.qkv_bias", "false", "queries, keys and values have biases where all products have");
}

void write_nemo_dropout(Export& e) {
  e.keys.take("model.attention_dropout");
  e.say("model.attention_dropout", fmt::format("{}", nemo_transformer(e).probability_dropout()));
  if (nemo_transformer(e).stream_entry_dropout() == nemo_transformer(e).dropout) e.keys.take("model.embedding_dropout");
}

constexpr const char* k_nemo_expert_width = "model.moe_ffn_hidden_size";
constexpr const char* k_nemo_shared_width = "model.moe_shared_expert_intermediate_size";
constexpr const char* k_nemo_capacity = "model.moe_expert_capacity_factor";
constexpr const char* k_nemo_padded = "model.moe_pad_expert_input_to_capacity";
void read_nemo_experts(Import& i) {
  nemo_truth(i, "model.moe_grouped_gemm", false);
  if (!i.said(k_nemo_experts)) {
    for (const char* name : {k_nemo_expert_width, k_nemo_shared_width, k_nemo_padded})
      i.no_effect(name, "without num_moe_experts");
    return;
  }
  const auto width = i.count(k_nemo_expert_width), shared = i.count(k_nemo_shared_width);
  const std::int64_t ffn = width.value_or(i.experiment.count("model.ffn").value_or(0));
  i.experiment.put("model.moe.ffn", std::to_string(ffn), {});
  if (shared && *shared > 0) {
    const bool whole = ffn > 0 && *shared % ffn == 0;
    const config::Place place = i.take(k_nemo_shared_width)->place;
    i.experiment.put("model.moe.shared_experts", std::to_string(whole ? *shared / ffn : 1), place);
    if (!whole) i.experiment.put("model.moe.shared_ffn", std::to_string(*shared), place);
  }
  if (!i.said(k_nemo_capacity)) return i.no_effect(k_nemo_padded, "without moe_expert_capacity_factor");
  if (!nemo_truth(i, k_nemo_padded, false))
    i.remark(*i.take(k_nemo_capacity),
             "Cairn pads the rows of every expert to its capacity, as with moe_pad_expert_input_to_capacity");
}
void write_nemo_experts(Export& e) {
  if (!nemo_transformer(e).moe) return;
  const models::MixtureConfig& moe = *nemo_transformer(e).moe;
  for (const char* key : {"model.moe.ffn", "model.moe.shared_experts", "model.moe.shared_ffn"}) e.keys.take(key);
  e.say(k_nemo_expert_width, moe.ffn);
  if (moe.shared_experts > 0) e.say(k_nemo_shared_width, moe.shared_width());
  if (moe.capacity_factor > 0.0) e.say(k_nemo_padded, "true");
  e.say("model.moe_grouped_gemm", "true");
}

// window_size: the keys before a query and behind it. Experts of some layers alone need layers of another kind.
void read_nemo_blocks(Import& i) {
  constexpr const char* k_period = "model.moe_layer_freq";
  const Word* kind = i.word("model.name");
  const Argument* period = i.find(k_period);
  const bool every = period == nullptr || (period->values.size() == 1 && period->values.front().text == "1");
  if (every || !i.said(k_nemo_experts) || kind == nullptr || kind->text != "decoder_block_gpt")
    i.no_effect(k_period, "every layer is built alike");
  else
    i.error(period->place, k_period, "layers without experts are not read", "give the model's blocks with --set");
  const Argument* window = i.take(k_nemo_window);
  if (window == nullptr) return;
  const auto before = window->values.empty() ? std::nullopt : decimal(window->values.front().text);
  if (window->values.size() != 2 || !before || *before < 0.0 ||
      *before >= static_cast<double>(models::k_max_positions) || *before != std::floor(*before))
    return i.error(window->place, k_nemo_window, "is no window",
                   "write the keys before and behind a query, as in [4095, 0]");
  config::Node sliding = config::make_node(config::NodeKind::map, window->place);
  const std::int64_t keys = static_cast<std::int64_t>(*before) + 1;  // and the query's own
  sliding.put("sliding", config::make_scalar(std::to_string(keys), window->place));
  config::Node block = config::make_node(config::NodeKind::map, window->place);
  block.put("repeat", config::make_scalar("1", {}));
  block.put("attention", std::move(sliding));
  config::Node blocks = config::make_node(config::NodeKind::list, window->place);
  blocks.items.push_back(std::move(block));
  i.experiment.put("model.blocks", std::move(blocks));
}
void write_nemo_blocks(Export& e) {
  const TransformerConfig& m = nemo_transformer(e);
  std::int64_t window = 0;
  bool alike = true;
  for (const models::BlockPattern& block : m.blocks) {
    const models::AttentionPattern attention = m.attention_of(block), usual = m.attention_of({});
    const bool sliding = attention.kind == models::AttentionKind::sliding && !m.mla;
    const std::int64_t keys = sliding ? attention.window : 0;
    alike = alike && (sliding || attention.kind == usual.kind) && m.mlp_of(block) == m.mlp_of({}) &&
            (&block == &m.blocks.front() || keys == window);
    window = keys;
  }
  if (!alike) return e.unsaid("model.blocks", "the layers that NeMo builds are alike");
  e.keys.take("model.blocks");
  if (window > 0)
    e.arguments.push_back(
        {.name = k_nemo_window, .values = {{.text = std::to_string(window - 1)}, {.text = "0"}}, .list = true});
}

}  // namespace

std::vector<Row> nemo_model_rows() {
  return {
      {.argument = "model.num_layers", .key = "model.layers", .required = true},
      {.argument = "model.hidden_size", .key = "model.hidden", .required = true},
      {.argument = "model.ffn_hidden_size", .key = "model.ffn"},
      {.argument = "model.num_attention_heads", .key = "model.heads", .required = true},
      {.argument = "model.num_query_groups", .key = "model.kv_heads"},
      {.argument = "model.kv_channels", .key = "model.head_dim"},
      {.argument = "model.share_embeddings_and_output_weights",
       .key = "model.tied_embeddings",
       .kind = Kind::word,
       .words = nemo_yes_no(),
       .unsaid = "true"},
      {.argument = "model.normalization",
       .key = "model.norm",
       .kind = Kind::word,
       .words = {{"layernorm", "layernorm"},
                 {"rmsnorm", "rmsnorm"},
                 {"layernorm1p", "layernorm"},
                 {"LayerNorm", "layernorm"},
                 {"RMSNorm", "rmsnorm"}},
       .unsaid = "layernorm"},
      {.argument = "model.position_embedding_type",
       .key = "model.position",
       .kind = Kind::word,
       .words = {{"learned_absolute", "learned"}, {"rope", "rope"}, {"none", "none"}},
       .unsaid = "learned"},
      {.argument = "model.hidden_dropout", .key = "model.dropout", .kind = Kind::number, .unsaid = "0.1"},
      {.argument = k_nemo_experts, .key = "model.moe.experts"},
      {.argument = "model.moe_router_topk", .key = "model.moe.top_k", .unsaid = "2", .needs = k_nemo_experts},
      {.argument = k_nemo_capacity, .key = "model.moe.capacity_factor", .kind = Kind::number, .needs = k_nemo_experts},
      {.argument = "model.moe_router_enable_expert_bias",
       .key = "model.moe.balance_bias",
       .kind = Kind::word,
       .words = nemo_yes_no(),
       .unsaid = "false",
       .needs = k_nemo_experts},
  };
}

std::vector<Rule> nemo_model_rules() {
  return {{.read = read_nemo_kind, .write = write_nemo_kind},
          {.read = read_nemo_ffn},
          {.read = read_nemo_vocab, .write = write_nemo_vocab},
          {.read = read_nemo_position, .write = write_nemo_position},
          {.read = read_nemo_rotated, .write = write_nemo_rotated},
          {.read = read_nemo_mlp, .write = write_nemo_mlp},
          {.read = read_nemo_bias, .write = write_nemo_bias},
          {.read =
               [](Import& i) {
                 const Word* word = i.word("model.attention_dropout");
                 i.experiment.put("model.attention_dropout", word != nullptr ? word->text : "0.1",
                                  word != nullptr ? word->place : config::Place{});
               },
           .write = write_nemo_dropout},
          {.read = read_nemo_experts, .write = write_nemo_experts},
          {.read = read_nemo_blocks, .write = write_nemo_blocks}};
}

// Megatron-Core's, and what it could do and NeMo has no key for.
std::vector<Fixed> nemo_model_fixed() {
  std::vector<Fixed> all = megatron_model_fixed();
  for (const char* key : {"model.qk_norm", "model.attention_gate", "model.attention_sinks", "model.moe.shared_gate",
                          "model.moe.balance_bias"})
    all.push_back({key, "false"});
  return all;
}

}  // namespace cairn::launch
