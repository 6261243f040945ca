// The attention of a batch of sequences of mixed lengths on one pool of ranks: shared in groups of several degrees and
// in waves of rings (sequence/mixed.h), beside the best single degree of either.
//
// The costs are those of compare(), both passes where both are asked for, n the longest length:
//   a, b       through the times of one rank for n tokens and for n / 2, t = a s^2 + b s
//   e, v(d)    heads split over d ranks: bytes received x d^2 / ((d - 1) n) per token; e n / (d x what the time exceeds
//              t / d by), so that kernels of fewer heads, which are slower, count with the exchange
//   w, v       a ring of the ranks that n tokens need: bytes received x d / ((d - 1) n) per token; bytes received / the
//              sum of its transfers
// Memory counts in tokens: a rank has room for `tokens_per_rank`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cairn/attention/request.h"
#include "cairn/sequence/mixed.h"

namespace cairn::attention {

struct BatchRequest {
  Request pool = {};  // its tokens, sequences and choice do not count
  std::vector<std::int64_t> lengths = {};
  std::int64_t tokens_per_rank = 0;
};

struct BatchAnswer {
  std::vector<std::int64_t> lengths = {};
  std::int64_t ranks = 0;
  std::int64_t tokens_per_rank = 0;
  sequence::GroupCosts group_costs = {};
  sequence::RingCosts ring_costs = {};
  sequence::GroupedBatch groups = {};
  std::optional<sequence::GroupedBatch> one_degree = {};  // null: no single degree has room for the batch
  sequence::WavedBatch waves = {};
  std::optional<sequence::WavedBatch> one_ring = {};  // of one degree for all, the best; null: none has room
  std::vector<std::string> assumptions = {};
  std::vector<std::string> warnings = {};
};

// Throws core::ConfigurationError as compare() and as sequence::share_in_groups() do.
BatchAnswer share_batch(const BatchRequest& request);

}  // namespace cairn::attention
