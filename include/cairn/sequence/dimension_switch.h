// Dynamic Sequence Parallelism: tokens that lie on a grid of space x time, blocks that attend along one of the two, and
// ranks that hold a share of the other. A rank has all it needs for such an attention, and between two blocks one
// all-to-all switches which dimension is shared.
//
// A pair of blocks, from x (t, s, m):
//   y = x + attention along s of x, for every t      shared by t
//   u = y + attention along t of y, for every s      shared by s, then switched back
//   received per rank, b sequences, n = t s tokens, [elements]   (p-1)/p b n m / p per switch
//                                                                2 switches per pair forward, 2 backward
// against 4 such all-to-alls of each attention that shares heads (Ulysses). Weights are whole on all ranks, and the sum
// of their gradients over ranks is left to data parallelism.
//
// Source: Zhao et al., DSP, arXiv 2403.10266.
#pragma once

#include <cstdint>

#include "cairn/sequence/piece_list.h"

namespace cairn::sequence {

struct GridTokensShape {
  std::int64_t ranks = 1;
  std::int64_t space = 1;
  std::int64_t time = 1;
  std::int64_t width = 1;  // m
  std::int64_t heads = 1;
  std::int64_t head_dim = 1;
  std::int64_t sequences = 1;
};

// Throws core::ConfigurationError where space or time is a single token, since there is nothing to switch to, and
// unless the ranks divide both.
Sharing share_switched_dimensions(const GridTokensShape& shape);

}  // namespace cairn::sequence
