// What one rank does of a scheme on a grid, from its inputs to results that are held against dense attention, and its
// bytes against the closed folds of its list.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cairn/sequence/scheme.h"
#include "held_rows.h"
#include "wire.h"

namespace cairn::attention_mpi {

// The problem, its inputs and its exact results, alike on all ranks. A rank looks at no inputs but those it owns.
struct Reference {
  sequence::Problem problem = {};
  std::vector<sequence::Pass> passes = {};  // forward, or forward and backward
  double tolerance = 0.0;                   // of the largest error
  sequence::Tensors<float> inputs = {};
  sequence::Tensors<double> exact = {};
};
Reference make_reference(const sequence::Problem& problem, const std::vector<sequence::Pass>& passes, double tolerance);

struct PassOutcome {
  Traffic sent, received;
  // The largest difference from dense attention over the largest magnitude in any result of the pass.
  double largest_error = 0.0;
  std::vector<std::string> differences = {};  // from what they should be: bytes, results, rows that are left over
};

struct RankOutcome {
  std::vector<PassOutcome> passes = {};
  Fault fault = {};  // why the rank could not go on
};

RankOutcome run_rank(const Reference& reference, const sequence::Scheme& scheme, const sequence::Grid& grid,
                     std::int64_t rank);

}  // namespace cairn::attention_mpi
