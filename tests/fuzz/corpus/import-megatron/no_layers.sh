MODEL=" --num-layers -0 --hidden-size 64 --num-attention-heads 4 --num-experts 4 --moe-layer-freq [0]*1+[1]*3 \
  --moe-router-topk 2 --moe-shared-expert-intermediate-size 128 --expert-model-parallel-size 2 --moe-expert-capacity-factor 1.5 \
  --moe-pad-expert-input-to-capacity --seq-length 128 --micro-batch-size $((2 / 2)) --global-batch-size 8 --fp16 \
  --multi-latent-attention --q-lora-rank 16 --ddp-bucket-size 1000 "

