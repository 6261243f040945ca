// Kernels over memory that join the result of a tile of attention to what the rank has.
//
// Bytes per element of O, dQ, dK or dV, of a tile in 16 bits and a part in fp32:
//
//   fused   one pass: reads the tile, reads and writes the part                                    2 + 4 + 4 = 10
//   eager   forward, o = o - sigmoid(l' - l) (o - o'):
//             o' widened                                                                           2 + 4
//             difference o - o', its product with a number per row, the sum                        12 + 8 + 12
//             five kernels over the rows' numbers: l' - l, sigmoid, l - l', its logarithm, the sum
//             of a tile of some of the rows: they are put back by a copy of all                    8 of all
//           The first tile of a row is widened, and what all tiles made is narrowed at the end.    6 each
//           backward: a sum is one pass, as fused; put back likewise.
//
// Source: PyTorch, torch/distributed/tensor/experimental/_context_parallel/_attention.py, _SDPAMerger and
// _partial_update, read 2026-11. Fused: Transformer Engine, context_parallel.py, flash_attn_fwd_out_correction under
// jit_fuser, read 2026-11.
#pragma once

#include <cstdint>

#include "cairn/ir/graph.h"

namespace cairn::plan::joins {

enum class Kernel : std::uint8_t {
  whole,       // of the tile and the part
  widen,       // 16 bits to fp32
  narrow,      // and back
  difference,  // of two fp32 tensors, or their sum, into a third; also of the rows' numbers
  scale,       // an fp32 tensor by numbers of the rows, into another; also a function of the rows' numbers
  copy         // of an fp32 tensor
};

// The kernel over so many elements.
ir::Shard shard(Kernel kernel, std::int64_t elements);

}  // namespace cairn::plan::joins
