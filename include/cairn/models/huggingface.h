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
//   falcon       layernorm  rope      4h, gelu          attention and MLP side by side, one key head or some, tied
//   gpt_neox     layernorm  rope 1/4  gelu              attention and MLP side by side, biases
//   phi3         rmsnorm    rope      gated silu        a window where the file has one
//   olmo2        rmsnorm    rope      gated silu        norms behind attention and MLP, of all queries and all keys
//   gemma2       rmsnorm    rope      gated gelu        norms on both sides, every other layer a window, capped scores
//                                                       and logits, scaled embedding, tied
//   gemma3_text  rmsnorm    rope      gated gelu        as gemma2 with normalised q and k, five windows to one, no caps
//   mixtral, qwen3_moe                                  experts in all layers, or in those listed
//   llama4_text  rmsnorm    rope      gated silu        chunks, every fourth layer whole and not rotated, a shared
//                                                       expert, dense layers between
//   gpt_oss      rmsnorm    rope      gated, clamped    sinks, every other layer a window, biases of experts and router
//   glm4_moe     rmsnorm    rope 1/2  gated silu        dense layers first, a bias that chooses experts
//   deepseek_v2, deepseek_v3, kimi_k2                   latent attention, dense layers first
//   qwen3_next   rmsnorm    rope 1/4  gated silu        three layers with a gated delta rule to one with gated attention,
//                                                       a weighted shared expert
// One line of src/models/families.def each. Of a file with `text_config` that part is read, by its own model_type.
// Tensors of a checkpoint that train by counting (the bias that chooses experts) count as parameters; modules for
// further tokens are counted apart, where `mtp` asks for them.
// The shape itself (width, depth, heads, vocabulary, inner width) must be in the file.
// Source: the configuration and modelling classes of transformers 4.40 to 4.57.
#pragma once

#include <string_view>

#include "cairn/config/loader.h"
#include "cairn/config/node.h"
#include "cairn/core/diagnostics.h"
#include "cairn/models/transformer_config.h"

namespace cairn::models {

// Whether the file is one of Hugging Face's: it has the key model_type.
bool is_huggingface(const config::Node& node);

// Errors go to `diagnostics`, which then hold: an unknown model_type (with those that read the most of the file's keys,
// and the list of the known), a missing key, a feature that is not modelled yet. `path` is the key path of `node`,
// empty for a whole file.
TransformerConfig import_huggingface(const config::Node& node, core::Diagnostics& diagnostics,
                                     std::string_view path = {});

// Warnings about what the file says and `model`, read from it, leaves out: layers for multi-token prediction, groups of
// experts, and whatever is not text.
void warn_of_left_out(const config::Node& node, const TransformerConfig& model, core::Diagnostics& diagnostics,
                      std::string_view path = {});

// Makes the file one of another model_type, its text part too.
void take_for(config::Node& node, const config::Node& model_type);

// What `model:` may hold: a name of configs/models/, {file: ..., overriding keys}, {hf: path of a config.json,
// overriding keys}, or the whole block inline. Overriding keys are those of the model block whichever kind of file is
// named, and of Hugging Face's the model_type that it is read as.
TransformerConfig read_model(const config::Node& reference, const config::Loader& loader,
                             core::Diagnostics& diagnostics, std::string_view path = "model");
// By name; throws core::ConfigurationError with everything wrong.
TransformerConfig load_model(const config::Loader& loader, std::string_view name);

}  // namespace cairn::models
