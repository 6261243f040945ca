#include "flop_convention.h"

namespace cairn::validation {
namespace {

using models::AttentionKind;
using models::BlockPattern;
using models::MlpKind;
using models::TransformerConfig;

// Of one layer and token.
struct Work {
  double elements = 0.0;  // of the matrices that it meets
  double width = 0.0;     // of core attention: queries' and values' in the mean, all heads
};

double d(std::int64_t count) { return static_cast<double>(count); }

double mlp_elements(const TransformerConfig& c, const BlockPattern& block) {
  const double matrices = c.gated_mlp ? 3.0 : 2.0;
  const double one = matrices * d(c.hidden);
  switch (c.mlp_of(block)) {
    case MlpKind::dense:
      return one * d(c.ffn);
    case MlpKind::moe:
      return one * (d(c.moe->top_k) * d(c.moe->ffn) + d(c.moe->shared_width()));
    case MlpKind::none:
      return 0.0;
  }
  return 0.0;
}

// With the gains of the norms inside latent attention, as Megatron-LM counts them.
Work latent(const TransformerConfig& c) {
  const models::LatentConfig& m = *c.mla;
  const double h = d(c.hidden);
  const double a = d(c.heads);
  const double queries = d(m.nope_dim + m.rope_dim);
  const double q = m.q_lora > 0 ? d(m.q_lora) * (h + a * queries + 1.0) : h * a * queries;
  const double kv = d(m.kv_lora) * (h + a * d(m.nope_dim + m.v_dim) + 1.0) + h * d(m.rope_dim);
  return {.elements = q + kv + a * d(m.v_dim) * h, .width = a * (queries + d(m.v_dim)) / 2.0};
}

std::optional<Work> work(const TransformerConfig& c, const BlockPattern& block) {
  Work result;
  switch (c.attention_of(block).kind) {
    case AttentionKind::full:
    case AttentionKind::sliding:
    case AttentionKind::nope:
    case AttentionKind::chunked: {
      const double q = d(c.heads * c.head_size());
      const double kv = d(c.kv_head_count() * c.head_size());
      result = {.elements = d(c.hidden) * (2.0 * q + 2.0 * kv), .width = q};
      break;
    }
    case AttentionKind::mla:
      result = latent(c);
      break;
    case AttentionKind::none:
      break;
    case AttentionKind::linear:
    case AttentionKind::delta:
    case AttentionKind::mamba2:
      return std::nullopt;
  }
  result.elements += mlp_elements(c, block);
  return result;
}

// Sums over `layers` of them, whose pattern repeats.
std::optional<Work> all_layers(const TransformerConfig& c) {
  std::vector<BlockPattern> pattern;
  for (const BlockPattern& block : c.blocks)
    pattern.insert(pattern.end(), static_cast<std::size_t>(block.repeat), block);
  if (pattern.empty()) pattern.emplace_back();
  Work sum;
  for (std::int64_t layer = 0; layer < c.layers; ++layer) {
    const auto one = work(c, pattern[static_cast<std::size_t>(layer) % pattern.size()]);
    if (!one) return std::nullopt;
    sum.elements += one->elements;
    sum.width += one->width;
  }
  return sum;
}

// Modules for further tokens: a layer like the last, its projection of two streams, norms, and the head once more.
double prediction_elements(const TransformerConfig& c, double seq_len, double head) {
  if (c.prediction_depth() == 0) return 0.0;
  const auto layer = work(c, c.blocks.empty() ? BlockPattern{} : c.blocks.back());
  const double h = d(c.hidden);
  const double one = (layer ? layer->elements + layer->width * seq_len : 0.0) + 3.0 * h + 2.0 * h * h + head;
  return d(c.prediction_depth()) * one;
}

}  // namespace

std::optional<double> flops_per_token(FlopConvention convention, const TransformerConfig& model, double seq_len,
                                      std::int64_t tensor) {
  const double l = d(model.layers);
  const double h = d(model.hidden);
  const auto layers = all_layers(model);
  switch (convention) {
    case FlopConvention::none:
      break;
    case FlopConvention::recomputed_gpt:
      return 96.0 * l * h * h * (1.0 + seq_len / (6.0 * h) + d(model.vocab) / (16.0 * l * h));
    case FlopConvention::model:
      if (!layers) break;
      return 6.0 * (layers->elements + d(model.vocab) * h) + 12.0 * layers->width * seq_len;
    case FlopConvention::megatron: {
      if (!layers) break;
      const double head = d(model.padded_vocab(tensor)) * h;
      return 6.0 * (layers->elements + layers->width * seq_len + head + prediction_elements(model, seq_len, head));
    }
  }
  return std::nullopt;
}

}  // namespace cairn::validation
