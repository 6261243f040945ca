// Good choices without a proof: what published searches use, and what the exact one is compared with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cairn/choice/cost_network.h"

namespace cairn::choice {

struct Descent {
  std::vector<std::vector<Option>> starts = {};  // tried as they are, before the random ones
  std::size_t restarts = 10;                     // random starts
  std::uint64_t seed = 1;
};

// AutoDDL's search: the option of one vertex at a time is made the best while all others stay, sweep after sweep, until
// nothing changes; the best of all starts. With no start given, the first is that of the cheapest option of each vertex
// by itself. Never above the cost of any of `starts`.
// Source: J. Chen, S. Li, R. Guo, J. Yuan, T. Hoefler, "AutoDDL", 2023 (arXiv 2301.06813), section on coordinate descent.
Choice coordinate_descent(const CostNetwork& network, const Descent& descent);

struct Annealing {
  std::vector<Option> start = {};  // empty: random options
  std::size_t proposals = 100'000;
  // The temperature is this share of the cost at the start: a proposal that is worse by d is accepted with
  // exp(-d / temperature).
  double temperature = 1e-3;
  std::uint64_t seed = 1;
};

// FlexFlow's search: Markov chain Monte Carlo over single changes, accepted by Metropolis' rule; the best choice met.
// Source: Z. Jia, M. Zaharia, A. Aiken, "Beyond Data and Model Parallelism for Deep Neural Networks", 2019, section 6.
Choice anneal(const CostNetwork& network, const Annealing& annealing);

}  // namespace cairn::choice
