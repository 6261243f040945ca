// What the readers of Hugging Face's config.json share: one function for each model_type (families.def), which says by
// what keys its file describes the architecture and what the transformers library takes an absent key to mean.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

inline constexpr std::string_view k_full_layer = "full_attention", k_sliding_layer = "sliding_attention";

// What the attention of each layer is called: `layer_types` where the file lists them, else as `absent` says.
std::vector<std::string> describe_layer_types(config::Fields& fields, const TransformerConfig& config,
                                              std::initializer_list<std::string_view> known,
                                              const std::function<std::string(std::int64_t)>& absent);

// A count whose key may be null, for none; absent it is `absent`.
std::optional<std::int64_t> describe_optional(config::Fields& fields, const config::Node& node, std::string_view key,
                                              std::int64_t absent, std::int64_t maximum);

// Layers that look back only `sliding_window` tokens (null: none do), by their types.
void describe_alternation(config::Fields& fields, const config::Node& node, TransformerConfig& config,
                          std::int64_t absent_window, const std::function<bool(std::int64_t)>& slides);

// One flag for biases of queries, keys, values and of the projection behind attention.
void describe_attention_bias(config::Fields& fields, TransformerConfig& config, bool absent = false);

// The rotated share of a head under `key`.
void describe_rotation(config::Fields& fields, TransformerConfig& config, std::string_view key, double absent);

// Layers of these types, of which the sliding ones look back only `window` tokens.
void set_sliding_layers(TransformerConfig& config, const std::vector<std::string>& types, std::int64_t window);

// The pattern of blocks that repeats to these layers: the shortest, with equal neighbours as one block.
void set_layers(TransformerConfig& config, const std::vector<BlockPattern>& layers);

// Dense blocks first, then blocks with experts.
void dense_then_moe(TransformerConfig& config, std::int64_t dense);

}  // namespace cairn::models
