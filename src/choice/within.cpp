#include "cairn/choice/within.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "cairn/choice/elimination.h"
#include "cairn/core/assert.h"

namespace cairn::choice {
namespace {

// Prices tried, at most: each finds a new corner of the hull of (weight, cost), which has few.
constexpr int k_most_prices = 64;
constexpr double k_same = 1e-12;

// Infinity stays, whatever its share.
std::vector<double> scaled(std::vector<double> costs, double share) {
  for (double& each : costs)
    if (share != 0.0 || std::isfinite(each)) each *= share;
  return costs;
}

void add_scaled_edges(CostNetwork& to, const CostNetwork& from, double share) {
  for (const Edge& each : from.edges()) to.add_edge(each.first, each.second, scaled(each.costs, share));
}

class Hull {
 public:
  Hull(const CostNetwork& costs, const CostNetwork& weights, const EliminationProgress& progress)
      : costs_(costs), weights_(weights), progress_(progress) {
    CAIRN_ASSERT(costs.vertices() == weights.vertices());
  }

  struct Corner {
    Choice choice;  // with its cost F
    double weight = 0.0;
  };

  // The choice of least of_cost F + of_weight G.
  Corner least(double of_cost, double of_weight) const {
    CostNetwork sum;
    for (std::size_t v = 0; v < costs_.vertices(); ++v) {
      std::vector<double> both = scaled(costs_.costs(static_cast<Vertex>(v)), of_cost);
      const std::vector<double>& weight = weights_.costs(static_cast<Vertex>(v));
      CAIRN_ASSERT(both.size() == weight.size());
      for (std::size_t option = 0; option < both.size(); ++option) both[option] += of_weight * weight[option];
      sum.add_vertex(std::move(both));
    }
    add_scaled_edges(sum, costs_, of_cost);
    add_scaled_edges(sum, weights_, of_weight);
    Corner corner{.choice = eliminate(sum, fewest_dependents_order(sum), progress_)};
    corner.choice.cost = costs_.cost(corner.choice.options);
    corner.weight = weights_.cost(corner.choice.options);
    return corner;
  }

 private:
  const CostNetwork& costs_;
  const CostNetwork& weights_;
  const EliminationProgress& progress_;
};

}  // namespace

std::optional<Within> least_within(const CostNetwork& costs, const CostNetwork& weights, double cap,
                                   const EliminationProgress& progress) {
  const Hull hull(costs, weights, progress);
  Hull::Corner above = hull.least(1.0, 0.0);
  const auto answer = [](const Hull::Corner& corner, double bound) {
    return Within{.best = corner.choice, .weight = corner.weight, .bound = bound};
  };
  if (above.weight <= cap) return answer(above, above.choice.cost);
  Hull::Corner below = hull.least(0.0, 1.0);
  if (below.weight > cap || !std::isfinite(below.choice.cost)) return std::nullopt;
  Hull::Corner best = below;
  double bound = above.choice.cost;
  for (int tried = 0; tried < k_most_prices; ++tried) {
    const double price = (below.choice.cost - above.choice.cost) / (above.weight - below.weight);
    if (!(price > 0.0)) break;
    const Hull::Corner next = hull.least(1.0, price);
    const double line = above.choice.cost + price * above.weight;
    const double least = next.choice.cost + price * next.weight;
    bound = std::max(bound, least - price * cap);
    if (next.weight <= cap && next.choice.cost < best.choice.cost) best = next;
    if (least >= line - k_same * std::abs(line)) break;
    (next.weight <= cap ? below : above) = next;
  }
  return answer(best, std::min(bound, best.choice.cost));
}

}  // namespace cairn::choice
