#include "cairn/choice/descent.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cairn/core/random.h"

namespace cairn::choice {
namespace {

std::vector<Option> random_options(const CostNetwork& network, core::Random& random) {
  std::vector<Option> options(network.vertices());
  for (std::size_t v = 0; v < options.size(); ++v)
    options[v] = static_cast<Option>(random.below(network.options(static_cast<Vertex>(v))));
  return options;
}

std::vector<Option> cheapest_alone(const CostNetwork& network) {
  std::vector<Option> options(network.vertices());
  for (std::size_t v = 0; v < options.size(); ++v) {
    const std::vector<double>& costs = network.costs(static_cast<Vertex>(v));
    options[v] = static_cast<Option>(std::min_element(costs.begin(), costs.end()) - costs.begin());
  }
  return options;
}

// A change is one that pays by more than rounding, so that sweeps end.
bool improve(const CostNetwork& network, std::vector<Option>& options) {
  constexpr double k_rounding = 1e-12;
  bool changed = false;
  for (std::size_t v = 0; v < options.size(); ++v) {
    const auto vertex = static_cast<Vertex>(v);
    double least = network.cost_at(vertex, options[v], options);
    const double pays = least - k_rounding * std::abs(least);
    for (std::size_t x = 0; x < network.options(vertex); ++x) {
      const double cost = network.cost_at(vertex, static_cast<Option>(x), options);
      if (cost >= least || !(cost < pays)) continue;
      least = cost;
      options[v] = static_cast<Option>(x);
      changed = true;
    }
  }
  return changed;
}

}  // namespace

Choice coordinate_descent(const CostNetwork& network, const Descent& descent) {
  core::Random random(descent.seed);
  std::vector<std::vector<Option>> starts = descent.starts;
  if (starts.empty()) starts.push_back(cheapest_alone(network));
  for (std::size_t i = 0; i < descent.restarts; ++i) starts.push_back(random_options(network, random));
  Choice best;
  for (std::vector<Option>& options : starts) {
    while (improve(network, options)) {
    }
    const double cost = network.cost(options);
    if (best.options.size() != network.vertices() || cost < best.cost)
      best = {.cost = cost, .options = std::move(options)};
  }
  return best;
}

Choice anneal(const CostNetwork& network, const Annealing& annealing) {
  core::Random random(annealing.seed);
  std::vector<Option> options = annealing.start.empty() ? random_options(network, random) : annealing.start;
  double cost = network.cost(options);
  Choice best{.cost = cost, .options = options};
  const double temperature = annealing.temperature * cost;
  for (std::size_t i = 0; i < annealing.proposals && network.vertices() > 0; ++i) {
    const auto vertex = static_cast<Vertex>(random.below(network.vertices()));
    const auto proposed = static_cast<Option>(random.below(network.options(vertex)));
    Option& current = options[static_cast<std::size_t>(vertex)];
    const double worse = network.cost_at(vertex, proposed, options) - network.cost_at(vertex, current, options);
    if (!(worse <= 0.0) && !(random.uniform() < std::exp(-worse / temperature))) continue;
    current = proposed;
    cost = std::isfinite(cost) ? cost + worse : network.cost(options);
    if (cost < best.cost) best = {.cost = cost, .options = options};
  }
  best.cost = network.cost(best.options);
  return best;
}

}  // namespace cairn::choice
