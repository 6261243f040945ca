// Hugging Face config.json -> TransformerConfig, with the defaults that the transformers library applies to absent
// keys.
//
//   model_type   norm       position  MLP               remarks
//   gpt2         layernorm  learned   4h, gelu          biases, dropout 0.1, tied
//   llama        rmsnorm    rope      gated silu        attention_bias, mlp_bias
//   mistral      rmsnorm    rope      gated silu        8 kv heads and a window of 4096 when the keys are absent
//   qwen2        rmsnorm    rope      gated silu        bias of q, k, v only; a window if use_sliding_window
//   qwen3        rmsnorm    rope      gated silu        normalised q and k, head_dim 128
//   opt          layernorm  learned   ffn_dim, relu     position table of two more rows, dropout 0.1, tied
//   bloom        layernorm  alibi     4h, gelu          normalised embedding, tied
// The shape itself (width, depth, heads, vocabulary, inner width) must be in the file.
// Source: the configuration classes of transformers 4.40 to 4.57.
#pragma once

#include <string_view>

#include "cairn/config/loader.h"
#include "cairn/config/node.h"
#include "cairn/core/diagnostics.h"
#include "cairn/models/transformer_config.h"

namespace cairn::models {

// Whether the file is one of Hugging Face's: it has the key model_type.
bool is_huggingface(const config::Node& node);

// Errors go to `diagnostics`, which then hold: an unknown model_type (with the list of the known), a missing key, a
// feature that is not modelled yet. `path` is the key path of `node`, empty for a whole file.
TransformerConfig import_huggingface(const config::Node& node, core::Diagnostics& diagnostics,
                                     std::string_view path = {});

// Warnings about what the file says and `model`, read from it, leaves out: layers for multi-token prediction, groups of
// experts.
void warn_of_left_out(const config::Node& node, const TransformerConfig& model, core::Diagnostics& diagnostics,
                      std::string_view path = {});

// What `model:` may hold: a name of configs/models/, {file: ..., overriding keys}, {hf: path of a config.json,
// overriding keys}, or the whole block inline. Overriding keys are those of the model block whichever kind of file is
// named.
TransformerConfig read_model(const config::Node& reference, const config::Loader& loader,
                             core::Diagnostics& diagnostics, std::string_view path = "model");

}  // namespace cairn::models
