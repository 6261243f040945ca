#include "cairn/choice/within.h"

#include <limits>
#include <optional>
#include <vector>

#include "catch.h"
#include "random_network.h"

namespace cairn::choice {
namespace {

// Another network over the same vertices, options and edges.
CostNetwork redrawn(const CostNetwork& like, core::Random& random) {
  CostNetwork result;
  for (std::size_t v = 0; v < like.vertices(); ++v)
    result.add_vertex(random_costs(like.options(static_cast<Vertex>(v)), random));
  for (const Edge& edge : like.edges())
    result.add_edge(edge.first, edge.second, random_costs(edge.costs.size(), random));
  return result;
}

// The least cost within the cap, and the least weight, by trying every choice.
struct Tried {
  std::optional<double> least;
  double lightest = std::numeric_limits<double>::infinity();
  double heaviest = 0.0;
};

Tried try_all(const CostNetwork& costs, const CostNetwork& weights, double cap) {
  Tried result;
  std::vector<Option> options(costs.vertices(), 0);
  for (;;) {
    const double weight = weights.cost(options), cost = costs.cost(options);
    result.lightest = std::min(result.lightest, weight);
    result.heaviest = std::max(result.heaviest, weight);
    if (weight <= cap && (!result.least || cost < *result.least)) result.least = cost;
    std::size_t v = 0;
    while (v < options.size() && ++options[v] == static_cast<Option>(costs.options(static_cast<Vertex>(v))))
      options[v++] = 0;
    if (v == options.size()) return result;
  }
}

}  // namespace

TEST_CASE("The example of within.h") {
  CostNetwork costs, weights;
  costs.add_vertex({1, 4, 10});
  weights.add_vertex({8, 3, 0});
  const std::optional<Within> found = least_within(costs, weights, 5.0);
  REQUIRE(found);
  CHECK(found->best.cost == 4.0);
  CHECK(found->weight == 3.0);
  CHECK(found->bound == Approx(2.8));
  CHECK_FALSE(least_within(costs, weights, -1.0));
}

TEST_CASE("The least within a cap lies between the bound and the answer") {
  core::Random random(21);
  int within = 0, exact = 0, tight = 0, none = 0;
  for (int i = 0; i < 3000; ++i) {
    const CostNetwork costs = random_network(6, 4, random), weights = redrawn(costs, random);
    const Tried range = try_all(costs, weights, 0.0);
    const double cap = range.lightest + (random.uniform() * 1.4 - 0.2) * (range.heaviest - range.lightest);
    const Tried tried = try_all(costs, weights, cap);
    const std::optional<Within> found = least_within(costs, weights, cap);
    REQUIRE(found.has_value() == tried.least.has_value());
    if (!found) {
      ++none;
      continue;
    }
    ++within;
    REQUIRE(found->weight <= cap);
    REQUIRE(found->weight == weights.cost(found->best.options));
    REQUIRE(found->best.cost == costs.cost(found->best.options));
    REQUIRE(found->bound <= *tried.least * (1.0 + 1e-12));
    REQUIRE(*tried.least <= found->best.cost);
    exact += *tried.least == found->best.cost ? 1 : 0;
    tight += found->bound >= found->best.cost * (1.0 - 1e-12) ? 1 : 0;
    if (cap >= range.heaviest) REQUIRE(found->bound == found->best.cost);
  }
  CAPTURE(within, exact, tight, none);
  CHECK(within > 1500);
  CHECK(none > 100);
  CHECK(exact > within / 2);
  CHECK(tight < within);  // some caps bind
}

TEST_CASE("Costs and weights may be of different pairs") {
  core::Random random(23);
  for (int i = 0; i < 300; ++i) {
    // Every other edge of each, turned around in one of them.
    const CostNetwork whole = random_network(6, 3, random);
    CostNetwork costs, weights;
    for (std::size_t v = 0; v < whole.vertices(); ++v)
      for (CostNetwork* each : {&costs, &weights})
        each->add_vertex(random_costs(whole.options(static_cast<Vertex>(v)), random));
    for (std::size_t e = 0; e < whole.edges().size(); ++e) {
      const Edge& edge = whole.edges()[e];
      if (e % 3 != 0) costs.add_edge(edge.first, edge.second, random_costs(edge.costs.size(), random));
      if (e % 3 != 1) weights.add_edge(edge.second, edge.first, random_costs(edge.costs.size(), random));
    }
    const Tried range = try_all(costs, weights, 0.0);
    const double cap = range.lightest + random.uniform() * (range.heaviest - range.lightest);
    const Tried tried = try_all(costs, weights, cap);
    std::size_t steps = 0;
    const std::optional<Within> found = least_within(costs, weights, cap, [&](double, double) { ++steps; });
    REQUIRE(found);
    REQUIRE(steps >= costs.vertices());
    REQUIRE(found->weight == weights.cost(found->best.options));
    REQUIRE(found->weight <= cap);
    REQUIRE(found->bound <= *tried.least * (1.0 + 1e-12));
    REQUIRE(*tried.least <= found->best.cost);
  }
}

TEST_CASE("The bound of a wider cap is never above the answer of a narrower one") {
  core::Random random(22);
  for (int i = 0; i < 300; ++i) {
    const CostNetwork costs = random_network(6, 4, random), weights = redrawn(costs, random);
    const Tried range = try_all(costs, weights, 0.0);
    const double narrow = range.lightest + 0.3 * (range.heaviest - range.lightest);
    const auto first = least_within(costs, weights, narrow), second = least_within(costs, weights, 2.0 * narrow);
    REQUIRE((first && second));
    REQUIRE(second->bound <= first->best.cost * (1.0 + 1e-12));
  }
}

}  // namespace cairn::choice
