// One attention operator alone, as a layer of its own: queries, keys and values come in, the context leaves.
#pragma once

#include <cstdint>

#include "cairn/ir/model.h"
#include "cairn/models/kernels.h"

namespace cairn::attention {

struct LayerShape {
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t head_dim = 1;
  bool causal = true;
  models::AttentionKernel kernel = models::AttentionKernel::flash2;  // one that keeps its scores on chip
};

// The operator that models::build_transformer() builds for such heads, so that both have the same dimensions, masks,
// FLOPs and saved tensors; tokens and sequences are the symbols of loopnest::Sizes. bf16, its derivative included.
ir::LayerClass attention_layer(const LayerShape& shape);

}  // namespace cairn::attention
