// Cuts of a graph by maximum flows (Boost.Graph). Bandwidths enter as whole bytes per second.
#pragma once

#include <cstdint>
#include <vector>

#include "cairn/topology/topology.h"

namespace cairn::topology {

class GraphCuts {
 public:
  GraphCuts(std::int64_t nodes, std::int64_t endpoints, const std::vector<Link>& links)
      : nodes_(nodes), endpoints_(endpoints), links_(links) {}

  // Least maximum flow, either way, between floor(P/2) endpoints and the others: exact for up to k_exact endpoints,
  // else the least over halves in the order of numbers and halves grown around each of up to k_seeds endpoints.
  // [byte/s]
  double bisection() const;
  // Least bandwidth out of any set of endpoints that is not all: a cut between endpoint 0 and some other. [byte/s]
  double narrowest() const;

  static constexpr std::int64_t k_exact = 12;
  static constexpr std::int64_t k_seeds = 32;

 private:
  // Maximum flow from the endpoints of one set to those of another; the rest pass on.
  double flow(const std::vector<bool>& in_first, const std::vector<bool>& in_second) const;
  double both_ways(const std::vector<bool>& half) const;
  std::vector<bool> half_around(NodeId seed) const;

  std::int64_t nodes_;
  std::int64_t endpoints_;
  const std::vector<Link>& links_;
};

}  // namespace cairn::topology
