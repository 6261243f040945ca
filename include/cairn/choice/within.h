// The least F among choices whose weight is at most a cap, and how far below the least may be: a Lagrangian bound.
//
//   min F(x)  with  G(x) <= cap,   F and G cost networks over the same vertices and options
//   L(p) = min over x of F(x) + p (G(x) - cap)  <=  least F within the cap,   for every price p >= 0
//
// L is found by elimination (elimination.h). Where the weight of the choice at one price is above the cap and at
// another below it, the next price is the one at which both cost the same; the bound grows until no choice lies below
// that line. Of the choices met the best within the cap is the answer. With the cap met at p = 0 it is exact; else it
// is above the least by at most F - bound, a gap that choices between the corners of the hull leave.
//
// Example: options (F, G) = (1, 8), (4, 3), (10, 0) and the cap 5: bound 2.8, answer 4.
// Source: R. Fisher, "The Lagrangian Relaxation Method for Solving Integer Programming Problems", Management Science 27,
// 1981.
#pragma once

#include <optional>

#include "cairn/choice/cost_network.h"
#include "cairn/choice/elimination.h"

namespace cairn::choice {

struct Within {
  Choice best = {};
  double weight = 0.0;  // G of it, at most the cap
  double bound = 0.0;   // no choice within the cap costs less
};

// `costs` and `weights`: networks of the same vertices and options, each with edges of its own. Infinity is a cost, and
// no weight. `progress`: of every elimination, one after another. Nothing where no choice is within the cap.
std::optional<Within> least_within(const CostNetwork& costs, const CostNetwork& weights, double cap,
                                   const EliminationProgress& progress = {});

}  // namespace cairn::choice
