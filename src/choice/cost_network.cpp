#include "cairn/choice/cost_network.h"

#include <algorithm>
#include <utility>

#include "cairn/core/assert.h"

namespace cairn::choice {

Vertex CostNetwork::add_vertex(std::vector<double> costs) {
  CAIRN_ASSERT(!costs.empty());
  costs_.push_back(std::move(costs));
  edges_at_.emplace_back();
  return static_cast<Vertex>(costs_.size()) - 1;
}

void CostNetwork::add_edge(Vertex first, Vertex second, std::vector<double> costs) {
  CAIRN_ASSERT(first != second && costs.size() == options(first) * options(second));
  const std::size_t width = options(second);
  for (const std::size_t each : edges_at(first)) {
    Edge& edge = edges_[each];
    if (edge.first != second && edge.second != second) continue;
    const bool turned = edge.first == second;
    for (std::size_t i = 0; i < options(first); ++i)
      for (std::size_t j = 0; j < width; ++j)
        edge.costs[turned ? j * options(first) + i : i * width + j] += costs[i * width + j];
    return;
  }
  edges_at_[static_cast<std::size_t>(first)].push_back(edges_.size());
  edges_at_[static_cast<std::size_t>(second)].push_back(edges_.size());
  edges_.push_back({.first = first, .second = second, .costs = std::move(costs)});
}

std::vector<Vertex> CostNetwork::neighbours(Vertex vertex) const {
  std::vector<Vertex> result;
  for (const std::size_t each : edges_at(vertex))
    result.push_back(edges_[each].first == vertex ? edges_[each].second : edges_[each].first);
  std::sort(result.begin(), result.end());
  return result;
}

double CostNetwork::cost(std::span<const Option> options) const {
  CAIRN_ASSERT(options.size() == vertices());
  double total = 0.0;
  for (std::size_t v = 0; v < costs_.size(); ++v) total += costs_[v][static_cast<std::size_t>(options[v])];
  for (const Edge& edge : edges_) {
    const auto i = static_cast<std::size_t>(options[static_cast<std::size_t>(edge.first)]);
    const auto j = static_cast<std::size_t>(options[static_cast<std::size_t>(edge.second)]);
    total += edge.costs[i * this->options(edge.second) + j];
  }
  return total;
}

double CostNetwork::cost_at(Vertex vertex, Option option, std::span<const Option> options) const {
  const auto own = static_cast<std::size_t>(option);
  double total = costs(vertex)[own];
  for (const std::size_t each : edges_at(vertex)) {
    const Edge& edge = edges_[each];
    const bool first = edge.first == vertex;
    const auto other = static_cast<std::size_t>(options[static_cast<std::size_t>(first ? edge.second : edge.first)]);
    const std::size_t width = this->options(edge.second);
    total += edge.costs[first ? own * width + other : other * width + own];
  }
  return total;
}

}  // namespace cairn::choice
