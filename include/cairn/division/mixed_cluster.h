// An experiment on a cluster of unlike accelerators that all train one model data-parallel with fully sharded state:
// how many sequences each computes, and how much of the state it holds (allotment/uneven_shares.h).
//
//   cluster: {file: dgx-h100, nodes: 2, groups: [{count: 8, accelerator: h100-sxm5-80gb}, {count: 8, accelerator:
//            a100-sxm4-80gb}]}
//
//   t(b)   forward and backward of all layers, in micro-batches of strategy.micro_batch sequences and one of the rest
//   m(b)   what all b sequences keep in all layers but the head, through which a micro-batch goes back right after it
//          went forward, and the most that lives within a pass, gathered parameters among it; m(0) these and the
//          gradients on their way alone
//   S      parameters, gradients and optimizer state of all layers
//   gathers and reductions   of each layer once a step and pass, whatever the number of micro-batches, as a layer is
//          done with all of them before the next one begins: P(even) and P(all on one rank) by the prices of the
//          cluster, of n ranks, are  fixed + whole / n  and  fixed + whole; the host's own time of a step is fixed, too
//
// Each group's kernels have the prices of its own accelerator, collectives those of the slowest group. Layers have the
// prices of division/layer_prices.h; nothing of an exchange hides behind computation, and the update of the parameters
// is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cairn/allotment/uneven_shares.h"
#include "cairn/config/loader.h"
#include "cairn/experiment/experiment.h"
#include "cairn/experiment/parts.h"
#include "cairn/experiment/settings.h"

namespace cairn::division {

// Equal accelerators of a mixed cluster.
struct AcceleratorGroup {
  std::int64_t ranks = 1;
  experiment::Parts parts = {};  // as if the whole cluster were of this kind
};

// Those of the experiment's cluster. Throws core::ConfigurationError at `cluster.groups` where it has none, or they are
// not as many accelerators as the cluster has.
std::vector<AcceleratorGroup> accelerator_groups(const experiment::LoadedExperiment& loaded,
                                                 const config::Loader& loader);

struct MixedShares {
  allotment::ShareProblem problem = {};           // a type for each group
  std::optional<allotment::SharePlan> best = {};  // nothing where none fit
  std::optional<allotment::SharePlan> even = {};  // the same for all ranks; nothing where that does not fit
  std::vector<std::string> assumptions = {};
  std::vector<std::string> warnings = {};
};

inline constexpr std::int64_t k_most_shared_sequences = 4096;

// All state is sharded, whatever strategy.zero.stage says. Throws core::ConfigurationError for strategies that are not
// data-parallel alone, layers with experts, several copies of the state (HSDP), what only a run event by event has
// (simulation), and batches of more than k_most_shared_sequences.
MixedShares best_mixed_shares(const experiment::Settings& settings, const std::vector<AcceleratorGroup>& groups);

}  // namespace cairn::division
