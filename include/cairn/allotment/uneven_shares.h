// Shares of a batch and of the training state for unlike accelerators that train one model data-parallel with fully
// sharded state: the fast ones compute more samples, those with free memory hold more state, one apart from the other.
//
//   minimise    max_i t_i(b_i)  +  fixed  +  whole max_i s_i / S
//   subject to  sum b_i = B,  sum s_i = S,  m_i(b_i) + s_i <= capacity_i,  b_i and s_i whole and >= 0
//
// Rank i computes b_i of B samples in t_i(b_i) [ps], keeps m_i(b_i) bytes for them, and holds s_i of the S bytes of
// state (parameters, gradients, optimizer). Every rank waits for the last one. All-gathers and reduce-scatters of
// uneven pieces last as long as the largest piece: they take `fixed` and as much of `whole` as the largest share is of
// all state, rounded up, so that even shares are the fastest; a caller who knows another law fits these two to it.
//
// Example: a fast device, t = b and 10 bytes, and a slow one, t = 3 b and 100 bytes; a sample keeps 2 bytes, S = 40,
// B = 8. Shares of state in the ratio of the samples let the fast one take a single sample, 7 b <= 10, and the slow one
// needs 21. With all of the state on the slow one the fast one takes 5 samples, and the 3 of the slow one need 9.
//
// Source: R. B. Guo, U. Anand, A. Chen, K. Daudjee, "Cephalo: Harnessing Heterogeneous GPU Clusters for Training
// Transformer Models", ICS 2025 (arXiv 2411.01075), for the two kinds of shares; the law of the collectives and the
// exact search are ours.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cairn/core/time.h"

namespace cairn::allotment {

// Ranks with equal devices. Tables by the number of samples, from 0 on; a rank computes no more samples than they
// reach. Neither has to grow with the samples.
struct RankType {
  std::int64_t ranks = 1;                             // >= 1
  std::vector<core::Picoseconds> compute_times = {};  // t(b) [ps], >= 0
  std::vector<std::int64_t> activations = {};         // m(b) [bytes], >= 0, as many
  std::int64_t capacity = 0;                          // bytes
};

struct ShareProblem {
  std::vector<RankType> types = {};  // ranks are numbered type after type
  std::int64_t samples = 0;          // B >= 0
  std::int64_t state = 0;            // S [bytes] >= 0
  core::Picoseconds fixed = 0;       // of the collectives, whatever the shares, >= 0
  core::Picoseconds whole = 0;       // and what they would take more if one rank held all state, >= 0
};

struct RankShare {
  std::int64_t samples = 0;
  std::int64_t state = 0;  // bytes
  bool operator==(const RankShare&) const = default;
};

struct SharePlan {
  std::vector<RankShare> ranks = {};
  core::Picoseconds compute_time = 0;  // of the slowest rank
  core::Picoseconds collective_time = 0;
  core::Picoseconds step_time = 0;  // their sum
};

// What given shares take, one for each rank; nothing where they do not fit: a rank with more samples than its tables
// have or more bytes than its capacity. Errors: core::ConfigurationError where the problem is none, as for
// best_shares(), or the shares are not those of all ranks, all samples and all state.
std::optional<SharePlan> priced(const ShareProblem& problem, const std::vector<RankShare>& ranks);

// The shares of the least step time, exactly; of equals those of the least compute time. Nothing where none fit. With n
// types of k ranks each, a test whether any shares keep a bound on compute time and largest share takes n log(k) B^2
// steps; there is one for each different compute time at most, and log(S) more whenever a better plan is met. Errors:
// core::ConfigurationError where tables of a type are empty or differ in length, something is negative, there are no
// ranks or more than 2^20, samples are more than 2^20, or state, activations or times are more than 2^60.
std::optional<SharePlan> best_shares(const ShareProblem& problem);

}  // namespace cairn::allotment
