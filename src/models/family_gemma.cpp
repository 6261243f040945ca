// Gemma 2 and 3: norms before and behind attention and MLP, a scaled embedding, layers with a window between layers
// that see everything.
#include <optional>

#include "family.h"

namespace cairn::models {
namespace {

struct GemmaDefaults {
  bool caps;            // scores and logits where the file does not say
  std::int64_t period;  // every such layer sees everything
};

// Whether there is a cap, of whatever height; null: none.
bool caps(config::Fields& f, const config::Node& node, std::string_view key, bool absent) {
  std::optional<double> cap;
  f.number(key, cap, {.positive = true});
  return cap.has_value() || (absent && node.find(key) == nullptr);
}

void describe_gemma(config::Fields& f, const config::Node& node, TransformerConfig& c, GemmaDefaults absent) {
  constexpr std::int64_t k_absent_kv_heads = 4, k_absent_head_dim = 256, k_absent_window = 4096;
  c.norm_place = NormPlace::sandwich;
  c.tied_embeddings = true;
  c.embedding_scale = true;
  if (node.find("head_dim") == nullptr) c.head_dim = k_absent_head_dim;
  describe_gated(f, node, c, k_absent_kv_heads);
  describe_attention_bias(f, c);
  c.activation = Activation::gelu;
  describe_activation(f, "hidden_activation", c);
  if (!c.activation) c.activation = Activation::gelu;
  c.score_cap = caps(f, node, "attn_logit_softcapping", absent.caps);
  c.logit_cap = caps(f, node, "final_logit_softcapping", absent.caps);
  f.count(spelling(node, {"sliding_window_pattern", "_sliding_window_pattern"}), absent.period,
          {.minimum = 1, .maximum = k_max_layers});
  describe_alternation(f, node, c, k_absent_window,
                       [&](std::int64_t layer) { return (layer + 1) % absent.period != 0; });
}

}  // namespace

void describe_gemma2(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  describe_gemma(f, node, c, {.caps = true, .period = 2});
}

void describe_gemma3(config::Fields& f, const config::Node& node, TransformerConfig& c) {
  c.qk_norm = QkNorm::head;
  describe_gemma(f, node, c, {.caps = false, .period = 6});
}

}  // namespace cairn::models
