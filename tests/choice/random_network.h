// Cost networks drawn at random, and their least cost by trying every choice.
#pragma once

#include <cstddef>
#include <vector>

#include "cairn/choice/cost_network.h"
#include "cairn/core/random.h"

namespace cairn::choice {

// Whole costs, so that sums are exact in any order.
inline std::vector<double> random_costs(std::size_t count, core::Random& random) {
  std::vector<double> costs(count);
  for (double& cost : costs) cost = static_cast<double>(random.below(1000));
  return costs;
}

inline CostNetwork random_network(std::size_t most_vertices, std::size_t most_options, core::Random& random) {
  CostNetwork network;
  const std::size_t vertices = 1 + random.below(most_vertices);
  for (std::size_t v = 0; v < vertices; ++v) network.add_vertex(random_costs(1 + random.below(most_options), random));
  const std::uint64_t density = 1 + random.below(4);
  for (Vertex u = 0; u < static_cast<Vertex>(vertices); ++u)
    for (Vertex v = 0; v < static_cast<Vertex>(vertices); ++v)  // both directions: parallel edges add up
      if (u != v && random.below(8) < density)
        network.add_edge(u, v, random_costs(network.options(u) * network.options(v), random));
  return network;
}

inline double least_of_all(const CostNetwork& network) {
  std::vector<Option> options(network.vertices(), 0);
  double least = network.cost(options);
  for (;;) {
    std::size_t v = 0;
    while (v < options.size() && ++options[v] == static_cast<Option>(network.options(static_cast<Vertex>(v))))
      options[v++] = 0;
    if (v == options.size()) return least;
    const double cost = network.cost(options);
    if (cost < least) least = cost;
  }
}

}  // namespace cairn::choice
