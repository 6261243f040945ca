// Decoding: attention of a few query tokens that every rank knows, over keys and values of which each holds a share.
//
//   tree attention    local attention with its log-sum-exp l; all-reduce of the maximum m of l; all-reduce of the
//                     numerators o exp(l - m) and the denominators exp(l - m)
//                     received per rank, b sequences, r = h x queries rows of d: 2 (p-1)/p b r (d + 2) elements,
//                     where p divides the rows of all heads evenly
//   tree merging      parts (o, l) go up a tree and meet in it; the sum comes down
//                     b r (d + 1) elements over each of its p - 1 edges up, b r d down
//   ring decoding     all ranks pass on keys and values, and each computes everything: p - 1 hops one after the other
//                     2 (p-1) b n d_kv / p elements received per rank
//
// Source: Shyam et al., Tree Attention, arXiv 2408.04093.
#pragma once

#include <cstdint>
#include <vector>

#include "cairn/sequence/piece_list.h"

namespace cairn::sequence {

struct DecodeShape {
  std::int64_t ranks = 1;
  std::int64_t tokens = 1;  // past ones, with keys and values; every query sees all of them
  std::int64_t queries = 1;
  std::int64_t kv_heads = 1;
  std::int64_t group = 1;  // query heads of one key head
  std::int64_t head_dim = 1;
  std::int64_t sequences = 1;
};

// All throw core::ConfigurationError unless the ranks divide the tokens.
Sharing share_tree_attention(const DecodeShape& shape);
// The parent of every rank, -1 of the root. Throws also where that is no tree of the ranks.
Sharing share_tree_merging(const DecodeShape& shape, const std::vector<std::int64_t>& parents);
Sharing share_ring_decoding(const DecodeShape& shape);

// Rank r under rank r without its lowest set bit, so that the tree is ceil(log2 p) deep.
std::vector<std::int64_t> binomial_parents(std::int64_t ranks);

}  // namespace cairn::sequence
