// The least F of a cost network, exactly, by eliminating one vertex after another (dynamic programming).
//
//   R_v(phi) = min over x of  c_v[x] + sum over later neighbours u of c_vu[x, phi_u]
//                             + sum of R_w(phi, x) over the vertices w eliminated before that depend on v
//
// phi: options of D(v), the vertices that v depends on: those that come later in the order and are joined to v by an
// edge or through vertices that came before it. The answer is the sum of R_v over the vertices with an empty D(v), one
// for each connected part. A vertex costs the product of the options of v and of D(v), so that the order decides.
// Source: V. Elango, "PaSE: Parallelization Strategies for Efficient DNN Training", IPDPS 2021, theorems 1 and 2.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "cairn/choice/cost_network.h"

namespace cairn::choice {

// PaSE's GenerateSeq: next comes the vertex that would depend on the fewest others, the first of them on ties.
std::vector<Vertex> fewest_dependents_order(const CostNetwork& network);
// By distance from vertex 0; parts that are not connected to it follow, each from its first vertex.
std::vector<Vertex> breadth_first_order(const CostNetwork& network);

// What an order costs, before anything is computed.
struct Effort {
  std::size_t most_dependents = 0;  // max |D(v)|
  double most_combinations = 0.0;   // max over v of the options of v and D(v), multiplied
  double combinations = 0.0;        // their sum
};
Effort effort(const CostNetwork& network, std::span<const Vertex> order);

// D(v) of every vertex, ascending, in the order of `order`.
std::vector<std::vector<Vertex>> dependents(const CostNetwork& network, std::span<const Vertex> order);

// Told before every vertex: how many combinations were looked at, and how many there are.
using EliminationProgress = std::function<void(double done, double of)>;

// `order`: every vertex once. The first of equal options is taken. Memory: 12 bytes for each combination of the options
// of D(v), of all v together; time in proportion to effort().combinations.
Choice eliminate(const CostNetwork& network, std::span<const Vertex> order, const EliminationProgress& progress = {});

}  // namespace cairn::choice
