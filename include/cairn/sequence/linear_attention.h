// Linear attention, o_i = q_i sum_{j <= i} k_j v_j^T, or over all j: not softmax, and without a normaliser. What a rank
// needs of the tokens of others is a state of d x d_v numbers per head, however long they are.
//
// Tokens are p chunks, one of each rank, with states
//   M_c = sum_{j in c} k_j v_j^T      G_c = sum_{i in c} q_i do_i^T, backward
// A causal mask asks for the sum of M before the own chunk, and of G behind it; without it both are of all chunks.
//   LASP-2   all-gather of states, which every rank then adds up     (p-1) b h d d_v received per rank and pass
//   LASP     the sum itself goes from rank to rank, which adds its own state: p - 1 hops one after the other,
//            b h d d_v each; causal only
// In hybrid models LASP-2 gathers K and V for the softmax layers (LASP-2H): that is the scheme `all-gather` of
// scheme.h.
//
// Sources: Sun et al., LASP-2, arXiv 2502.07563; Sun et al., LASP, arXiv 2404.02882.
#pragma once

#include <cstdint>

#include "cairn/sequence/piece_list.h"

namespace cairn::sequence {

struct LinearAttentionShape {
  std::int64_t ranks = 1;
  std::int64_t tokens = 1;
  std::int64_t heads = 1;
  std::int64_t head_dim = 1;   // d
  std::int64_t value_dim = 1;  // d_v
  std::int64_t sequences = 1;
  bool causal = true;
};

// Both throw core::ConfigurationError unless the ranks divide the tokens.
Sharing share_gathered_states(const LinearAttentionShape& shape);
// Throws also without a causal mask.
Sharing share_passed_states(const LinearAttentionShape& shape);

}  // namespace cairn::sequence
