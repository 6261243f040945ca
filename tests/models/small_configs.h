// Published architectures that several tests build.
#pragma once

#include <string>
#include <string_view>

#include "cairn/models/transformer.h"

namespace cairn::models::testing {

// GPT-3 style: learned positions, biases, layernorm, gelu MLP four times as wide, tied embeddings, dropout.
inline TransformerConfig gpt(std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t vocab,
                             std::int64_t positions) {
  TransformerConfig c;
  c.layers = layers;
  c.hidden = hidden;
  c.heads = heads;
  c.ffn = 4 * hidden;
  c.vocab = vocab;
  c.tied_embeddings = true;
  c.max_positions = positions;
  c.dropout = 0.1;
  return c;
}

// Llama style: rotary positions, no biases, RMS norm, gated silu MLP.
inline TransformerConfig llama(std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t kv_heads,
                               std::int64_t ffn, std::int64_t vocab) {
  TransformerConfig c;
  c.layers = layers;
  c.hidden = hidden;
  c.heads = heads;
  c.kv_heads = kv_heads;
  c.ffn = ffn;
  c.gated_mlp = true;
  c.vocab = vocab;
  c.norm = Norm::rmsnorm;
  c.position = PositionEncoding::rope;
  c.bias = false;
  return c;
}

inline bool mentions(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace cairn::models::testing
