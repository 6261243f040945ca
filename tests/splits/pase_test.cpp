#include "cairn/splits/pase.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "cairn/core/diagnostics.h"
#include "cairn/models/network.h"
#include "cairn/splits/search.h"
#include "catch.h"

namespace cairn::splits {
namespace {

SplitProblem problem_of(const std::string& name, std::int64_t batch, std::int64_t devices) {
  const models::Network network = models::build_network(name, batch);
  return pase_problem(network.graph, {.devices = devices, .least_extent = usual_least_extent(network.graph)});
}

struct Published {
  const char* graph;
  std::int64_t batch;
  std::int64_t devices;
  double cost;
};

std::vector<std::int64_t> split_of(const SplitProblem& problem, const SplitAnswer& answer, const std::string& name) {
  for (std::size_t i = 0; i < problem.operators.size(); ++i) {
    if (problem.operators[i].name != name) continue;
    const Split& split = problem.operators[i].splits[static_cast<std::size_t>(answer.best.options[i])];
    return {split.begin(), split.end()};
  }
  return {};
}

}  // namespace

// Totals that the author's prototype (github.com/baidu-research/PaSE at 32aa761) prints for these sizes.
TEST_CASE("PaSE's costs are those of its prototype") {
  const std::vector<Published> k_published{{"alexnet", 128, 4, 148215719552.0},
                                           {"alexnet", 128, 8, 97098296512.0},
                                           {"alexnet", 128, 16, 70320712672.0},
                                           {"alexnet", 128, 32, 53136349552.0},
                                           {"alexnet", 128, 64, 41120456048.0},
                                           {"alexnet", 96, 24, 52308681600.0},
                                           {"alexnet", 60, 12, 54772830360.0},
                                           {"rnnlm", 64, 4, 6866837733376.0},
                                           {"rnnlm", 64, 16, 2476066881536.0},
                                           {"rnnlm", 96, 24, 2575381228202.67},
                                           {"rnnlm", 36, 6, 3289647537493.33},
                                           {"inceptionv3", 128, 4, 986757044608.0},
                                           {"inceptionv3", 128, 8, 782140602432.0},
                                           {"transformer-small", 64, 4, 2189181321216.0},
                                           {"transformer-small", 60, 6, 1692596725760.0},
                                           {"inceptionv3", 96, 12, 661091027946.67},
                                           {"inceptionv3", 48, 6, 609556829962.67}};
  for (const Published& each : k_published) {
    CAPTURE(each.graph, each.batch, each.devices);
    const SplitProblem problem = problem_of(each.graph, each.batch, each.devices);
    const SplitAnswer answer = search(problem, Method::pase);
    CHECK(answer.best.cost == Approx(each.cost).epsilon(1e-12).margin(0.005));  // printed to two digits
    CHECK(answer.proven);
  }
}

// Of the same prototype: the batch of every operator over all devices.
TEST_CASE("Data parallelism costs what the prototype says") {
  const std::map<std::int64_t, double> k_published{
      {4, 577556866496.0}, {8, 601108833248.0}, {16, 612884816624.0}, {32, 618772808312.0}};
  for (const auto& [devices, cost] : k_published) {
    const SplitProblem problem = problem_of("alexnet", 128, devices);
    CHECK(problem.costs.cost(data_parallel(problem)) == Approx(cost).epsilon(1e-12));
  }
}

// Convolutions over the batch, the last two over their input channels, too; of the dense layers outputs and inputs by
// turns, so that what one makes lies where the next one wants it. So the prototype prints it, and so does Table II of
// the paper but for conv4, which has (32, 1, ...) there. By the prototype's rules that costs more, as the last line
// shows: the table is not of the costs that the prototype has today.
TEST_CASE("AlexNet on 32 devices is split as published") {
  const SplitProblem problem = problem_of("alexnet", 128, 32);
  const SplitAnswer answer = search(problem, Method::pase);
  using List = std::vector<std::int64_t>;
  for (const char* name : {"conv1", "conv2", "conv3"}) {
    CAPTURE(name);
    CHECK(split_of(problem, answer, name) == List{32, 1, 1, 1, 1, 1, 1});
  }
  CHECK(split_of(problem, answer, "conv4") == List{16, 2, 1, 1, 1, 1, 1});
  CHECK(split_of(problem, answer, "conv5") == List{16, 2, 1, 1, 1, 1, 1});
  CHECK(split_of(problem, answer, "fc6") == List{1, 4, 8});
  CHECK(split_of(problem, answer, "fc7") == List{1, 8, 4});
  CHECK(split_of(problem, answer, "fc8") == List{1, 4, 8});
  CHECK(split_of(problem, answer, "loss") == List{1, 4});
  std::vector<choice::Option> table = answer.best.options;
  const auto conv4 = static_cast<std::size_t>(std::find_if(problem.operators.begin(), problem.operators.end(),
                                                           [](const SplitOperator& op) { return op.name == "conv4"; }) -
                                              problem.operators.begin());
  const std::vector<Split>& splits = problem.operators[conv4].splits;
  table[conv4] = static_cast<choice::Option>(std::find(splits.begin(), splits.end(), Split{32, 1, 1, 1, 1, 1, 1}) -
                                             splits.begin());
  CHECK(problem.costs.cost(table) > answer.best.cost * 1.02);
}

// The prototype's counts of nodes and of configurations; the paper's of combinations (section IV).
TEST_CASE("Graphs have the prototype's nodes, and its order few combinations") {
  const std::map<std::string, std::size_t> k_nodes{
      {"alexnet", 14}, {"inceptionv3", 219}, {"rnnlm", 4}, {"transformer-small", 204}};
  for (const auto& [name, nodes] : k_nodes) {
    CAPTURE(name);
    CHECK(problem_of(name, 64, 4).operators.size() == nodes);
  }
  const std::map<std::int64_t, std::size_t> k_alexnet{{4, 12}, {8, 28}, {16, 56}, {32, 100}, {64, 163}};
  for (const auto& [devices, configurations] : k_alexnet) {
    std::size_t most = 0;
    for (const SplitOperator& op : problem_of("alexnet", 128, devices).operators)
      most = std::max(most, op.splits.size());
    CHECK(most == configurations);
  }
  const SplitProblem inception = problem_of("inceptionv3", 128, 8);
  const choice::Effort effort = choice::effort(inception.costs, choice::fewest_dependents_order(inception.costs));
  CHECK(effort.most_combinations <= 25'200.0);
  CHECK(effort.most_dependents <= 2);
}

TEST_CASE("Random and greedy searches are never below the exact one, whatever the network") {
  for (const std::string_view name : models::network_names()) {
    CAPTURE(name);
    const SplitProblem problem = problem_of(std::string(name), 32, 4);
    const double exact = search(problem, Method::pase).best.cost;
    for (const Method method : {Method::autoddl, Method::flexflow}) {
      const SplitAnswer found = search(problem, method);
      CHECK(found.best.cost >= exact * (1.0 - 1e-12));
      CHECK(found.best.cost <= found.data_parallel);
      CHECK_FALSE(found.proven);
    }
    // More devices are never worse: each may stay idle.
    CHECK(search(problem_of(std::string(name), 32, 8), Method::pase).best.cost <= exact * (1.0 + 1e-12));
  }
}

TEST_CASE("Operators that PaSE has no rule for are listed, all at once") {
  ir::Graph graph;
  ir::Tensor tensor;
  tensor.name = "x";
  tensor.dims.push_back({.name = "n", .extent = loopnest::Extent::of(4)});
  const ir::TensorId x = graph.add_tensor(tensor), y = graph.add_tensor(tensor);
  for (const char* name : {"first", "second"}) {
    ir::Operator op;
    op.name = name;
    op.kind = ir::Kind::scatter;
    op.domain.add("n", loopnest::Extent::of(4));
    op.accesses.push_back({.tensor = x, .projection = loopnest::projection_of({0})});
    op.accesses.push_back({.tensor = y, .projection = loopnest::projection_of({0}), .mode = ir::Mode::write});
    graph.add_operator(op);
  }
  try {
    pase_problem(graph, {});
    FAIL("accepted");
  } catch (const core::ConfigurationError& error) {
    CHECK(error.diagnostics().size() == 2);
  }
}

}  // namespace cairn::splits
