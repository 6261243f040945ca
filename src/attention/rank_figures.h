// What the ranks of one way of sharing move, hold and compute, as folds of their lists.
#pragma once

#include "cairn/attention/comparison.h"

namespace cairn::attention {

struct RankFigures {
  Passes<std::int64_t> sent = {};
  Passes<std::int64_t> received = {};
  std::int64_t messages = 0;
  std::int64_t memory = 0;
  double balance = 1.0;
  bool whole_heads = true;  // every tile is of all heads
  bool keeps_owned = true;  // the forward pass leaves no tokens of other ranks to the backward pass
};

// Most of any rank, as sequence::GroupPass has it. The scheme must take the problem so.
RankFigures rank_figures(const sequence::Problem& problem, const sequence::Scheme& scheme, const sequence::Grid& grid,
                         bool backward);

}  // namespace cairn::attention
