#include "cairn/choice/elimination.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "catch.h"
#include "random_network.h"

namespace cairn::choice {
namespace {

// D(i) by its meaning: neighbours, among the later vertices, of the part that vertex i is connected to within the first
// i vertices of the order.
std::vector<Vertex> dependents_by_meaning(const CostNetwork& network, const std::vector<Vertex>& order, std::size_t i) {
  const std::set<Vertex> first(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  std::set<Vertex> part = {order[i]}, found;
  std::vector<Vertex> to_do = {order[i]};
  while (!to_do.empty()) {
    const Vertex vertex = to_do.back();
    to_do.pop_back();
    for (const Vertex each : network.neighbours(vertex)) {
      if (first.count(each) == 0)
        found.insert(each);
      else if (part.insert(each).second)
        to_do.push_back(each);
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace

// By hand: c_0 = (1, 4), c_1 = (2, 0), c_01 = ((0, 5), (5, 0)).
TEST_CASE("The example of the header") {
  CostNetwork network;
  network.add_vertex({1, 4});
  network.add_vertex({2, 0});
  network.add_edge(0, 1, {0, 5, 5, 0});
  const Choice choice = eliminate(network, fewest_dependents_order(network));
  CHECK(choice.cost == 3.0);
  CHECK(choice.options == std::vector<Option>{0, 0});
  CHECK(network.cost(std::vector<Option>{1, 0}) == 11.0);
  CHECK(network.cost_at(1, 1, std::vector<Option>{0, 0}) == 5.0);
}

TEST_CASE("Elimination finds what trying every choice finds, in three orders, on 10,000 random networks") {
  core::Random random(20261127);
  for (int i = 0; i < 10'000; ++i) {
    const CostNetwork network = random_network(7, 5, random);
    const double least = least_of_all(network);
    std::vector<Vertex> shuffled = breadth_first_order(network);
    for (std::size_t v = shuffled.size(); v > 1; --v) std::swap(shuffled[v - 1], shuffled[random.below(v)]);
    for (const std::vector<Vertex>& order :
         {fewest_dependents_order(network), breadth_first_order(network), shuffled}) {
      const Choice choice = eliminate(network, order);
      REQUIRE(choice.cost == least);
      REQUIRE(network.cost(choice.options) == least);
    }
  }
}

TEST_CASE("What a vertex depends on are the later neighbours of the part that it closes") {
  core::Random random(7);
  for (int i = 0; i < 500; ++i) {
    const CostNetwork network = random_network(20, 2, random);
    for (const std::vector<Vertex>& order : {fewest_dependents_order(network), breadth_first_order(network)}) {
      const std::vector<std::vector<Vertex>> found = dependents(network, order);
      for (std::size_t v = 0; v < order.size(); ++v) REQUIRE(found[v] == dependents_by_meaning(network, order, v));
    }
  }
}

// A chain of n vertices with k options: k^2 combinations each but for the last, which has k.
TEST_CASE("The effort of an order") {
  CostNetwork network;
  for (int v = 0; v < 6; ++v) network.add_vertex({0, 1, 2});
  for (Vertex v = 1; v < 6; ++v) network.add_edge(v - 1, v, std::vector<double>(9, 0.0));
  const Effort chain = effort(network, fewest_dependents_order(network));
  CHECK(chain.most_dependents == 1);
  CHECK(chain.most_combinations == 9.0);
  CHECK(chain.combinations == 5 * 9.0 + 3.0);
  // From the middle on: the first vertex depends on both its neighbours.
  CHECK(effort(network, std::vector<Vertex>{2, 0, 1, 3, 4, 5}).most_combinations == 27.0);
}

}  // namespace cairn::choice
