// Discrete choices with costs of each and of pairs: a cost function network.
//
//   F(x) = sum over vertices v of c_v[x_v]  +  sum over edges (u, v) of c_uv[x_u, x_v],   x_v one of the options of v
//
// How a graph of operators is split over devices is such a choice: a vertex is an operator, an option one way to split
// it, an edge a tensor that one way of splitting hands to another. What is added up (FLOPs, seconds) is the caller's;
// an option that cannot be costs infinity.
//
// Example: two vertices of two options, c_0 = (1, 4), c_1 = (2, 0), c_01 = ((0, 5), (5, 0)): F(0, 0) = 3 is the least,
// F(1, 1) = 4, and the two mixed choices are 6 and 11.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cairn::choice {

using Vertex = std::int32_t;
using Option = std::int32_t;

struct Edge {
  Vertex first = 0;
  Vertex second = 0;
  std::vector<double> costs = {};  // costs[i * options(second) + j]
};

class CostNetwork {
 public:
  // `costs`: one per option, at least one.
  Vertex add_vertex(std::vector<double> costs);
  // `costs`: row by row, one row per option of `first`. Edges between the same two vertices add up to one.
  void add_edge(Vertex first, Vertex second, std::vector<double> costs);

  std::size_t vertices() const { return costs_.size(); }
  std::size_t options(Vertex vertex) const { return costs(vertex).size(); }
  const std::vector<double>& costs(Vertex vertex) const { return costs_[static_cast<std::size_t>(vertex)]; }
  const std::vector<Edge>& edges() const { return edges_; }
  // The edges that meet a vertex, as positions in edges().
  std::span<const std::size_t> edges_at(Vertex vertex) const { return edges_at_[static_cast<std::size_t>(vertex)]; }
  // Ascending.
  std::vector<Vertex> neighbours(Vertex vertex) const;

  // F of one option per vertex.
  double cost(std::span<const Option> options) const;
  // The part of F that the option of `vertex` decides while all others stay as they are in `options`.
  double cost_at(Vertex vertex, Option option, std::span<const Option> options) const;

 private:
  std::vector<std::vector<double>> costs_;
  std::vector<Edge> edges_;
  std::vector<std::vector<std::size_t>> edges_at_;
};

struct Choice {
  double cost = 0.0;
  std::vector<Option> options = {};  // one per vertex
};

}  // namespace cairn::choice
