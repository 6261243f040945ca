# Megatron-LM arguments of 'Llama 3 70B on 64 DGX H100', 512 ranks.
# Use: source this file, then: torchrun --nproc_per_node 8 --nnodes ... pretrain_gpt.py "${MEGATRON_ARGS[@]}"
WORLD_SIZE=512
MEGATRON_ARGS=(
  --num-layers 80
  --hidden-size 8192
  --num-attention-heads 64
  --ffn-hidden-size 28672
  --untie-embeddings-and-output-weights
  --normalization RMSNorm
  --position-embedding-type rope
  --hidden-dropout 0.0
  --softmax-type vanilla
  --micro-batch-size 1
  --tensor-model-parallel-size 8
  --pipeline-model-parallel-size 4
  --context-parallel-size 1
  --expert-model-parallel-size 1
  --overlap-grad-reduce
  --seq-length 8192
  --global-batch-size 512
  --group-query-attention
  --num-query-groups 8
  --padded-vocab-size 128256
  --max-position-embeddings 8192
  --swiglu
  --disable-bias-linear
  --attention-dropout 0
  --optimizer adam
  --no-decoupled-weight-decay
  --bf16
  --attention-backend fused
  --sequence-parallel
  --use-distributed-optimizer
  --overlap-param-gather
)
# The cluster and its calibration are Cairn's: `cairn import` takes --cluster.
