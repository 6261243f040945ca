#include <set>
#include <string>

#include "cairn/choice/elimination.h"
#include "cairn/models/network.h"
#include "cairn/splits/autoddl.h"
#include "catch.h"
#include "linked_mesh.h"

namespace cairn::splits {

TEST_CASE("Every network is placed on a mesh, and the exact choice is never above an expert's or descent's") {
  LinkedMesh mesh({linked("gpus", 4, 2e-6, 100e9)}, 50e12);
  const PlacementSetup setup = mesh.setup();
  for (const std::string_view name : models::network_names()) {
    CAPTURE(name);
    const models::Network network = models::build_network(name, 32);
    const PlacementProblem problem = placement_problem(network.graph, setup);
    REQUIRE(problem.operators.size() == network.graph.operators().size());
    const std::vector<choice::Vertex> order = choice::fewest_dependents_order(problem.costs);
    const choice::Choice exact = choice::eliminate(problem.costs, order);
    const choice::Choice descended = descend(problem, {.restarts = 1});
    CHECK(exact.cost <= descended.cost * (1.0 + 1e-12));
    for (const std::size_t tensor_axes : {0, 1}) {
      const std::vector<choice::Option> expert = expert_options(problem, tensor_axes);
      CHECK(exact.cost <= problem.costs.cost(expert) * (1.0 + 1e-12));
      const PlacementAnswer explained = explain(problem, setup, expert);
      CHECK(static_cast<double>(explained.total) == problem.costs.cost(expert));
    }
  }
}

TEST_CASE("Of every network one device keeps each parameter with its gradient, and each saved tensor, once") {
  LinkedMesh mesh({linked("gpus", 1, 2e-6, 100e9)}, 50e12);
  for (const std::string_view name : models::network_names()) {
    CAPTURE(name);
    const PlacementProblem problem = placement_problem(models::build_network(name, 32).graph, mesh.setup());
    const ir::Graph& graph = *problem.graph;
    const auto bytes = [&](ir::TensorId id) {
      return static_cast<double>(graph.tensor(id).elements({})) * numerics::bytes_per_element(graph.tensor(id).format);
    };
    double sum = 0.0;
    std::set<ir::TensorId> parameters;
    for (const ir::Operator& op : graph.operators())
      for (const ir::Access& access : op.accesses)
        if (graph.tensor(access.tensor).role == ir::Role::parameter && parameters.insert(access.tensor).second)
          sum += 2.0 * bytes(access.tensor);
    for (const ir::TensorId id : graph.saved()) sum += bytes(id);
    CHECK(problem.memory.cost(std::vector<choice::Option>(problem.operators.size(), 0)) == sum);
  }
}

}  // namespace cairn::splits
