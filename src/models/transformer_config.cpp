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

// Some block satisfies it, or a module that predicts further tokens, which is a default block.
template <class Condition>
bool some_block(const Config& c, Condition holds) {
  if (c.blocks.empty() || c.prediction_depth() > 0)
    if (holds(BlockPattern{})) return true;
  return !every_block(c, [&](const BlockPattern& block) { return !holds(block); });
}

bool has_attention(const Config& c) {
  return some_block(c, [&](const BlockPattern& block) {
    const AttentionKind kind = c.attention_of(block).kind;
    return kind != AttentionKind::mamba2 && kind != AttentionKind::none;
  });
}

bool has_dense_mlp(const Config& c) {
  return some_block(c, [&](const BlockPattern& block) { return c.mlp_of(block) == MlpKind::dense; });
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

bool normalises_results(const Config& c) {
  return c.norm_place == NormPlace::post || c.norm_place == NormPlace::sandwich;
}

// Of SelfAttention alone (attention.cpp): linear, latent and delta attention have projections of their own.
bool extends_attention(const Config& c) { return c.attention_gate || c.attention_sinks || c.score_cap; }

constexpr Rule k_rules[] = {
    {"layers", [](const Config& c) { return within(c.layers, k_max_layers); }, "is out of range", "number of blocks"},
    {"hidden", [](const Config& c) { return within(c.hidden, k_max_width); }, "is out of range",
     "width of the residual stream"},
    {"heads", [](const Config& c) { return (c.heads == 0 && !has_attention(c)) || within(c.heads, k_max_heads); },
     "is out of range", "number of query heads; 0 where no block has attention"},
    {"ffn", [](const Config& c) { return (c.ffn == 0 && !has_dense_mlp(c)) || within(c.ffn, k_max_ffn); },
     "is out of range", "inner width of the MLP; 0 where no block has a dense one"},
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
    {"norm_place",
     [](const Config& c) { return c.norm_place != NormPlace::shared || c.residual == Residual::parallel; },
     "has one norm for attention and MLP, which a parallel residual only can have", "set residual: parallel, or pre"},
    {"norm_place",
     [](const Config& c) {
       return !normalises_results(c) ||
              (!c.has_projection_bias() && !c.has_mlp_bias() && !(c.mamba2 && c.mamba2->bias));
     },
     "normalises results, which is modelled without biases of what makes them",
     "set projection_bias: false and mlp_bias: false"},
    {"norm_place",
     [](const Config& c) {
       return c.norm_place == NormPlace::pre || c.residual == Residual::standard || c.residual == Residual::parallel;
     },
     "is not pre, which ladder and kraken are modelled with", "leave it out"},
    {"rope_dim",
     [](const Config& c) { return !c.rope_dim || c.heads <= 0 || (*c.rope_dim > 0 && *c.rope_dim <= c.head_size()); },
     "is not between 1 and head_dim", "leave it out for all of a head"},
    {"rope_dim", [](const Config& c) { return !c.rope_dim || c.position == PositionEncoding::rope; },
     "means something with position: rope only", "leave it out, or set position: rope"},
    {"activation", [](const Config& c) { return c.activation != Activation::clamped_silu || c.gated_mlp; },
     "clamps a gate that the MLP does not have", "set gated_mlp: true"},
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
         const bool windowed = b.attention && (b.attention->kind == AttentionKind::sliding ||
                                               b.attention->kind == AttentionKind::chunked);
         return !windowed || within(b.attention->window, k_max_positions);
       });
     },
     "has a window or chunk that is out of range", "the number of tokens of it"},
    {"blocks",
     [](const Config& c) {
       return !uses(c, AttentionKind::linear) ||
              !(c.has_qkv_bias() || c.qk_norm != QkNorm::none || extends_attention(c));
     },
     "uses linear attention with biases, normalised heads, gates, sinks or capped scores, which is not modelled",
     "set qkv_bias: false and qk_norm: false, and leave the others out"},
    {"blocks", [](const Config& c) { return c.causal || !uses(c, AttentionKind::chunked); },
     "uses attention in chunks, which is causal", "leave causal out"},
    {"blocks", [](const Config& c) { return c.delta || !uses(c, AttentionKind::delta); },
     "uses a delta rule, but the model has no delta block",
     "describe it, as in delta: {key_heads: 16, value_heads: 32, key_dim: 128, value_dim: 128, convolution: 4}"},
    {"delta",
     [](const Config& c) {
       return !c.delta || (within(c.delta->key_heads, k_max_heads) && within(c.delta->value_heads, k_max_heads) &&
                           within(c.delta->key_dim, k_max_width) && within(c.delta->value_dim, k_max_width) &&
                           within(c.delta->convolution, k_max_width));
     },
     "has a size that is out of range", "give numbers of heads, widths and tokens above 0"},
    {"delta",
     [](const Config& c) {
       return !c.delta || c.delta->key_heads <= 0 || c.delta->value_heads % c.delta->key_heads == 0;
     },
     "has key_heads that do not divide value_heads", "every key head serves the same number of value heads"},
    {"mla", [](const Config& c) { return !c.mla || !extends_attention(c); },
     "is modelled without gates, sinks and capped scores", "leave those out"},
    {"blocks", [](const Config& c) { return c.mamba2 || !uses(c, AttentionKind::mamba2); },
     "uses a state-space mixer, but the model has no mamba2 block",
     "describe it, as in mamba2: {heads: 128, head_dim: 64, state: 128, groups: 8}"},
    {"blocks",
     [](const Config& c) {
       return every_block(c, [&](const BlockPattern& b) {
         return c.attention_of(b).kind != AttentionKind::none || c.mlp_of(b) != MlpKind::none;
       });
     },
     "has a block that holds nothing", "leave out attention: none or mlp: none"},
    {"causal", [](const Config& c) { return c.causal || !uses(c, AttentionKind::mamba2); },
     "is false, but a state-space mixer sees no later tokens", "leave causal out"},
    {"mamba2",
     [](const Config& c) {
       return !c.mamba2 || (c.mamba2->head_dim > 0 && c.mamba2->state > 0 && c.mamba2->groups > 0 &&
                            c.mamba2->conv > 0 && c.mamba2->chunk > 0);
     },
     "needs sizes above 0", "head_dim: 64, state: 128, groups: 1, conv: 4, chunk: 256"},
    {"mamba2.heads", [](const Config& c) { return !c.mamba2 || within(c.state_heads(), k_max_heads); },
     "is out of range", "leave it out for 2 x hidden / head_dim"},
    {"mamba2.heads",
     [](const Config& c) {
       return !c.mamba2 || c.mamba2->heads || c.mamba2->head_dim < 1 || 2 * c.hidden % c.mamba2->head_dim == 0;
     },
     "is needed, because head_dim does not divide 2 x hidden", "number of heads of the mixer"},
    {"mamba2.groups",
     [](const Config& c) { return !c.mamba2 || c.mamba2->groups < 1 || c.state_heads() % c.mamba2->groups == 0; },
     "does not divide the mixer's heads", "every group serves the same number of heads"},
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
    {"moe.shared_gate", [](const Config& c) { return !c.moe || !c.moe->shared_gate || c.moe->shared_experts > 0; },
     "needs a shared expert", "set shared_experts: 1 or more"},
};

const config::Choices<Norm> k_norms{{"layernorm", Norm::layernorm}, {"rmsnorm", Norm::rmsnorm}};
const config::Choices<PositionEncoding> k_positions{{"learned", PositionEncoding::learned},
                                                    {"rope", PositionEncoding::rope},
                                                    {"alibi", PositionEncoding::alibi},
                                                    {"none", PositionEncoding::none}};
const config::Choices<Activation> k_activations{{"gelu", Activation::gelu},
                                                {"silu", Activation::silu},
                                                {"relu", Activation::relu},
                                                {"squared_relu", Activation::squared_relu},
                                                {"clamped_silu", Activation::clamped_silu}};
const config::Choices<NormPlace> k_norm_places{{"pre", NormPlace::pre},
                                               {"post", NormPlace::post},
                                               {"sandwich", NormPlace::sandwich},
                                               {"shared", NormPlace::shared}};
const config::Choices<QkNorm> k_qk_norms{{"whole", QkNorm::whole}, {"unscaled", QkNorm::unscaled}};
const config::Choices<Residual> k_residuals{{"standard", Residual::standard},
                                            {"ladder", Residual::ladder},
                                            {"kraken", Residual::kraken},
                                            {"parallel", Residual::parallel}};
const config::Choices<AttentionKind> k_attentions{{"full", AttentionKind::full},   {"nope", AttentionKind::nope},
                                                  {"mla", AttentionKind::mla},     {"linear", AttentionKind::linear},
                                                  {"delta", AttentionKind::delta}, {"mamba2", AttentionKind::mamba2},
                                                  {"none", AttentionKind::none}};

void describe_shape(config::Fields& f, Config& c) {
  f.count("layers", c.layers, {.doc = "how many blocks", .required = true, .minimum = 1, .maximum = k_max_layers});
  f.count("hidden", c.hidden,
          {.doc = "width of the residual stream", .required = true, .minimum = 1, .maximum = k_max_width});
  f.count("heads", c.heads,
          {.doc = "query heads; 0 where no block has attention", .required = true, .maximum = k_max_heads});
  f.count("kv_heads", c.kv_heads, {.doc = "key and value heads; default heads", .minimum = 1, .maximum = k_max_heads});
  f.count("head_dim", c.head_dim,
          {.doc = "width of one head; default hidden / heads (kraken: hidden x ways / heads)",
           .minimum = 1,
           .maximum = k_max_width});
  f.count("ffn", c.ffn,
          {.doc = "inner width of the MLP, of each half when gated; 0 where no block has a dense MLP",
           .required = true,
           .maximum = k_max_ffn});
  f.flag("gated_mlp", c.gated_mlp, {.doc = "two input projections, one through the activation", .required = true});
  f.count("vocab", c.vocab,
          {.doc = "tokens in the vocabulary", .required = true, .minimum = 1, .maximum = k_max_vocab});
  f.count("vocab_multiple", c.vocab_multiple,
          {.doc = "pads the vocabulary to a multiple of this times the ranks that share it",
           .minimum = 1,
           .maximum = k_max_vocab});
  f.flag("tied_embeddings", c.tied_embeddings, {.doc = "the head reuses the embedding table", .required = true});
}

void describe_qk_norm(config::Value& value, QkNorm& norm) {
  const bool by_head = norm == QkNorm::none || norm == QkNorm::head;
  value.one_of(by_head ? 0 : 1, {{config::Form::flag,
                                  [&](config::Value& v) {
                                    bool on = norm == QkNorm::head;
                                    v.flag(on);
                                    norm = on ? QkNorm::head : QkNorm::none;
                                  }},
                                 {config::Form::word, [&](config::Value& v) { v.choice(norm, k_qk_norms); }}});
}

void describe_details(config::Fields& f, Config& c) {
  f.choice("norm", c.norm, k_norms, {.doc = "normalisation of attention, MLP and head"});
  f.choice("norm_place", c.norm_place, k_norm_places,
           {.doc = "attention and MLP are normalised before (pre), after (post) or both (sandwich); shared: one norm "
                   "before the two of a parallel residual"});
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
  f.value("qk_norm", c.qk_norm,
          {.doc = "RMS normalisation of query and key heads; whole: of all heads together; unscaled: of heads, after "
                  "the rotation, without gain"},
          describe_qk_norm);
  f.count("rope_dim", c.rope_dim,
          {.doc = "rotated dimensions of a head; default head_dim", .minimum = 1, .maximum = k_max_width});
  f.flag("nope_scale", c.nope_scale, {.doc = "queries that are not rotated (nope) are scaled by their position"});
  f.flag("attention_gate", c.attention_gate, {.doc = "the context is gated by a projection of its own"});
  f.flag("attention_sinks", c.attention_sinks, {.doc = "a learned score per head takes part in the softmax"});
  f.flag("score_cap", c.score_cap, {.doc = "attention scores pass through a scaled tanh"});
  f.flag("logit_cap", c.logit_cap, {.doc = "logits pass through a scaled tanh"});
  f.flag("embedding_scale", c.embedding_scale, {.doc = "the embedding is multiplied by a constant"});
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
              "streams side by side, summed once per block; parallel: attention and MLP read the same"});
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

std::vector<std::int64_t> layer_weights(const TransformerConfig& c) {
  const auto weights = [&](const BlockPattern& block) {
    const AttentionKind kind = c.attention_of(block).kind;
    std::int64_t width = block.mlp == MlpKind::none ? 0 : (c.gated_mlp ? 3 : 2) * c.ffn;
    if (kind == AttentionKind::mamba2)
      width += 3 * c.state_heads() * c.mamba2->head_dim;
    else if (kind != AttentionKind::none)
      width += 4 * c.heads * c.head_size();
    return width * c.hidden;
  };
  std::vector<std::int64_t> pattern;
  for (const BlockPattern& block : c.blocks)
    pattern.insert(pattern.end(), static_cast<std::size_t>(block.repeat), weights(block));
  if (pattern.empty()) pattern.push_back(weights({}));
  std::vector<std::int64_t> layers;
  for (std::int64_t layer = 0; layer < c.layers; ++layer)
    layers.push_back(pattern[static_cast<std::size_t>(layer) % pattern.size()]);
  return layers;
}

TransformerConfig for_sequence(TransformerConfig config, std::int64_t sequence) {
  for (BlockPattern& block : config.blocks) {
    if (!block.attention || block.attention->kind != AttentionKind::chunked) continue;
    const std::int64_t chunk = block.attention->window;
    if (chunk >= sequence)
      block.attention = AttentionPattern{};
    else if (sequence % chunk != 0)
      throw core::ConfigurationError("training.seq_len",
                                     "chunks of " + std::to_string(chunk) +
                                         " tokens, inside which the model attends, " + "do not divide a sequence of " +
                                         std::to_string(sequence),
                                     "use a multiple of " + std::to_string(chunk) + ", or at most so many");
  }
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

namespace {

void describe_window(config::Fields& f, AttentionPattern& attention) {
  std::optional<std::int64_t> window, chunk;
  if (attention.kind == AttentionKind::sliding) window = attention.window;
  if (attention.kind == AttentionKind::chunked) chunk = attention.window;
  f.count("sliding", window, {.doc = "keys a query sees, itself included", .minimum = 1, .maximum = k_max_positions});
  f.count("chunked", chunk,
          {.doc = "tokens of a chunk, inside which queries see keys", .minimum = 1, .maximum = k_max_positions});
  f.check(
      "sliding", [&] { return window.has_value() != chunk.has_value(); }, "stands beside chunked, or neither is given",
      "give one of the two");
  attention.kind = chunk ? AttentionKind::chunked : AttentionKind::sliding;
  attention.window = chunk.value_or(window.value_or(0));
}

}  // namespace

void describe(config::Value& value, AttentionPattern& attention) {
  const bool windowed = attention.kind == AttentionKind::sliding || attention.kind == AttentionKind::chunked;
  const std::size_t form = windowed ? 1 : 0;
  value.one_of(form, {{config::Form::word, [&](config::Value& v) { v.choice(attention.kind, k_attentions); }},
                      {config::Form::map, [&](config::Value& v) {
                         v.object([&](config::Fields& f) { describe_window(f, attention); });
                       }}});
}

void describe(config::Fields& f, BlockPattern& block) {
  f.count("repeat", block.repeat, {.doc = "consecutive equal blocks", .minimum = 1, .maximum = k_max_layers});
  f.choice("mlp", block.mlp, {{"dense", MlpKind::dense}, {"moe", MlpKind::moe}, {"none", MlpKind::none}},
           {.doc = "dense, mixture of experts, or none"});
  f.value("attention", block.attention,
          {.doc = "full, nope (full without rotation), {sliding: N}, {chunked: N}, mla, linear, delta, mamba2 (a "
                  "state-space mixer in its place), or none"});
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
  f.choice(
      "dispatcher", m.dispatcher,
      {{"alltoall", Dispatcher::alltoall},
       {"deepep", Dispatcher::merged},
       {"allgather", Dispatcher::allgather},
       {"smile", Dispatcher::smile},
       {"exflow", Dispatcher::exflow}},
      {.doc = "how tokens reach their experts: alltoall (each copy to its expert and back), deepep (once to each "
              "rank and node, summed on the way back), allgather (all tokens to all ranks), smile (alltoall to the "
              "right node, then inside it) or exflow (results stay with their experts)"});
  f.value("node_limit", m.node_limit, {.doc = "none, or nodes that a token goes to at most, crossing to each once"},
          [](config::Value& v, std::int64_t& limit) {
            std::string none = "none";
            v.one_of(limit > 0 ? 0 : 1,
                     {{config::Form::number, [&](config::Value& n) { n.count(limit, {.minimum = 1}); }},
                      {config::Form::word, [&](config::Value& w) { w.name(none, {"none"}); }}});
          });
  f.flag("router_bias", m.router_bias, {.doc = "the router's product has a bias"});
  f.flag("balance_bias", m.balance_bias, {.doc = "a bias per expert decides which are chosen, not what they weigh"});
  f.flag("shared_gate", m.shared_gate, {.doc = "the shared experts' result is weighted for each token"});
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

void describe(config::Fields& f, DeltaConfig& d) {
  f.count("key_heads", d.key_heads,
          {.doc = "heads of queries and keys", .required = true, .minimum = 1, .maximum = k_max_heads});
  f.count("value_heads", d.value_heads,
          {.doc = "heads of values, a multiple of key_heads", .required = true, .minimum = 1, .maximum = k_max_heads});
  f.count("key_dim", d.key_dim,
          {.doc = "dimensions of a query and key", .required = true, .minimum = 1, .maximum = k_max_width});
  f.count("value_dim", d.value_dim,
          {.doc = "dimensions of a value", .required = true, .minimum = 1, .maximum = k_max_width});
  f.count("convolution", d.convolution,
          {.doc = "tokens that the convolution of queries, keys and values sees",
           .required = true,
           .minimum = 1,
           .maximum = k_max_width});
}

void describe(config::Fields& f, Mamba2Config& m) {
  f.count("heads", m.heads, {.doc = "default 2 x hidden / head_dim", .minimum = 1, .maximum = k_max_heads});
  f.count("head_dim", m.head_dim, {.doc = "width of one head", .minimum = 1, .maximum = k_max_width});
  f.count("state", m.state,
          {.doc = "numbers that a head keeps for each of its dimensions", .minimum = 1, .maximum = k_max_state});
  f.count(
      "groups", m.groups,
      {.doc = "sets of heads, each with one B and one C, which write and read its states; tensor-parallel ranks hold "
              "whole groups",
       .minimum = 1,
       .maximum = k_max_heads});
  f.count("conv", m.conv,
          {.doc = "tokens that the causal convolution sees, the current one included",
           .minimum = 1,
           .maximum = k_max_state});
  f.count("chunk", m.chunk,
          {.doc = "tokens between two states that are written out", .minimum = 1, .maximum = k_max_chunk});
  f.flag("bias", m.bias, {.doc = "biases of the input and the output projection"});
  f.flag("conv_bias", m.conv_bias, {.doc = "bias of the convolution"});
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
  f.object("delta", c.delta, {.doc = "attention by a gated delta rule"});
  f.object("mamba2", c.mamba2, {.doc = "state-space mixer of the blocks that name it"});
  f.object("mtp", c.mtp, {.doc = "multi-token prediction: a block, a projection and a loss for each further token"});
  for (const Rule& rule : k_rules) {
    f.check(
        rule.key, [&] { return rule.holds(c); }, rule.message, rule.hint);
  }
}

}  // namespace cairn::models
