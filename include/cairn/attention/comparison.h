// Ways of sharing one attention on a cluster, side by side: what each moves, holds and takes.
//
//   bytes, messages, memory   folds of the ranks' lists (sequence/folds.h)
//   memory                    the larger of
//                               forward    what a rank owns of Q, K, V, O and log-sum-exp + its buffers
//                               backward   what it keeps of these + dO, delta, dQ, dK, dV of its tokens + its buffers
//   balance                   mean over the ranks of the pairs they compute / the most of any; the mean is exact, since
//                             every pair is computed once
//   time                      of the operator lowered as a layer that shares its context (plan/layer.h), priced by the
//                             cost model and run on idle streams, or what the busiest links need for all of its calls where
//                             that is longer: as in a step of `cairn run`
//   compute, transfers        sums of the kernels and of the calls of that run; what of the time is no kernel's is
//                             exposed: computation waits
//   ratio                     bytes received / bytes of the lower bound (pebble::attention_exchange_bound)
//   links                     loads of the cluster's links (link_loads.h)
// Bytes, messages, pairs and buffers are the most of any rank (sequence/group.h).
//
// Premises of the bound: every rank computes its share of the pairs (balance of at least k_balanced), whole heads, and
// starts from no more than the tokens it owns. No ratio where one fails, or where ranks could own whole sequences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cairn/attention/link_loads.h"
#include "cairn/attention/proof.h"
#include "cairn/attention/request.h"
#include "cairn/core/time.h"
#include "cairn/sequence/scheme.h"

namespace cairn::attention {

inline constexpr double k_balanced = 0.999;

// Of the two passes; `backward` is zero where that pass was not asked for.
template <class T>
struct Passes {
  T forward = {};
  T backward = {};
};

struct BoundRatio {
  std::optional<double> ratio = {};
  std::string premise = {};  // what the bound takes for granted; without a ratio, why there is none
};

// A scheme in one of its grids.
struct Way {
  const sequence::Scheme* scheme = nullptr;
  sequence::Grid grid = {};
  std::optional<std::string> refusal = {};  // why it cannot be; all below is zero then

  Passes<std::int64_t> sent = {};  // [B] per rank
  Passes<std::int64_t> received = {};
  std::int64_t messages = 0;  // that a rank sends, both passes
  std::int64_t memory = 0;    // [B] per rank
  double balance = 0.0;
  Passes<core::Picoseconds> time = {};
  core::Picoseconds compute = 0;
  core::Picoseconds transfers = 0;
  Passes<BoundRatio> bound = {};
  std::vector<LinkLoad> links = {};  // of ways that are shown, of at most k_most_linked ranks
  std::optional<Proof> proof = {};   // where it was asked for

  core::Picoseconds total() const { return time.forward + time.backward; }
  core::Picoseconds exposed() const { return total() - compute; }
  bool stands() const { return !refusal; }
};

struct Comparison {
  sequence::Problem problem = {};  // of one context group
  std::int64_t gpus = 0;
  std::int64_t tensor_ranks = 1;
  bool backward = true;
  bool one_scheme = false;  // was asked for
  // Those that can be, by total time and then in the order of sequence::schemes(); behind them those that cannot.
  std::vector<Way> ways = {};
  Passes<double> bound_bytes = {};  // that a rank receives at the least, on average over the ranks
  std::vector<std::string> assumptions = {};
  std::vector<std::string> warnings = {};

  // Null: no way can be.
  const Way* best() const { return ways.empty() || !ways.front().stands() ? nullptr : &ways.front(); }
  // What answers the question: the best grid of every scheme, or all grids of the one that was asked for; of a scheme
  // that cannot be its first refusal. Places in `ways`, ascending.
  std::vector<std::size_t> shown() const;
};

// Throws core::ConfigurationError where nothing could be shared so (check()), for a choice that no scheme has, and for a
// kernel that was never measured on the accelerator.
Comparison compare(const Request& request);

// Adds proofs to the ways that are shown.
void prove(Comparison& comparison);

}  // namespace cairn::attention
