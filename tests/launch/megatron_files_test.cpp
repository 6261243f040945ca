// Launch scripts of NVIDIA/Megatron-LM at d98e8a6 (2026-08-22), by the path each names: their words and values, written
// afresh and without what is of no training step. What is expected of each was written by reading the script beside
// megatron/training/arguments.py.
#include "imports.h"

using namespace cairn;
using cairn::testing::by_hand;
using cairn::testing::imported;
using cairn::testing::resolved;
using cairn::testing::said_of;

TEST_CASE("examples/gpt3/train_gpt3_175b_distributed.sh: GPT-3 with 16 stages") {
  const auto read = imported("megatron", R"sh(
GPUS_PER_NODE=8
NUM_NODES=16   # the script has 1, on which its 128 ranks do not fit
WORLD_SIZE=$(($GPUS_PER_NODE*$NUM_NODES))
SAVE=$1
LAUNCH=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NUM_NODES
)
MODEL=(
    --num-layers 96
    --hidden-size 12288
    --num-attention-heads 96
    --seq-length 2048
    --max-position-embeddings 2048
    --attention-backend auto # others are named here
)
TRAINING=(
    --micro-batch-size 1
    --global-batch-size 1536
    --step-batch-size-schedule "0:16 2.4B:320 12B:1536"
    --train-iters 500000
    --fp16
    --lr 6.0e-5
)
PARALLEL=(
	--tensor-model-parallel-size 8
	--pipeline-model-parallel-size 16
)
torchrun ${LAUNCH[@]} pretrain_gpt.py \
    ${MODEL[@]} \
    ${TRAINING[@]} \
    ${PARALLEL[@]} \
    --save $SAVE
)sh",
                             {.overrides = {"model.vocab=50257"}});
  CHECK(resolved(read.experiment) == by_hand(R"(
model: {layers: 96, hidden: 12288, heads: 96, ffn: 49152, gated_mlp: false, vocab: 50257, vocab_multiple: 128,
        tied_embeddings: true, norm: layernorm, position: learned, max_positions: 2048, bias: true, dropout: 0.1}
cluster: {file: dgx-h100, nodes: 16}
training:
  seq_len: 2048
  global_batch: 1536
  tokens: 1572864000000    # 500,000 steps of 1536 sequences
  precision: fp16
  optimizer: adamw         # decoupled_weight_decay is the default
  framework: megatron
  kernels: {loss: unfused}
strategy:
  tp: 8
  pp: 16
  zero: 0
  schedule: 1f1b
  overlap: {dp: false}     # neither --overlap-grad-reduce nor --overlap-param-gather
)"));
  CHECK(said_of(read, "--step-batch-size-schedule") == "has no counterpart");
  CHECK(said_of(read, "--lr") == "has no counterpart");
  CHECK(said_of(read, "--save") == "has no counterpart");
  CHECK(said_of(read, "--fp16").empty());
}

TEST_CASE("examples/llama/train_llama3_8b_h100_fp8.sh: conditions, added arrays, words within quotes") {
  const auto read = imported("megatron", R"sh(
export CUDA_DEVICE_MAX_CONNECTIONS=${CUDA_DEVICE_MAX_CONNECTIONS:-1}
SAVE=${1:-"checkpoints/a"}
TOKENIZER=${3:-"MOCK"}
mkdir -p "$(dirname "$SAVE")"
NODES=1
TP=1
DTYPE="fp8"
SEQUENCE=8192
LAUNCH=(--nproc_per_node 8 --nnodes $NODES --node_rank ${NODE_RANK:-0})
MODEL=(
    --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32
    --group-query-attention --num-query-groups 8 --kv-channels 128
    --seq-length $SEQUENCE --max-position-embeddings $SEQUENCE
    --position-embedding-type rope --rotary-base 1000000 --rotary-percent 1.0
    --attention-dropout 0.0 --hidden-dropout 0.0
    --swiglu --normalization RMSNorm --attention-backend fused --apply-layernorm-1p
    --untie-embeddings-and-output-weights --disable-bias-linear
)
TRAINING=(--micro-batch-size 1 --global-batch-size 128 --train-samples 1953125000 --bf16 --grad-reduce-in-bf16
    --cross-entropy-loss-fusion --calculate-per-token-loss)
NARROW=()
if [[ "$DTYPE" == "fp8" ]]; then
    NARROW+=(
        "--fp8-format hybrid"
        "--fp8-amax-history-len 1024"
        "--fp8-param-gather"
    )
fi
PARALLEL=(
    --tensor-model-parallel-size $TP
    # --pipeline-model-parallel-size 2
    --sequence-parallel
)
DDP=(--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather)
TRAINING+=("${DDP[@]}")
DATA=()
if [[ "$TOKENIZER" == "MOCK" ]] || [[ -z "$TOKENIZER" ]]; then
    DATA+=("--mock-data" "--vocab-size 128256")
else
    DATA+=("--vocab-size 1")
fi
if [ ! -f "pretrain_gpt.py" ]; then
    echo "Error: not found"
    exit 1
fi
torchrun ${LAUNCH[@]} "pretrain_gpt.py" ${MODEL[@]} ${TRAINING[@]} ${NARROW[@]} ${PARALLEL[@]} ${DATA[@]}
set +x)sh");
  CHECK(resolved(read.experiment) == by_hand(R"(
model: {layers: 32, hidden: 4096, heads: 32, kv_heads: 8, head_dim: 128, ffn: 14336, gated_mlp: true, vocab: 128256,
        vocab_multiple: 128, tied_embeddings: false, norm: rmsnorm, position: rope, bias: false, dropout: 0}
cluster: {file: dgx-h100, nodes: 1}
training:
  seq_len: 8192
  global_batch: 128
  tokens: 16e12     # 1,953,125,000 sequences
  precision: {recipe: fp8-delayed, gradients: bf16, reduce: bf16, parameters: fp8_e4m3, dp_gather_wire: fp8_e4m3}
  optimizer: adamw
  framework: megatron
  kernels: {attention: cudnn, loss: fused}
strategy:
  zero: 1
  sequence_parallel: false   # Megatron-LM turns it off without tensor parallelism
  overlap: {dp: true}
)"));
  CHECK(said_of(read, "--sequence-parallel").find("turned off") != std::string::npos);
  CHECK(said_of(read, "--fp8-amax-history-len") == "has no counterpart");
  CHECK(said_of(read, "--mock-data") == "has no counterpart");
  REQUIRE(read.notes.size() == 1);
  CHECK(read.notes[0] == "Files that the script asks for are taken to be there.");
}

TEST_CASE("examples/mixtral/train_mixtral_8x7b_distributed.sh: experts") {
  const auto read = imported("megatron", R"sh(
NNODES=${SLURM_NNODES:-"4"}
LAUNCH=(--nproc_per_node 8 --nnodes $NNODES)
MODEL=(--use-mcore-models --disable-bias-linear --seq-length 4096 --max-position-embeddings 32768 --num-layers 32
  --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --attention-dropout 0.0 --hidden-dropout 0.0
  --normalization RMSNorm --position-embedding-type rope --swiglu --untie-embeddings-and-output-weights
  --group-query-attention --num-query-groups 8 --no-masked-softmax-fusion --no-position-embedding)
MOE=(--num-experts 8 --moe-router-topk 2 --moe-router-load-balancing-type aux_loss --moe-grouped-gemm
  --moe-token-dispatcher-type alltoall --overlap-param-gather --overlap-grad-reduce)
TRAINING=(--micro-batch-size 1 --global-batch-size 256 --train-iters 500000 --bf16)
PARALLEL=(--tensor-model-parallel-size 1 --pipeline-model-parallel-size 4 --expert-model-parallel-size 8
  --use-distributed-optimizer --sequence-parallel)
LOGGING=(--log-interval 1 \
  --no-load-rng)
if [ -n "${WANDB_API_KEY}" ]; then
  LOGGING+=(--wandb-project ${WANDB_PROJECT:-"Mixtral"})
fi
torchrun ${LAUNCH[@]} pretrain_gpt.py ${MODEL[@]} ${MOE[@]} ${TRAINING[@]} ${PARALLEL[@]} ${LOGGING[@]}
)sh",
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
  dropout: 0
  moe: {experts: 8, top_k: 2, ffn: 14336, dispatcher: alltoall}   # moe-ffn-hidden-size is that of the MLP
cluster: {file: dgx-h100, nodes: 4}
training: {seq_len: 4096, global_batch: 256, tokens: 524288000000, precision: bf16, optimizer: adamw, kernels: {loss: unfused}}
strategy: {pp: 4, ep: 8, etp: 1, zero: 1, overlap: {dp: true, ep: false}}
)"));
  CHECK(said_of(read, "--no-load-rng") == "has no counterpart");
  CHECK(said_of(read, "--wandb-project").empty());
}

TEST_CASE("examples/megatron_fsdp/train_llama3_8b_fsdp_h100_fp8.sh: parameters in shards") {
  const auto read = imported("megatron", R"sh(
USE_MEGATRON_FSDP=${USE_MEGATRON_FSDP:-1}
SHARDING_STRATEGY=${SHARDING_STRATEGY:-"optim_grads_params"}
MODEL=(--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention
  --num-query-groups 8 --seq-length 8192 --max-position-embeddings 8192 --position-embedding-type rope
  --attention-dropout 0.0 --hidden-dropout 0.0 --swiglu --normalization RMSNorm --attention-backend fused
  --untie-embeddings-and-output-weights --disable-bias-linear --vocab-size 128256)
TRAINING=(--micro-batch-size 1 --global-batch-size 128 --bf16 --cross-entropy-loss-fusion)
if [ "${USE_MEGATRON_FSDP}" = 1 ]; then
    unset CUDA_DEVICE_MAX_CONNECTIONS
    TRAINING=(
        "${TRAINING[@]}"
        --use-megatron-fsdp
        --data-parallel-sharding-strategy ${SHARDING_STRATEGY}
        --ckpt-format fsdp_dtensor
        --use-nccl-ub
    )
fi
TRAINING+=(--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather "--fp8-format hybrid")
python -m torch.distributed.run --nproc_per_node 8 --nnodes 1 pretrain_gpt.py ${MODEL[@]} ${TRAINING[@]}
)sh");
  CHECK(resolved(read.experiment) == by_hand(R"(
model: {layers: 32, hidden: 4096, heads: 32, kv_heads: 8, ffn: 14336, gated_mlp: true, vocab: 128256,
        vocab_multiple: 128, tied_embeddings: false, norm: rmsnorm, position: rope, bias: false, dropout: 0}
cluster: {file: dgx-h100, nodes: 1}
training: {seq_len: 8192, global_batch: 128, precision: fp8-delayed, optimizer: adamw, kernels: {attention: cudnn, loss: fused}}
strategy: {zero: 3, overlap: {dp: true}}
)"));
  CHECK(said_of(read, "--use-nccl-ub") == "has no counterpart");
}

TEST_CASE("examples/post_training/modelopt/conf/Qwen/Qwen3-235B-A22B.sh: arguments in a variable, nothing launched") {
  const auto read =
      imported("megatron", R"sh(
if [ -z ${HF_MODEL_CKPT} ]; then
    HF_MODEL_CKPT=Qwen/Qwen3-235B-A22B
else
    TOKENIZER_MODEL=${HF_MODEL_CKPT}
fi
MODEL_ARGS=" \
    --micro-batch-size 1 \
    --bf16 \
    --disable-bias-linear \
    --untie-embeddings-and-output-weights \
    --position-embedding-type rope \
    --normalization RMSNorm --swiglu \
    --num-layers 94 --hidden-size 4096 --ffn-hidden-size 12288 \
    --num-attention-heads 64 --group-query-attention --num-query-groups 4 --kv-channels 128 \
    --qk-layernorm \
    --num-experts 128 --moe-ffn-hidden-size 1536 --moe-router-topk 8 \
    --moe-token-dispatcher-type alltoall \
    --moe-layer-recompute \
    --seq-length 4096 --max-position-embeddings 40960 \
    --make-vocab-size-divisible-by 1187 \
    --no-bias-swiglu-fusion \
    --attention-dropout 0.0 --hidden-dropout 0.0 \
    --sequence-parallel \
"
)sh",
               {.nodes = 16, .overrides = {"model.vocab=151936", "training.global_batch=128", "strategy.ep=64"}});
  CHECK(resolved(read.experiment) == by_hand(R"(
model:
  layers: 94
  hidden: 4096
  heads: 64
  kv_heads: 4
  head_dim: 128
  ffn: 12288
  gated_mlp: true
  vocab: 151936       # 128 times 1187
  tied_embeddings: false
  norm: rmsnorm
  position: rope
  qk_norm: true
  bias: false
  dropout: 0
  vocab_multiple: 1187
  moe: {experts: 128, top_k: 8, ffn: 1536}
cluster: {file: dgx-h100, nodes: 16}
training: {seq_len: 4096, global_batch: 128, optimizer: adamw, kernels: {loss: unfused}}
strategy: {ep: 64, overlap: {dp: false}}
)"));
  CHECK(said_of(read, "--moe-layer-recompute") == "has no counterpart");
  CHECK(said_of(read, "--no-bias-swiglu-fusion").find("kernels.pointwise") != std::string::npos);
  REQUIRE_FALSE(read.notes.empty());
  CHECK(read.notes[0].find("MODEL_ARGS") != std::string::npos);
}

TEST_CASE("examples/post_training/modelopt/conf/deepseek-ai/DeepSeek-R1.sh: latent attention, three dense layers") {
  const auto read =
      imported("megatron", R"sh(
MODEL_ARGS=" \
    --micro-batch-size 1 --bf16 --disable-bias-linear --untie-embeddings-and-output-weights \
    --position-embedding-type rope --normalization RMSNorm --swiglu \
    --num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 --kv-channels 128 \
    --multi-latent-attention --kv-lora-rank 512 --v-head-dim 128 --q-lora-rank 1536 --qk-head-dim 128 \
    --qk-layernorm --qk-pos-emb-head-dim 64 \
    --num-experts 256 --moe-layer-freq [0]*3+[1]*58 --moe-ffn-hidden-size 2048 \
    --moe-router-enable-expert-bias --moe-router-topk 8 --moe-router-num-groups 8 \
    --moe-shared-expert-overlap --moe-shared-expert-intermediate-size 2048 \
    --moe-token-dispatcher-type alltoall \
    --seq-length 4096 --make-vocab-size-divisible-by 1280 --recompute-activations \
"
)sh",
               {.nodes = 32, .overrides = {"model.vocab=129280", "training.global_batch=256", "strategy.ep=64"}});
  CHECK(resolved(read.experiment) == by_hand(R"(
model:
  layers: 61
  hidden: 7168
  heads: 128
  head_dim: 128
  ffn: 18432
  gated_mlp: true
  vocab: 129280
  vocab_multiple: 1280
  tied_embeddings: false
  norm: rmsnorm
  position: rope
  bias: false
  dropout: 0.1        # Megatron-LM's default, which the script leaves
  mla: {q_lora: 1536, kv_lora: 512, rope_dim: 64, nope_dim: 128, v_dim: 128}
  moe: {experts: 256, top_k: 8, ffn: 2048, shared_experts: 1, balance_bias: true}
  blocks: [{repeat: 3, mlp: dense}, {repeat: 58, mlp: moe}]
cluster: {file: dgx-h100, nodes: 32}
training: {seq_len: 4096, global_batch: 256, optimizer: adamw, kernels: {loss: unfused}}
strategy: {ep: 64, recompute: attention, overlap: {dp: false, ep: true}}
)"));
  CHECK(said_of(read, "--moe-router-num-groups") == "has no counterpart");
}

TEST_CASE("examples/post_training/modelopt/conf/meta-llama/Llama-3.1-8B-Instruct.sh: old words for rotary positions") {
  const auto read = imported("megatron", R"sh(
MODEL_ARGS=" --micro-batch-size 1 --bf16 --disable-bias-linear --untie-embeddings-and-output-weights \
  --use-rotary-position-embeddings --rotary-percent 1.0 --no-position-embedding --normalization RMSNorm --swiglu \
  --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention \
  --num-query-groups 8 --seq-length 4096 --make-vocab-size-divisible-by 1 --use-rope-scaling "
)sh",
                             {.nodes = 1, .overrides = {"model.vocab=128256", "training.global_batch=64"}});
  CHECK(resolved(read.experiment) == by_hand(R"(
model: {layers: 32, hidden: 4096, heads: 32, kv_heads: 8, ffn: 14336, gated_mlp: true, vocab: 128256, vocab_multiple: 1,
        tied_embeddings: false, norm: rmsnorm, position: rope, bias: false, dropout: 0.1}
cluster: {file: dgx-h100, nodes: 1}
training: {seq_len: 4096, global_batch: 64, optimizer: adamw, kernels: {loss: unfused}}
strategy: {overlap: {dp: false}}
)"));
  CHECK(said_of(read, "--use-rope-scaling") == "has no counterpart");
}
