#include <string>

#include "cairn/choice/elimination.h"
#include "cairn/models/network.h"
#include "cairn/splits/autoddl.h"
#include "catch.h"

namespace cairn::splits {

TEST_CASE("Every network is placed on a mesh, and the exact choice is never above an expert's or descent's") {
  const Mesh mesh{{.name = "gpus",
                   .devices = 4,
                   .latency = core::Seconds::from_base(2e-6),
                   .bandwidth = core::BytesPerSecond::from_base(100e9)}};
  for (const std::string_view name : models::network_names()) {
    CAPTURE(name);
    const models::Network network = models::build_network(name, 32);
    const PlacementSetup setup{.mesh = mesh, .peak = core::FlopsPerSecond::from_base(100e12), .efficiency = 0.5};
    const PlacementProblem problem = placement_problem(network.graph, setup);
    REQUIRE(problem.operators.size() == network.graph.operators().size());
    const std::vector<choice::Vertex> order = choice::fewest_dependents_order(problem.costs);
    const choice::Choice exact = choice::eliminate(problem.costs, order);
    const choice::Choice descended = descend(problem, {.restarts = 1});
    CHECK(exact.cost <= descended.cost * (1.0 + 1e-12));
    for (const std::size_t tensor_axes : {0, 1}) {
      const std::vector<choice::Option> expert = expert_options(network.graph, problem, tensor_axes);
      CHECK(exact.cost <= problem.costs.cost(expert) * (1.0 + 1e-12));
      const PlacementAnswer explained = explain(network.graph, setup, problem, expert);
      CHECK(explained.total / core::Seconds::from_base(1.0) == Approx(problem.costs.cost(expert)).epsilon(1e-9));
    }
  }
}

}  // namespace cairn::splits
