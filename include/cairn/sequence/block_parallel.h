// A whole block of attention and MLP, causal, whose tokens are shared outside attention:
//   y = x + softmax(q k^T / sqrt(d) + mask) v Wo      q, k, v = x Wq, x Wk, x Wv
//   u = y + max(y W1, 0) W2
// Norms act on each token alone and are left out. n tokens of m numbers, h heads of d, f of the MLP, b sequences, p
// ranks, w numbers in all weights. Received per rank, [elements]:
//
//   Megatron's sequence parallelism: heads and f are shared inside, tokens outside. All-gather of x and of y before the
//   columns of weights, reduce-scatter behind their rows.
//     forward   4 b n m (p-1)/p      2 all-gathers, 2 reduce-scatters
//     backward  4 b n m (p-1)/p, and 2 b n m (p-1)/p more where x and y were kept as shares and are gathered again
//   Weights of shared columns and their gradients belong to one rank each: nothing moves.
//
//   InternEvo's ISP: tokens are shared throughout, but heads inside attention (all-to-all, as Ulysses). Weights lie in
//   shares; each linear gathers its own before use, in both passes, and gradients are reduce-scattered.
//     forward   w (p-1)/p + 4 b n h d (p-1)/p^2
//     backward  2 w (p-1)/p + 4 b n h d (p-1)/p^2
//   What weights cost does not depend on the tokens.
//
// Sources: Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models, arXiv 2205.05198;
// InternLM/InternEvo, doc/code-docs/source/parallel.rst; Gu et al., LoongTrain, arXiv 2406.18485.
#pragma once

#include <cstdint>

#include "cairn/sequence/piece_list.h"

namespace cairn::sequence {

struct BlockShape {
  std::int64_t ranks = 1;
  std::int64_t tokens = 1;    // n
  std::int64_t width = 1;     // m
  std::int64_t heads = 1;     // h
  std::int64_t head_dim = 1;  // d
  std::int64_t ffn = 1;       // f
  std::int64_t sequences = 1;
};

enum class KeptInput : std::uint8_t { whole, share };

// Throws core::ConfigurationError unless the ranks divide tokens, heads and ffn.
Sharing share_columns(const BlockShape& shape, KeptInput kept);
// Throws unless the ranks divide tokens, heads and width, along which weights lie in shares.
Sharing share_weights(const BlockShape& shape);

}  // namespace cairn::sequence
