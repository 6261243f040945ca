#include "cairn/choice/descent.h"

#include "cairn/choice/elimination.h"
#include "catch.h"
#include "random_network.h"

namespace cairn::choice {

TEST_CASE("Descent and annealing are never below the exact least, and say what their choice costs") {
  core::Random random(3);
  for (int i = 0; i < 500; ++i) {
    const CostNetwork network = random_network(8, 6, random);
    const double least = eliminate(network, fewest_dependents_order(network)).cost;
    const Choice descended = coordinate_descent(network, {.restarts = 3, .seed = random.next()});
    const Choice annealed = anneal(network, {.proposals = 300, .temperature = 0.05, .seed = random.next()});
    for (const Choice& each : {descended, annealed}) {
      REQUIRE(each.cost >= least);
      REQUIRE(each.cost == network.cost(each.options));
    }
    // Nothing that changes a single option is cheaper than where descent ends.
    for (std::size_t v = 0; v < network.vertices(); ++v)
      for (std::size_t x = 0; x < network.options(static_cast<Vertex>(v)); ++x) {
        std::vector<Option> other = descended.options;
        other[v] = static_cast<Option>(x);
        REQUIRE(network.cost(other) >= descended.cost);
      }
  }
}

TEST_CASE("Descent is never above the starts that it is given") {
  core::Random random(4);
  for (int i = 0; i < 200; ++i) {
    const CostNetwork network = random_network(8, 6, random);
    const std::vector<Option> start(network.vertices(), 0);
    REQUIRE(coordinate_descent(network, {.starts = {start}, .restarts = 0}).cost <= network.cost(start));
  }
}

TEST_CASE("Annealing that goes on finds the least of small networks") {
  core::Random random(5);
  for (int i = 0; i < 50; ++i) {
    const CostNetwork network = random_network(5, 4, random);
    const double least = eliminate(network, fewest_dependents_order(network)).cost;
    REQUIRE(anneal(network, {.proposals = 20'000, .temperature = 0.1, .seed = random.next()}).cost == least);
  }
}

}  // namespace cairn::choice
