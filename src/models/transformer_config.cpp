#include "cairn/models/transformer_config.h"

#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include "cairn/core/diagnostics.h"

namespace cairn::models {
namespace {

// One owner of every consistency rule: asked with places while reading a file, and again before building.
struct Rule {
  std::string_view key;
  bool (*holds)(const TransformerConfig&);
  std::string_view message;
  std::string_view hint;
};

using Config = TransformerConfig;

template <class Condition>
bool every_block(const Config& c, Condition holds) {
  for (const BlockPattern& block : c.blocks) {
    if (!holds(block)) return false;
  }
  return true;
}

bool uses(const Config& c, AttentionKind kind) {
  return !every_block(c, [kind](const BlockPattern& b) { return !b.attention || b.attention->kind != kind; });
}

std::int64_t pattern_length(const Config& c) {
  std::int64_t length = 0;
  for (const BlockPattern& block : c.blocks) length += block.repeat;
  return length;
}

bool within(std::optional<std::int64_t> count, std::int64_t maximum) {
  return !count || (*count > 0 && *count <= maximum);
}

bool valid_dropout(double p) { return p >= 0.0 && p < 1.0; }

constexpr Rule k_rules[] = {
    {"layers", [](const Config& c) { return within(c.layers, k_max_layers); }, "is out of range", "number of blocks"},
    {"hidden", [](const Config& c) { return within(c.hidden, k_max_width); }, "is out of range",
     "width of the residual stream"},
    {"heads", [](const Config& c) { return within(c.heads, k_max_heads); }, "is out of range", "number of query heads"},
    {"ffn", [](const Config& c) { return within(c.ffn, k_max_ffn); }, "is out of range", "inner width of the MLP"},
    {"vocab", [](const Config& c) { return within(c.vocab, k_max_vocab); }, "is out of range", "number of tokens"},
    {"kv_heads", [](const Config& c) { return within(c.kv_heads, k_max_heads); }, "is out of range",
     "leave it out for one key and value head per query head"},
    {"kv_heads",
     [](const Config& c) { return c.heads <= 0 || c.kv_head_count() <= 0 || c.heads % c.kv_head_count() == 0; },
     "does not divide heads", "every key and value head serves the same number of query heads"},
    {"head_dim", [](const Config& c) { return within(c.head_dim, k_max_width); }, "is out of range",
     "leave it out for hidden / heads"},
    {"head_dim", [](const Config& c) { return c.head_dim || c.heads <= 0 || c.ways > 1 || c.hidden % c.heads == 0; },
     "is needed, because heads does not divide hidden", "give head_dim, or a number of heads that divides hidden"},
    {"head_dim",
     [](const Config& c) { return c.head_dim || c.heads <= 0 || c.ways <= 1 || (c.hidden * c.ways) % c.heads == 0; },
     "is needed, because the heads of one way do not divide hidden",
     "give head_dim, or a hidden that heads / ways divides"},
    {"vocab_multiple", [](const Config& c) { return within(c.vocab_multiple, k_max_vocab); }, "is out of range",
     "leave it out for no padding"},
    {"max_positions", [](const Config& c) { return within(c.max_positions, k_max_positions); }, "is out of range",
     "leave it out for the sequence length"},
    {"dropout", [](const Config& c) { return valid_dropout(c.dropout); }, "must lie in [0, 1)", "0.1, or 0 for none"},
    {"embedding_dropout", [](const Config& c) { return valid_dropout(c.stream_entry_dropout()); }, "must lie in [0, 1)",
     "leave it out for the value of dropout"},
    {"attention_dropout", [](const Config& c) { return valid_dropout(c.probability_dropout()); }, "must lie in [0, 1)",
     "leave it out for the value of dropout"},
    {"ways", [](const Config& c) { return within(c.ways, k_max_ways); }, "is out of range",
     "number of sub-layers side by side"},
    {"ways", [](const Config& c) { return c.residual != Residual::kraken || c.ways > 1; },
     "must be given and above 1 with residual: kraken", "sub-layers side by side, as in ways: 4"},
    {"ways", [](const Config& c) { return c.residual == Residual::kraken || c.ways == 1; },
     "means something with residual: kraken only", "leave it out, or set residual: kraken"},
    {"ways", [](const Config& c) { return c.ways < 1 || (c.heads % c.ways == 0 && c.kv_head_count() % c.ways == 0); },
     "does not divide heads and kv_heads", "every way has the same number of heads"},
    {"residual",
     [](const Config& c) { return c.residual != Residual::kraken || (c.blocks.empty() && !c.moe && !c.mla); },
     "has sub-layers side by side, which is modelled without experts, latent attention and blocks",
     "leave moe, mla and blocks out"},
    {"residual",
     [](const Config& c) {
       return c.residual != Residual::ladder ||
              (c.blocks.empty() && !c.moe && !c.mla && !c.has_mlp_bias() && c.dropout == 0.0);
     },
     "joins results late, which is modelled without experts, latent attention, blocks, biases of the MLP and dropout",
     "set mlp_bias: false and dropout: 0, and leave blocks out"},
    {"mtp.depth",
     [](const Config& c) { return c.prediction_depth() >= 0 && c.prediction_depth() <= k_max_prediction_depth; },
     "is out of range", "number of further tokens that are predicted"},
    {"mtp",
     [](const Config& c) {
       return c.prediction_depth() == 0 ||
              (c.residual == Residual::standard && !c.tied_embeddings && c.position != PositionEncoding::learned &&
               !(c.moe && c.moe->dispatcher == Dispatcher::exflow));
     },
     "is modelled for a standard residual stream, with an embedding of its own beside the head, without learned "
     "positions and without exflow",
     "set tied_embeddings: false and position: rope, or leave mtp out"},
    {"blocks",
     [](const Config& c) {
       return every_block(c, [](const BlockPattern& b) { return within(b.repeat, k_max_layers); });
     },
     "has a repeat that is out of range", "count the consecutive equal blocks"},
    {"blocks", [](const Config& c) { return pattern_length(c) <= 0 || c.layers % pattern_length(c) == 0; },
     "has repeats whose sum does not divide layers", "the pattern is repeated a whole number of times"},
    {"blocks",
     [](const Config& c) {
       return c.moe || every_block(c, [](const BlockPattern& b) { return b.mlp != MlpKind::moe; });
     },
     "uses experts, but the model has no moe block", "describe them, as in moe: {experts: 8, top_k: 2, ffn: 14336}"},
    {"blocks", [](const Config& c) { return c.mla || !uses(c, AttentionKind::mla); },
     "uses latent attention, but the model has no mla block",
     "describe it, as in mla: {q_lora: 1536, kv_lora: 512, rope_dim: 64, nope_dim: 128, v_dim: 128}"},
    {"blocks",
     [](const Config& c) {
       return every_block(c, [](const BlockPattern& b) {
         return !b.attention || b.attention->kind != AttentionKind::sliding ||
                within(b.attention->window, k_max_positions);
       });
     },
     "has a sliding window that is out of range", "the number of keys that a query sees"},
    {"blocks", [](const Config& c) { return !uses(c, AttentionKind::linear) || !(c.has_qkv_bias() || c.qk_norm); },
     "uses linear attention with biases or normalised heads, which is not modelled",
     "set qkv_bias: false and qk_norm: false"},
    {"mla", [](const Config& c) { return !c.mla || c.kv_head_count() == c.heads; },
     "gives every query head a key of its own", "leave kv_heads out"},
    {"mla",
     [](const Config& c) {
       return !c.mla || (c.mla->kv_lora > 0 && c.mla->rope_dim > 0 && c.mla->nope_dim > 0 && c.mla->v_dim > 0);
     },
     "needs widths above 0", "only q_lora may be 0, for queries projected directly"},
    {"moe.experts", [](const Config& c) { return !c.moe || within(c.moe->experts, k_max_experts); }, "is out of range",
     "number of routed experts of a layer"},
    {"moe.top_k", [](const Config& c) { return !c.moe || (c.moe->top_k >= 1 && c.moe->top_k <= c.moe->experts); },
     "is not between 1 and the number of experts", "a token goes to top_k different experts"},
    {"moe.ffn", [](const Config& c) { return !c.moe || within(c.moe->ffn, k_max_ffn); }, "is out of range",
     "inner width of one expert"},
    {"moe.shared_experts",
     [](const Config& c) { return !c.moe || c.moe->shared_experts == 0 || within(c.moe->shared_width(), k_max_ffn); },
     "is out of range", "experts that see every token"},
    {"moe.capacity_factor", [](const Config& c) { return !c.moe || c.moe->capacity_factor >= 0.0; }, "is below 0",
     "rows per expert over an even spread, or dropless"},
    {"moe.imbalance", [](const Config& c) { return !c.moe || c.moe->imbalance >= 1.0; }, "is below 1",
     "rows on the fullest rank over an even spread"},
    {"moe.capacity_factor",
     [](const Config& c) { return !c.moe || c.moe->capacity_factor <= static_cast<double>(c.moe->experts); },
     "is above the number of experts", "from experts / top_k on every expert has room for every token"},
    {"moe.imbalance", [](const Config& c) { return !c.moe || c.moe->imbalance <= static_cast<double>(c.moe->experts); },
     "is above the number of experts", "at experts / top_k one rank holds every row"},
    {"moe.node_limit", [](const Config& c) { return !c.moe || c.moe->node_limit >= 0; }, "is below 0",
     "nodes that a token goes to at most, or none"},
    {"moe.shortcut", [](const Config& c) { return !c.moe || !c.moe->shortcut || c.moe->shared_experts > 0; },
     "needs a shared expert, which runs while routed tokens travel", "set shared_experts: 1 or more"},
    {"moe", [](const Config& c) { return !c.moe || !c.has_mlp_bias(); },
     "has experts with biases, which is not modelled", "set bias: false, or mlp_bias: false"},
};

const config::Choices<Norm> k_norms{{"layernorm", Norm::layernorm}, {"rmsnorm", Norm::rmsnorm}};
const config::Choices<PositionEncoding> k_positions{{"learned", PositionEncoding::learned},
                                                    {"rope", PositionEncoding::rope},
                                                    {"alibi", PositionEncoding::alibi},
                                                    {"none", PositionEncoding::none}};
const config::Choices<Activation> k_activations{{"gelu", Activation::gelu},
                                                {"silu", Activation::silu},
                                                {"relu", Activation::relu},
                                                {"squared_relu", Activation::squared_relu}};
const config::Choices<Residual> k_residuals{
    {"standard", Residual::standard}, {"ladder", Residual::ladder}, {"kraken", Residual::kraken}};
const config::Choices<AttentionKind> k_attentions{
    {"full", AttentionKind::full}, {"mla", AttentionKind::mla}, {"linear", AttentionKind::linear}};

void describe_shape(config::Fields& f, Config& c) {
  f.count("layers", c.layers, {.doc = "how many blocks", .required = true, .minimum = 1, .maximum = k_max_layers});
  f.count("hidden", c.hidden,
          {.doc = "width of the residual stream", .required = true, .minimum = 1, .maximum = k_max_width});
  f.count("heads", c.heads, {.doc = "query heads", .required = true, .minimum = 1, .maximum = k_max_heads});
  f.count("kv_heads", c.kv_heads, {.doc = "key and value heads; default heads", .minimum = 1, .maximum = k_max_heads});
  f.count("head_dim", c.head_dim,
          {.doc = "width of one head; default hidden / heads (kraken: hidden x ways / heads)",
           .minimum = 1,
           .maximum = k_max_width});
  f.count(
      "ffn", c.ffn,
      {.doc = "inner width of the MLP, of each half when gated", .required = true, .minimum = 1, .maximum = k_max_ffn});
  f.flag("gated_mlp", c.gated_mlp, {.doc = "two input projections, one through the activation", .required = true});
  f.count("vocab", c.vocab,
          {.doc = "tokens in the vocabulary", .required = true, .minimum = 1, .maximum = k_max_vocab});
  f.count("vocab_multiple", c.vocab_multiple,
          {.doc = "pads the vocabulary to a multiple of this times the ranks that share it",
           .minimum = 1,
           .maximum = k_max_vocab});
  f.flag("tied_embeddings", c.tied_embeddings, {.doc = "the head reuses the embedding table", .required = true});
}

void describe_details(config::Fields& f, Config& c) {
  f.choice("norm", c.norm, k_norms, {.doc = "normalisation before attention, MLP and head"});
  f.choice("position", c.position, k_positions, {.doc = "how positions enter"});
  f.count("max_positions", c.max_positions,
          {.doc = "rows of the learned position table; default: the sequence length",
           .minimum = 1,
           .maximum = k_max_positions});
  f.flag("bias", c.bias, {.doc = "biases in the linear layers"});
  f.flag("qkv_bias", c.qkv_bias, {.doc = "bias of the query, key and value projection; default bias"});
  f.flag("projection_bias", c.projection_bias, {.doc = "bias of the attention output projection; default bias"});
  f.flag("mlp_bias", c.mlp_bias, {.doc = "biases of the MLP; default bias"});
  f.flag("causal", c.causal, {.doc = "a query sees no later keys; false: all of them, as in encoders"});
  f.flag("qk_norm", c.qk_norm, {.doc = "RMS normalisation of query and key heads"});
  f.flag("embedding_norm", c.embedding_norm, {.doc = "normalisation after the embedding"});
  f.number("dropout", c.dropout, {.doc = "probability of dropping; its masks are kept", .maximum = 1.0});
  f.number("embedding_dropout", c.embedding_dropout,
           {.doc = "the same for the embedding; default dropout", .maximum = 1.0});
  f.number("attention_dropout", c.attention_dropout,
           {.doc = "probability of dropping attention probabilities; default dropout", .maximum = 1.0});
  f.choice("activation", c.activation, k_activations, {.doc = "default gelu, silu when gated"});
  f.choice(
      "residual", c.residual, k_residuals,
      {.doc = "how block outputs join the residual stream: at once; one sub-layer late (ladder); kraken: in `ways` "
              "streams side by side, summed once per block"});
  f.count(
      "ways", c.ways,
      {.doc = "kraken: sub-layers side by side; hidden and ffn are those of one, heads and kv_heads of all together",
       .minimum = 1,
       .maximum = k_max_ways});
  f.objects("blocks", c.blocks, {.doc = "pattern of unequal blocks, repeated until layers is reached"});
}

}  // namespace

std::int64_t TransformerConfig::padded_vocab(std::int64_t divisor) const {
  if (!vocab_multiple || divisor == 0) return vocab;
  const std::int64_t multiple = *vocab_multiple * divisor;
  return (vocab + multiple - 1) / multiple * multiple;
}

void validate(const TransformerConfig& config) {
  core::Diagnostics diagnostics;
  for (const Rule& rule : k_rules) {
    if (rule.holds(config)) continue;
    core::Diagnostic problem;
    problem.key_path = "model." + std::string(rule.key);
    problem.message = rule.message;
    problem.hint = rule.hint;
    diagnostics.add(std::move(problem));
  }
  diagnostics.raise_if_errors();
}

TransformerConfig for_sequence(TransformerConfig config, std::int64_t sequence) {
  if (config.position != PositionEncoding::learned) return config;
  if (!config.max_positions) config.max_positions = sequence;
  if (*config.max_positions < sequence) {
    throw core::ConfigurationError("training.seq_len",
                                   "a sequence of " + std::to_string(sequence) + " tokens is longer than the " +
                                       std::to_string(*config.max_positions) + " learned positions of the model",
                                   "shorten the sequence or raise model.max_positions");
  }
  return config;
}

void describe(config::Value& value, AttentionPattern& attention) {
  const std::size_t form = attention.kind == AttentionKind::sliding ? 1 : 0;
  value.one_of(form, {{config::Form::word, [&](config::Value& v) { v.choice(attention.kind, k_attentions); }},
                      {config::Form::map, [&](config::Value& v) {
                         v.object([&](config::Fields& f) {
                           attention.kind = AttentionKind::sliding;
                           f.count("sliding", attention.window,
                                   {.doc = "keys a query sees, itself included",
                                    .required = true,
                                    .minimum = 1,
                                    .maximum = k_max_positions});
                         });
                       }}});
}

void describe(config::Fields& f, BlockPattern& block) {
  f.count("repeat", block.repeat, {.doc = "consecutive equal blocks", .minimum = 1, .maximum = k_max_layers});
  f.choice("mlp", block.mlp, {{"dense", MlpKind::dense}, {"moe", MlpKind::moe}},
           {.doc = "dense or mixture of experts"});
  f.value("attention", block.attention, {.doc = "full, {sliding: N}, mla or linear"});
}

void describe(config::Fields& f, MixtureConfig& m) {
  f.count("experts", m.experts,
          {.doc = "routed experts of a layer", .required = true, .minimum = 1, .maximum = k_max_experts});
  f.count("top_k", m.top_k,
          {.doc = "experts that a token goes to", .required = true, .minimum = 1, .maximum = k_max_experts});
  f.count("ffn", m.ffn, {.doc = "inner width of one expert", .required = true, .minimum = 1, .maximum = k_max_ffn});
  f.count("shared_experts", m.shared_experts, {.doc = "experts that every token goes to", .maximum = k_max_experts});
  f.count("shared_ffn", m.shared_ffn,
          {.doc = "inner width of the shared experts together; default shared_experts x ffn",
           .minimum = 1,
           .maximum = k_max_ffn});
  f.value("capacity_factor", m.capacity_factor,
          {.doc = "dropless, or rows per expert over an even spread, padded to that"},
          [](config::Value& v, double& factor) {
            std::string dropless = "dropless";
            v.one_of(factor > 0.0 ? 0 : 1,
                     {{config::Form::number, [&](config::Value& n) { n.number(factor, {.positive = true}); }},
                      {config::Form::word, [&](config::Value& w) { w.name(dropless, {"dropless"}); }}});
          });
  f.number("imbalance", m.imbalance, {.doc = "rows on the fullest rank over an even spread", .positive = true});
  f.choice("dispatcher", m.dispatcher,
           {{"alltoall", Dispatcher::alltoall},
            {"allgather", Dispatcher::allgather},
            {"smile", Dispatcher::smile},
            {"exflow", Dispatcher::exflow}},
           {.doc = "how tokens reach their experts"});
  f.value("node_limit", m.node_limit, {.doc = "none, or nodes that a token goes to at most, crossing to each once"},
          [](config::Value& v, std::int64_t& limit) {
            std::string none = "none";
            v.one_of(limit > 0 ? 0 : 1,
                     {{config::Form::number, [&](config::Value& n) { n.count(limit, {.minimum = 1}); }},
                      {config::Form::word, [&](config::Value& w) { w.name(none, {"none"}); }}});
          });
  f.flag("shortcut", m.shortcut, {.doc = "experts read the block's input, so that tokens travel beside attention"});
}

void describe(config::Fields& f, LatentConfig& m) {
  f.count("q_lora", m.q_lora, {.doc = "width of the queries' narrow projection; 0: none", .maximum = k_max_width});
  f.count("kv_lora", m.kv_lora,
          {.doc = "width of the keys' and values' narrow projection",
           .required = true,
           .minimum = 1,
           .maximum = k_max_width});
  f.count("rope_dim", m.rope_dim,
          {.doc = "rotated dimensions of a query and key", .required = true, .minimum = 1, .maximum = k_max_width});
  f.count("nope_dim", m.nope_dim,
          {.doc = "other dimensions of a query and key", .required = true, .minimum = 1, .maximum = k_max_width});
  f.count("v_dim", m.v_dim, {.doc = "dimensions of a value", .required = true, .minimum = 1, .maximum = k_max_width});
}

void describe(config::Fields& f, PredictionConfig& p) {
  f.count("depth", p.depth,
          {.doc = "modules, each for one token further ahead; 0: none",
           .required = true,
           .maximum = k_max_prediction_depth});
}

void describe(config::Fields& f, TransformerConfig& c) {
  std::int64_t version = 1;
  f.count("version", version, {.doc = "format of this file", .minimum = 1, .maximum = 1});
  f.text("name", c.name, {.doc = "shown in reports"});
  enum class Kind : std::uint8_t { transformer };
  Kind kind = Kind::transformer;
  f.choice("kind", kind, {{"transformer", Kind::transformer}}, {.doc = "the builder"});
  describe_shape(f, c);
  describe_details(f, c);
  f.object("moe", c.moe, {.doc = "mixture of experts"});
  f.object("mla", c.mla, {.doc = "latent attention"});
  f.object("mtp", c.mtp, {.doc = "multi-token prediction: a block, a projection and a loss for each further token"});
  for (const Rule& rule : k_rules) {
    f.check(
        rule.key, [&] { return rule.holds(c); }, rule.message, rule.hint);
  }
}

}  // namespace cairn::models
