// What no execution can beat, of one plan and of any plan.
//
// Of this plan. The Program says which work each rank does, on which stream, in which order; a rank's work never takes
// less than its floor. The step is the longest path through the Program, which grows with every duration, so under
// floors in place of prices the evaluator gives a lower bound, pipeline fill and exposed transfers included:
//   compute   floor of an operator = FLOPs of its contractions / dense peak of its number format; all else 0
//   network   floor of a transfer, from what its ranks must at least send or receive; all else 0
//             all-gather, reduce-scatter        x = (n-1)/n bytes        every rank lacks the others' shares
//             all-reduce                        x = 2 (n-1)/n bytes      one-way gossip takes 2 (n-1) messages
//                                                                        per element;
//                                               x = bytes                where switches add: a rank's own values must
//                                                                        leave
//             all-to-all, send                  what is asked for
//             inside one domain x / B1; across domains max( across / B2, x / (B1 + B2) ), across: the same counts with
//             domains in place of ranks, shared by the ranks of a domain; B1: a rank's stated link inside
//             its domain, B2: outside (of several networks, the fastest, and the sum of all in B1 + B2)
//             and per stage the bytes that leave a rank over all its transfers, over B2 and over B1 + B2
//             Prices are those of transfers alone, so that of those that overlap each has all of its links. Their sum
//             is held against them here: a prediction waits until the busiest links have carried everything
//             (prediction.h), and is never below this bound.
//   memory    the busiest stage's least traffic (traffic.h) / bandwidth of device memory, or the longest path where
//             each kernel takes what it moves beyond the chip, max(0, read - S) + max(0, written - S), over that
//             bandwidth
//   together  longest path where a kernel takes the larger of its two floors and a transfer its own; the largest of all
//             four is the plan's bound
//
// Of any plan on this cluster for this batch and recipe, classical products (no Strassen) assumed:
//   compute   unmasked FLOPs of the model's contractions, forward and twice backward / (devices x dense peak
//             of the fastest number format that they run in)
//   memory    every parameter that a contraction uses is new since the last update, so it has to be loaded somewhere
//             unless it stayed on some chip: (bytes - devices x S) / (devices x bandwidth)
//   network   the busiest device forms 1 / devices of the products of a chain of matrices through the model, or more:
//             what then has to enter and leave it, over all its links (network_bound.h)
// It holds of this plan, too, and is taken where it is larger: the plan's floors are rounded down to whole picoseconds
// kernel by kernel, which from kernels of a nanosecond takes some thousandths.
// Empty where nothing is proved.
#pragma once

#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cairn/ir/model.h"
#include "cairn/predict/bounds/network_bound.h"
#include "cairn/predict/price/cost_pricer.h"
#include "cairn/program/program.h"

namespace cairn::predict {

struct Bounds {
  std::optional<double> compute_s;
  std::optional<double> memory_s;
  std::optional<double> network_s;
  std::optional<double> together_s;
  core::Picoseconds links = 0;  // within network_s: what the busiest links need for all that they carry
  std::optional<double> best_s() const;
};

// Kind by kind (compute, memory, ...) the larger of two bounds; where one is not proved, the other.
Bounds larger(const Bounds& a, const Bounds& b);

struct DeviceLimits {
  double peak_flops = 0.0;  // dense, of the fastest number format in use (cost/peak.h) [FLOP/s]
  double memory_bytes_per_s = 0.0;
  std::optional<double> on_chip_bytes = {};      // empty: not known, so nothing is proved about memory
  std::optional<double> links_bytes_per_s = {};  // all_links_bytes_per_s(); empty: nothing is proved about the network
  WordBytes words = {};
};

// The work of one step, independent of any plan.
struct Batch {
  double contraction_flops = 0.0;  // forward and backward, unmasked pairs only
  loopnest::Sizes sizes = {};      // of one micro-batch on one rank
  double passes = 1.0;             // micro-batches of all ranks
};

// Bounds::links of a program, without the other bounds. [ps]
core::Picoseconds busiest_links(const program::Program& program, CostPricer& pricer);
// What the links of a rank need for all transfers of a block, however they overlap. [ps]
core::Picoseconds busiest_links(const program::Block& block, CostPricer& pricer);

// The same of one program after another: what a pass sends is remembered as long as the passes live.
class BusiestLinks {
 public:
  explicit BusiestLinks(CostPricer& pricer) : pricer_(pricer) {}
  core::Picoseconds time(const program::Program& program);
  core::Picoseconds time(const program::Block& block);

 private:
  const LinkBytes& of(const program::Block& block);
  const LinkBytes& of(const program::Pass& pass);

  CostPricer& pricer_;
  std::unordered_map<const program::Block*, LinkBytes> blocks_;
  std::vector<std::pair<const program::Pass*, LinkBytes>> passes_;  // by the pass's id
};

Bounds plan_bounds(const program::Program& program, CostPricer& pricer, const DeviceLimits& limits);

// `devices` in the cluster.
Bounds problem_bounds(const ir::Model& model, const Batch& batch, double devices, const DeviceLimits& limits);

}  // namespace cairn::predict
