// Executes the lists of all ranks of a scheme on real numbers and compares with dense attention.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cairn/sequence/scheme.h"

namespace cairn::sequence {

struct Verdict {
  std::optional<std::string> fault;  // the first thing that is wrong
  // Of O and log-sum-exp, or of dQ, dK, dV, against dense attention in fp64: the largest difference over the largest
  // magnitude in any of them.
  double largest_error = 0.0;
  std::int64_t pairs = 0;  // computed, of all ranks and heads of one sequence
};

// What the ranks of a scheme do, by rank.
struct Shares {
  std::vector<Tokens> owned = {};
  std::vector<Parcel> kept = {};
  std::vector<RankList> forward = {};
  std::vector<RankList> backward = {};
  const std::vector<RankList>& lists(Pass pass) const { return pass == Pass::forward ? forward : backward; }
};
// The backward lists only where that pass is asked for.
Shares shares(const Scheme& scheme, const Problem& problem, const Grid& grid, Pass pass);

// Follows what every rank holds, stage by stage, and computes in fp32: scores Q K^T / sqrt(d), parts of O joined by
// their log-sum-exp, gradients from the log-sum-exp and delta = rowsum(dO o O) (Dao, FlashAttention-2,
// arXiv 2307.08691, algorithms 1 and 2).
// Tiles and messages of a stage find what was there when it began; what a call brings is there when its last stage is
// over. Q, K, V and dO are drawn from `seed`. Faults:
//   tokens that no rank owns, or two;
//   a list out of order, or that names ranks, stages, tokens or heads that there are not;
//   what one rank sends is not what another receives, in calls of the same kind, peers and stages; a peer that takes no
//   part in a collective;
//   a tile or message reads what its rank does not hold when the stage begins;
//   a message that copies a part of a result that is not whole, parts O from its log-sum-exp, adds what is there
//   already, or brings nothing that its destination lacks;
//   a (query, key, head) that the mask leaves is computed never or twice;
//   a rank ends without its results, or a part of a result is left anywhere else;
//   an error above `tolerance`.
// Backward starts from what Scheme::kept says the forward pass left, checked to be there, and dO of the owned tokens.
// Memory and time: in proportion to n^2 h + p n h d; for small n.
Verdict verify(const Problem& problem, const Shares& shares, Pass pass, std::uint64_t seed, double tolerance = 1e-5);
// A problem that the scheme refuses is a fault as well.
Verdict verify(const Scheme& scheme, const Problem& problem, const Grid& grid, Pass pass, std::uint64_t seed,
               double tolerance = 1e-5);

}  // namespace cairn::sequence
