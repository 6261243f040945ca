// Models of NVIDIA/NeMo-Framework-Launcher that rotate their positions, as nemo_files_test.cpp has those of GPT.
#include "imports.h"

using namespace cairn;
using cairn::testing::by_hand;
using cairn::testing::imported;
using cairn::testing::resolved;
using cairn::testing::said_of;

TEST_CASE("llama/llama3_1_70b.yaml: context parallelism, products in pieces beside their communication") {
  const auto read = imported("nemo", R"yaml(
trainer: {num_nodes: 128, devices: 8, precision: bf16, max_steps: 300000}
model:
  mcore_gpt: true
  micro_batch_size: 1
  global_batch_size: 2048
  tensor_model_parallel_size: 4
  pipeline_model_parallel_size: 4
  virtual_pipeline_model_parallel_size: 10
  context_parallel_size: 2
  encoder_seq_length: 8192
  max_position_embeddings: 8192
  num_layers: 80
  hidden_size: 8192
  ffn_hidden_size: 28672
  num_attention_heads: 64
  num_query_groups: 8
  hidden_dropout: 0.0
  attention_dropout: 0.0
  ffn_dropout: 0.0
  normalization: rmsnorm
  make_vocab_size_divisible_by: 128
  bias: false
  activation: fast-swiglu
  transformer_block_type: pre_ln
  openai_gelu: false
  position_embedding_type: rope
  rotary_percentage: 1.0
  apply_rope_fusion: true
  share_embeddings_and_output_weights: false
  scale_positional_embedding: true
  megatron_amp_O2: true
  cross_entropy_loss_fusion: true
  bias_activation_fusion: true
  bias_dropout_add_fusion: true
  sequence_parallel: true
  defer_embedding_wgrad_compute: true
  transformer_engine: true
  fp8: False
  ub_tp_comm_overlap: true
  use_flash_attention: true
  overlap_p2p_comm: true
  batch_p2p_comm: false
  optim: {name: mcore_distributed_optim, bucket_cap_mb: 125, overlap_grad_sync: true, overlap_param_sync: true}
  data: {seq_length: 8192}
)yaml",
                             {.overrides = {"model.vocab=128256"}});
  CHECK(resolved(read.experiment) == by_hand(R"(
model: {layers: 80, hidden: 8192, heads: 64, kv_heads: 8, ffn: 28672, gated_mlp: true, vocab: 128256,
        vocab_multiple: 128, tied_embeddings: false, norm: rmsnorm, position: rope, bias: false}
cluster: {file: dgx-h100, nodes: 128}
training:
  seq_len: 8192
  global_batch: 2048
  tokens: 5033164800000    # 300,000 steps of 2048 sequences
  precision: bf16
  optimizer: adamw
  framework: megatron
  kernels: {loss: fused}
strategy:
  tp: 4
  cp: 2
  attention: {scheme: megatron-p2p}
  pp: 4
  sequence_parallel: true
  zero: 1
  schedule: {kind: interleaved-1f1b, chunks: 10}
  overlap: {dp: true, tp: {kind: chunked}, pp: true}
)"));
  CHECK(said_of(read, "model.use_flash_attention") == "Transformer Engine chooses the kernel");
  CHECK(said_of(read, "model.scale_positional_embedding") == "has no counterpart");
  CHECK(said_of(read, "model.defer_embedding_wgrad_compute") == "has no counterpart");
  CHECK(said_of(read, "model.transformer_block_type").empty());
}

TEST_CASE(
    "nemotron/nemotron_340b.yaml on an eighth of its nodes: attention again, squared ReLU, half of a head rotated") {
  const auto read = imported("nemo", R"yaml(
trainer: {num_nodes: 96, devices: 8, precision: bf16, max_steps: 100000}
model:
  micro_batch_size: 1
  global_batch_size: 2304
  tensor_model_parallel_size: 8
  pipeline_model_parallel_size: 8
  virtual_pipeline_model_parallel_size: 12
  encoder_seq_length: 4096
  num_layers: 96
  hidden_size: 18432
  ffn_hidden_size: ${multiply:4, ${.hidden_size}}
  num_attention_heads: 96
  hidden_dropout: 0.0
  attention_dropout: 0.0
  normalization: layernorm1p
  layernorm_zero_centered_gamma: True
  make_vocab_size_divisible_by: 128
  bias: false
  activation: squared-relu
  position_embedding_type: rope
  rotary_percentage: 0.5
  share_embeddings_and_output_weights: false
  megatron_amp_O2: true
  bias_activation_fusion: False
  bias_dropout_add_fusion: True
  activations_checkpoint_granularity: selective
  activations_checkpoint_method: null
  activations_checkpoint_num_layers: null
  sequence_parallel: true
  cross_entropy_loss_fusion: True
  ub_tp_comm_overlap: True
  overlap_p2p_comm: True
  batch_p2p_comm: False
  num_query_groups: 8
  mcore_gpt: True
  transformer_engine: True
  optim:
    name: mcore_distributed_optim
    bucket_cap_mb: 50
    grad_sync_dtype: bf16
    dtype: bf16
    overlap_grad_sync: True
    overlap_param_sync: true
)yaml",
                             {.overrides = {"model.vocab=256000"}});
  CHECK(resolved(read.experiment) == by_hand(R"(
model:
  layers: 96
  hidden: 18432
  heads: 96
  kv_heads: 8
  rope_dim: 96           # of 192
  ffn: 73728
  gated_mlp: false
  activation: squared_relu
  vocab: 256000
  vocab_multiple: 128
  tied_embeddings: false
  norm: layernorm
  position: rope
  bias: false
cluster: {file: dgx-h100, nodes: 96}
training:
  seq_len: 4096
  global_batch: 2304
  tokens: 943718400000   # 100,000 steps of 2304 sequences
  precision: bf16-bf16-gradients
  optimizer: adamw
  framework: megatron
  kernels: {loss: fused}
strategy:
  tp: 8
  pp: 8
  sequence_parallel: true
  zero: 1
  recompute: attention
  schedule: {kind: interleaved-1f1b, chunks: 12}
  overlap: {dp: true, tp: {kind: chunked}, pp: true}
)"));
  CHECK(said_of(read, "model.bias_activation_fusion").find("stays fused") != std::string::npos);
  CHECK(said_of(read, "model.optim.dtype") == "has no counterpart");
}

TEST_CASE("mixtral/mixtral_8x7b.yaml: experts over ranks, padded to their capacity, gradients in bf16") {
  const auto read = imported("nemo", R"yaml(
trainer: {num_nodes: 8, devices: 8, precision: bf16, max_steps: 300000}
model:
  mcore_gpt: true
  moe_grouped_gemm: false
  moe_token_dispatcher_type: alltoall
  moe_pad_expert_input_to_capacity: True
  moe_expert_capacity_factor: 1.0
  moe_aux_loss_coeff: 0.01
  micro_batch_size: 1
  global_batch_size: 256
  tensor_model_parallel_size: 1
  pipeline_model_parallel_size: 4
  expert_model_parallel_size: 8
  virtual_pipeline_model_parallel_size: 8
  encoder_seq_length: 4096
  max_position_embeddings: 32768
  num_layers: 32
  hidden_size: 4096
  ffn_hidden_size: 14336
  num_attention_heads: 32
  hidden_dropout: 0.0
  attention_dropout: 0.0
  normalization: rmsnorm
  make_vocab_size_divisible_by: 128
  bias: false
  activation: fast-swiglu
  position_embedding_type: rope
  rotary_base: 1000000.0
  moe_router_topk: 2
  num_moe_experts: 8
  share_embeddings_and_output_weights: false
  overlap_p2p_comm: true
  batch_p2p_comm: false
  num_query_groups: 8
  megatron_amp_O2: True
  masked_softmax_fusion: false
  sequence_parallel: true
  transformer_engine: true
  fp8: false
  ub_tp_comm_overlap: false
  optim: {name: mcore_distributed_optim, overlap_grad_sync: true, overlap_param_sync: true, grad_sync_dtype: bf16}
  precision: bf16
)yaml",
                             {.overrides = {"model.vocab=32000"}});
  CHECK(resolved(read.experiment) == by_hand(R"(
model:
  layers: 32
  hidden: 4096
  heads: 32
  kv_heads: 8
  ffn: 14336
  gated_mlp: true
  vocab: 32000
  vocab_multiple: 128
  tied_embeddings: false
  norm: rmsnorm
  position: rope
  bias: false
  moe: {experts: 8, top_k: 2, ffn: 14336, capacity_factor: 1.0, dispatcher: alltoall}
cluster: {file: dgx-h100, nodes: 8}
training:
  seq_len: 4096
  global_batch: 256
  tokens: 314572800000    # 300,000 steps of 256 sequences
  precision: bf16-bf16-gradients
  optimizer: adamw
  framework: megatron
  kernels: {loss: unfused}
strategy:
  pp: 4
  ep: 8
  etp: 1
  zero: 1
  schedule: {kind: interleaved-1f1b, chunks: 8}
  overlap: {dp: true, pp: true}
)"));
  CHECK(said_of(read, "model.sequence_parallel") == "turned off with tensor_model_parallel_size 1");
  CHECK(said_of(read, "model.moe_aux_loss_coeff") == "has no counterpart");
  CHECK(said_of(read, "model.rotary_base") == "has no counterpart");
  CHECK(said_of(read, "model.max_position_embeddings") == "only a table of learned positions has that size");
}

TEST_CASE("mistral/mistral_7b.yaml: a window, kernels of their own, nothing overlapped") {
  const auto read = imported("nemo", R"yaml(
trainer: {num_nodes: 16, devices: 8, precision: bf16, max_steps: 300000}
model:
  mcore_gpt: true
  micro_batch_size: 1
  global_batch_size: 32
  tensor_model_parallel_size: 8
  pipeline_model_parallel_size: 1
  virtual_pipeline_model_parallel_size: null
  encoder_seq_length: 4096
  num_layers: 32
  hidden_size: 4096
  ffn_hidden_size: 14336
  num_attention_heads: 32
  hidden_dropout: 0.0
  attention_dropout: 0.0
  normalization: rmsnorm
  make_vocab_size_divisible_by: 128
  bias: false
  activation: fast-swiglu
  position_embedding_type: rope
  share_embeddings_and_output_weights: false
  overlap_p2p_comm: false
  batch_p2p_comm: true
  num_query_groups: 8
  megatron_amp_O2: True
  bias_activation_fusion: false
  bias_dropout_add_fusion: false
  sequence_parallel: true
  transformer_engine: true
  fp8: false
  optim: {name: mcore_distributed_optim}
  window_size: [4096, 0]
  mcore_customization_config: {new_decoder_architecture: false, parallel_attention: true}
)yaml",
                             {.overrides = {"model.vocab=32000"}});
  CHECK(resolved(read.experiment) == by_hand(R"(
model:
  layers: 32
  hidden: 4096
  heads: 32
  kv_heads: 8
  ffn: 14336
  gated_mlp: true
  vocab: 32000
  vocab_multiple: 128
  tied_embeddings: false
  norm: rmsnorm
  position: rope
  bias: false
  blocks: [{repeat: 1, attention: {sliding: 4097}}]    # 4096 keys before a query, and its own
cluster: {file: dgx-h100, nodes: 16}
training:
  seq_len: 4096
  global_batch: 32
  tokens: 39321600000    # 300,000 steps of 32 sequences
  precision: bf16
  optimizer: adamw
  framework: megatron
  kernels: {loss: unfused, pointwise: eager}
strategy: {tp: 8, sequence_parallel: true, zero: 1, schedule: 1f1b, overlap: {dp: false}}
)"));
  CHECK(said_of(read, "model.mcore_customization_config.parallel_attention") == "of Falcon's layers alone");
  CHECK(said_of(read, "model.overlap_p2p_comm") == "the schedule is not interleaved");
}
