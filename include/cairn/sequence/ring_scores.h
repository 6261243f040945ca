// Ring Self-Attention: softmax attention in two passes of a ring, keys first, so that every rank has all scores of its
// queries before it normalises them.
//
//   forward    p - 1 hops of K beside the scores of own queries, a softmax of whole rows, p - 1 hops of V
//   backward   p - 1 hops of V for dP, p - 1 of K for dQ; sums of dK and dV over all ranks, each rank then having all
//              of them (all-reduce, written as its halves), although it needs its own share alone
//   received per rank, b sequences, n tokens, h heads of d, [elements]    forward   2 (p-1) b h d n / p
//                                                                         backward  6 (p-1) b h d n / p
// P stays from the forward pass: b h n^2 / p elements per rank, which is what later schemes do without.
//
// Source: Li et al., Sequence Parallelism: Long Sequence Training from System Perspective, arXiv 2105.13120.
#pragma once

#include <cstdint>

#include "cairn/sequence/piece_list.h"

namespace cairn::sequence {

struct RingScoresShape {
  std::int64_t ranks = 1;
  std::int64_t tokens = 1;  // n
  std::int64_t heads = 1;
  std::int64_t head_dim = 1;
  std::int64_t sequences = 1;
  bool causal = false;
};

// Throws core::ConfigurationError unless the ranks divide the tokens.
Sharing share_ring_scores(const RingScoresShape& shape);

}  // namespace cairn::sequence
