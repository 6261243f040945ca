// What the readers of Hugging Face's config.json share: one function for each model_type (families.def), which says by
// what keys its file describes the architecture and what the transformers library takes an absent key to mean.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "cairn/config/fields.h"
#include "cairn/config/node.h"
#include "cairn/models/transformer_config.h"

namespace cairn::models {

#define CAIRN_FAMILY(model_type, function) \
  void function(config::Fields& fields, const config::Node& node, TransformerConfig& config);
#include "families.def"
#undef CAIRN_FAMILY

// A key that may go by several names: the one the file uses, else the first.
std::string_view spelling(const config::Node& node, std::initializer_list<std::string_view> names);

// An error at `key` where the file asks for what is not modelled.
void refuse_if(config::Fields& fields, std::string_view key, bool present, std::string_view message);

struct ShapeKeys {
  std::string_view layers, hidden, heads;
};
// Depth, width, heads and vocabulary, which every file must hold.
void describe_shape(config::Fields& fields, TransformerConfig& config, const ShapeKeys& keys);

void describe_activation(config::Fields& fields, std::string_view key, TransformerConfig& config);

// What the descendants of Llama share: rotated positions, RMS normalisation, a gated MLP, no biases. `absent_kv_heads`:
// their number when the key is absent (0: as many as heads); a null always means as many as heads.
void describe_gated(config::Fields& fields, const config::Node& node, TransformerConfig& config,
                    std::int64_t absent_kv_heads);

// Adds one layer to the pattern of blocks, or to its last block when that is equal.
void append_layer(TransformerConfig& config, const BlockPattern& layer);

// Dense blocks first, then blocks with experts.
void dense_then_moe(TransformerConfig& config, std::int64_t dense);

}  // namespace cairn::models
