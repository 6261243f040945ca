N=4
ARGS=(
  --num-layers $N --hidden-size 64 --num-attention-heads 4 --group-query-attention --num-query-groups 2
  --seq-length 128 --micro-batch-size 1 --global-batch-size 8 --bf16 --swiglu --normalization RMSNorm
  --position-embedding-type rope --rotary-percent 0.5 --disable-bias-linear --use-distributed-optimizer
)
if [[ "$N" == 4 ]] && [ -n "$N" ]; then
  ARGS+=("--attention-backend unfused" --overlap-grad-reduce --overlap-param-gather)
fi
python -u pretrain_gpt.py ${ARGS[@]} > log 2>&1
