// Configurations of huggingface/nanotron at 2411b02 (2026-04), by the path each names: their words and values, written
// afresh. What is expected of each was written by reading it beside src/nanotron/config.
#include "imports.h"

using namespace cairn;
using cairn::testing::by_hand;
using cairn::testing::imported;
using cairn::testing::refusal;
using cairn::testing::resolved;
using cairn::testing::said_of;

TEST_CASE("examples/config_tiny_llama.yaml: Llama on four data-parallel ranks with two each") {
  const auto read = imported("nanotron", R"yaml(
checkpoints: {checkpoint_interval: 1000, resume_checkpoint_path: null}
data_stages:
- {name: Stable Training Stage, start_training_step: 1, data: {dataset: null, seed: 42}}
general: {project: debug, step: null}
model:
  ddp_bucket_cap_mb: 25
  dtype: bfloat16
  init_method: {std: 0.025}
  make_vocab_size_divisible_by: 1
  model_config:
    hidden_act: silu
    hidden_size: 2048
    intermediate_size: 11008
    is_llama_config: true
    max_position_embeddings: 128256
    num_attention_heads: 16
    num_hidden_layers: 28
    num_key_value_heads: 2
    pad_token_id: null
    tie_word_embeddings: true
    vocab_size: 128256
optimizer:
  accumulate_grad_in_fp32: true
  clip_grad: 1.0
  optimizer_factory: {adam_beta1: 0.9, name: adamW, torch_adam_is_fused: true}
  zero_stage: 0
parallelism:
  dp: 4
  expert_parallel_size: 1
  pp: 1
  pp_engine: 1f1b
  tp: 2
  tp_linear_async_communication: true
  tp_mode: REDUCE_SCATTER
tokens: {batch_accumulation_per_replica: 1, micro_batch_size: 3, sequence_length: 4096, train_steps: 2_000}
)yaml");
  CHECK(resolved(read.experiment) == by_hand(R"(
model: {layers: 28, hidden: 2048, heads: 16, kv_heads: 2, ffn: 11008, gated_mlp: true, vocab: 128256, tied_embeddings: true,
        norm: rmsnorm, position: rope, bias: false}
cluster: dgx-h100
training:
  seq_len: 4096
  global_batch: 12     # 3 sequences on each of 4
  tokens: 98304000     # 2000 steps
  precision: bf16
  optimizer: adamw
  framework: nanotron
strategy: {tp: 2, dp: 4, micro_batch: 3, sequence_parallel: true, zero: 0, schedule: 1f1b, overlap: {tp: true}}
)"));
  CHECK(said_of(read, "optimizer.clip_grad") == "has no counterpart");
  CHECK(said_of(read, "model.model_config.max_position_embeddings") == "has no counterpart");
  CHECK(said_of(read, "general.project") == "has no counterpart");
  CHECK(said_of(read, "general.step").empty());  // null
}

TEST_CASE("examples/config_qwen.yaml with its defaults left out: gpipe, whole activations, no asynchronous products") {
  const auto read = imported("nanotron", R"yaml(
model:
  dtype: bfloat16
  model_config:
    _attn_implementation: flash_attention_2
    _use_doc_masking: true
    attention_bias: true
    hidden_size: 2048
    is_qwen2_config: true
    no_rope_layer: 4
    num_attention_heads: 16
    num_hidden_layers: 36
    num_key_value_heads: 4
    sliding_window_size: 1024
    tie_word_embeddings: true
    vocab_size: 128256
optimizer: {accumulate_grad_in_fp32: false, optimizer_factory: {name: adamW}, zero_stage: 1}
parallelism: {dp: 2, pp: 2, tp: 2, recompute_layer: true}
tokens: {batch_accumulation_per_replica: 4, micro_batch_size: 2, sequence_length: 4096}
)yaml");
  CHECK(resolved(read.experiment) == by_hand(R"(
model:
  layers: 36
  hidden: 2048
  heads: 16
  kv_heads: 4
  ffn: 11008
  gated_mlp: true
  vocab: 128256
  tied_embeddings: true
  norm: rmsnorm
  position: rope
  bias: false
  qkv_bias: true
  blocks: [{repeat: 3, attention: {sliding: 1024}}, {repeat: 1, attention: nope}]
cluster: dgx-h100
training: {seq_len: 4096, global_batch: 16, precision: bf16-bf16-gradients, optimizer: adamw, framework: nanotron, kernels: {attention: flash2}}
strategy: {tp: 2, pp: 2, dp: 2, micro_batch: 2, zero: 1, schedule: gpipe, recompute: full, overlap: {tp: false}}
)"));
  CHECK(said_of(read, "model.model_config._use_doc_masking") == "has no counterpart");
}

TEST_CASE("What is no such configuration is refused") {
  const auto says = [](const std::string& text, const std::string& part) {
    const std::string found = refusal("nanotron", text, {.nodes = 1});
    INFO(found);
    return found.find(part) != std::string::npos;
  };
  CHECK(says("", "no settings"));
  CHECK(says("a: [1", "train:"));
  CHECK(says("parallelism: {dp: two}", "train:1:19: error: parallelism.dp: 'two' is no count"));
  CHECK(says("parallelism: {dp: 1}", "parallelism.tp: is missing"));
  CHECK(says("model: {dtype: float8}", "model.dtype: 'float8' has no counterpart"));
  CHECK(says("model: {model_config: {is_starcoder2_config: true}}", "is of no kind whose model is known"));
  CHECK(says("model: {model_config: {moe_config: {num_experts: 4}}}", "experts of nanotron have no counterpart"));
  CHECK(says("parallelism: {tp_mode: async}", "use one of REDUCE_SCATTER, ALL_REDUCE"));
}
