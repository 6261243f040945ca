// Configurations of GPT in NVIDIA/NeMo-Framework-Launcher at 26e42fa (2025-04), launcher_scripts/conf/training, and in
// NVIDIA/NeMo, by the path each names: their words and values, written afresh and without what is of no training step.
// What is expected of each was written by reading it beside NeMo's megatron_base_model.py and megatron_gpt_model.py.
#include "imports.h"

using namespace cairn;
using cairn::testing::by_hand;
using cairn::testing::imported;
using cairn::testing::resolved;
using cairn::testing::said_of;

TEST_CASE("gpt3/175b.yaml: interleaved stages, a width by reference, buckets that have no effect") {
  const auto read = imported("nemo", R"yaml(
defaults: [_self_, 'optional tp_overlap@model.ub_tp_comm_overlap_cfg:']
run: {name: gpt3_175b, results_dir: '${base_results_dir}/${.name}'}
trainer:
  num_nodes: 128
  devices: 8
  precision: bf16
  max_epochs: null
  max_steps: 75000
  accumulate_grad_batches: 1
  gradient_clip_val: 1.0
model:
  micro_batch_size: 1
  global_batch_size: 2048
  rampup_batch_size: null
  context_parallel_size: 1
  tensor_model_parallel_size: 4
  pipeline_model_parallel_size: 8
  virtual_pipeline_model_parallel_size: 6
  encoder_seq_length: 2048
  max_position_embeddings: 2048
  num_layers: 96
  hidden_size: 12288
  ffn_hidden_size: ${multiply:4, ${.hidden_size}}
  num_attention_heads: 96
  hidden_dropout: 0.1
  attention_dropout: 0.1
  kv_channels: null
  make_vocab_size_divisible_by: 128
  pre_process: True
  gradient_accumulation_fusion: True
  bias_activation_fusion: True
  bias_dropout_add_fusion: True
  masked_softmax_fusion: True
  fsdp: False
  fsdp_sharding_strategy: 'full'
  fsdp_grad_reduce_dtype: 32
  activations_checkpoint_granularity: null
  activations_checkpoint_method: null
  sequence_parallel: True
  overlap_p2p_comm: True
  batch_p2p_comm: False
  num_query_groups: null
  tokenizer: {library: megatron, type: GPT2BPETokenizer, vocab_file: '${data_dir}/bpe/vocab.json'}
  megatron_amp_O2: True
  grad_allreduce_chunk_size_mb: 125
  mcore_gpt: True
  transformer_engine: True
  fp8: False
  fp8_hybrid: True
  fp8_amax_history_len: 1024
  ub_tp_comm_overlap: False
  optim:
    name: mcore_distributed_optim
    bucket_cap_mb: 220
    overlap_grad_sync: True
    overlap_param_sync: true
    contiguous_grad_buffer: True
    lr: 0.9e-4
    betas: [0.9, 0.95]
  data: {seq_length: 2048, data_prefix: [0.5, '${data_dir}/a', 0.5, '${data_dir}/b']}
)yaml",
                             {.overrides = {"model.vocab=50257"}});
  CHECK(resolved(read.experiment) == by_hand(R"(
model: {layers: 96, hidden: 12288, heads: 96, ffn: 49152, gated_mlp: false, vocab: 50257, vocab_multiple: 128,
        tied_embeddings: true, norm: layernorm, position: learned, max_positions: 2048, bias: true, dropout: 0.1}
cluster: {file: dgx-h100, nodes: 128}
training:
  seq_len: 2048
  global_batch: 2048
  tokens: 314572800000    # 75,000 steps of 2048 sequences
  precision: bf16         # O2, and gradients are reduced in fp32 where grad_sync_dtype is not said
  optimizer: adamw
  framework: megatron
  kernels: {loss: unfused}
strategy:
  tp: 4
  pp: 8
  sequence_parallel: true
  zero: 1
  schedule: {kind: interleaved-1f1b, chunks: 6}
  overlap: {dp: true, pp: true}
)"));
  CHECK(said_of(read, "model.optim.bucket_cap_mb") == "Megatron-Core's optimizer counts elements, ddp_bucket_size");
  CHECK(said_of(read, "model.max_position_embeddings") == "the table of Megatron-Core has encoder_seq_length rows");
  CHECK(said_of(read, "model.fp8_hybrid") == "without fp8: true");
  CHECK(said_of(read, "model.fsdp_sharding_strategy") == "without fsdp: true");
  CHECK(said_of(read, "model.data.data_prefix") == "has no counterpart");
  CHECK(said_of(read, "trainer.gradient_clip_val") == "has no counterpart");
  CHECK(said_of(read, "trainer.accumulate_grad_batches").empty());
  CHECK(said_of(read, "model.activations_checkpoint_method").empty());  // null
}

TEST_CASE("gpt3/175b_mlperf.yaml below `training`: FP8, weights kept in it, gradients in bf16") {
  const auto read = imported("nemo", R"yaml(
training:
  trainer: {num_nodes: 64, devices: 8, precision: bf16}
  model:
    name: megatron_gpt_full_te_layer_autocast
    micro_batch_size: 2
    global_batch_size: 2048
    tensor_model_parallel_size: 4
    pipeline_model_parallel_size: 8
    virtual_pipeline_model_parallel_size: 6
    encoder_seq_length: 2048
    num_layers: 96
    hidden_size: 12288
    ffn_hidden_size: ${multiply:4, ${training.model.hidden_size}}
    num_attention_heads: 96
    hidden_dropout: 0.0
    attention_dropout: 0.0
    normalization: layernorm1p
    bias: true
    sequence_parallel: True
    megatron_amp_O2: True
    mcore_gpt: True
    transformer_engine: True
    fp8: True
    fp8_e4m3: False
    fp8_hybrid: True
    fp8_margin: 0
    fp8_params: true
    ub_tp_comm_overlap: True
    overlap_p2p_comm: True
    batch_p2p_comm: False
    optim: {name: mcore_distributed_optim, overlap_grad_sync: True, overlap_param_sync: true, grad_sync_dtype: bf16}
)yaml",
                             {.overrides = {"model.vocab=50257"}});
  CHECK(resolved(read.experiment) == by_hand(R"(
model: {layers: 96, hidden: 12288, heads: 96, ffn: 49152, gated_mlp: false, vocab: 50257, vocab_multiple: 128,
        tied_embeddings: true, norm: layernorm, position: learned, max_positions: 2048, bias: true}
cluster: {file: dgx-h100, nodes: 64}
training:
  seq_len: 2048
  global_batch: 2048
  precision: {recipe: fp8-delayed, gradients: bf16, reduce: bf16, parameters: fp8_e4m3, dp_gather_wire: fp8_e4m3}
  optimizer: adamw
  framework: megatron
  kernels: {loss: unfused}
strategy:
  tp: 4
  pp: 8
  sequence_parallel: true
  micro_batch: 2
  zero: 1
  schedule: {kind: interleaved-1f1b, chunks: 6}
  overlap: {dp: true, tp: {kind: chunked}, pp: true}
)"));
  CHECK(said_of(read, "model.fp8_margin") == "has no counterpart");
}

// Its 8 sequences are of one device; there are four here.
TEST_CASE("NeMo 382c533, megatron_gpt_config.yaml on four devices: casts of fp32 weights, scores that are kept") {
  const auto read = imported("nemo", R"yaml(
trainer: {devices: 4, num_nodes: 1, precision: 16, max_steps: 100000, accumulate_grad_batches: 1}
model:
  micro_batch_size: 4
  global_batch_size: 32
  tensor_model_parallel_size: 1
  pipeline_model_parallel_size: 1
  encoder_seq_length: 512
  max_position_embeddings: ${.encoder_seq_length}
  num_layers: 12
  hidden_size: 768
  ffn_hidden_size: 3072
  num_attention_heads: 12
  hidden_dropout: 0.1
  make_vocab_size_divisible_by: 128
  megatron_amp_O2: False
  grad_allreduce_chunk_size_mb: 125
  activations_checkpoint_method: null
  activations_checkpoint_num_layers: 1
  data: {data_prefix: '???', seq_length: '${model.encoder_seq_length}'}
  optim: {name: fused_adam, lr: 2e-4}
)yaml",
                             {.cluster = "workstation-4x-a100-pcie", .overrides = {"model.vocab=50257"}});
  CHECK(resolved(read.experiment) == by_hand(R"(
model: {layers: 12, hidden: 768, heads: 12, ffn: 3072, gated_mlp: false, vocab: 50257, vocab_multiple: 128,
        tied_embeddings: true, norm: layernorm, position: learned, max_positions: 512, bias: true, dropout: 0.1}
cluster: {file: workstation-4x-a100-pcie, nodes: 1}
training:
  seq_len: 512
  global_batch: 32
  tokens: 1638400000    # 100,000 steps of 32 sequences
  precision: {recipe: fp16-fp32-gradients, parameters: fp32, master: none, dp_gather_wire: fp32}
  optimizer: adamw
  framework: megatron
  kernels: {attention: fused-softmax, loss: unfused}
strategy: {micro_batch: 4, zero: 0, schedule: 1f1b, overlap: {dp: false}}
)"));
  CHECK(read.notes.size() == 2);  // its own layers; casts that are not modelled
  CHECK(said_of(read, "model.activations_checkpoint_num_layers") == "without activations_checkpoint_granularity");
  CHECK(said_of(read, "model.grad_allreduce_chunk_size_mb").starts_with("of gradients that"));
}
