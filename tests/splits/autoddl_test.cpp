#include "cairn/splits/autoddl.h"

#include <algorithm>
#include <limits>
#include <map>

#include "cairn/choice/descent.h"
#include "cairn/choice/elimination.h"
#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "catch.h"
#include "small_graph.h"

namespace cairn::splits {
namespace {

using choice::CostNetwork;
using choice::Option;

MeshAxis linked(const char* name, std::int64_t devices, double latency_s, double bytes_per_second) {
  return {.name = name,
          .devices = devices,
          .latency = core::Seconds::from_base(latency_s),
          .bandwidth = core::BytesPerSecond::from_base(bytes_per_second)};
}

PlacementSetup machine(Mesh mesh, double flops_per_second) {
  return {.mesh = std::move(mesh), .peak = core::FlopsPerSecond::from_base(flops_per_second)};
}

// 2 nodes of 4 devices: 10 GB/s between nodes, 100 GB/s inside, 10 TFLOP/s a device.
PlacementSetup two_nodes() { return machine({linked("node", 2, 5e-6, 10e9), linked("gpu", 4, 2e-6, 100e9)}, 10e12); }

// What comes before and after are element-wise operators, so that gradients flow through both ends.
SmallGraph two_layers(std::int64_t batch, std::int64_t width, std::int64_t inner) {
  SmallGraph result;
  const ir::TensorId x = add_pointwise(result, "first", result.tensor("in", {{"b", batch}, {"n", width}}));
  const ir::TensorId hidden = add_pointwise(result, "relu", add_dense(result, "fc1", x, batch, inner, width));
  add_pointwise(result, "last", add_dense(result, "fc2", hidden, batch, width, inner));
  return result;
}

SmallGraph vgg_like(std::int64_t batch) {
  SmallGraph result;
  ir::TensorId x = result.tensor("images", {{"b", batch}, {"c", 64}, {"h", 56}, {"w", 56}});
  for (const char* name : {"conv1", "conv2", "conv3"})
    x = add_pointwise(result, name + std::string(".relu"), add_convolution(result, name, x, 64));
  x = add_flatten(result, "flatten", x);
  const std::int64_t positions = 56 * 56;
  x = add_pointwise(result, "fc1.relu", add_dense(result, "fc1", x, batch, 4096, 64 * positions));
  x = add_pointwise(result, "fc2.relu", add_dense(result, "fc2", x, batch, 4096, 4096));
  add_dense(result, "fc3", x, batch, 1024, 4096);
  return result;
}

choice::Choice least(const PlacementProblem& problem) {
  return choice::eliminate(problem.costs, choice::fewest_dependents_order(problem.costs));
}

std::map<std::string, std::string> texts_of(const PlacementProblem& problem, const std::vector<Option>& options) {
  std::map<std::string, std::string> result;
  for (std::size_t i = 0; i < options.size(); ++i)
    result[problem.operators[i].name] = problem.operators[i].texts[static_cast<std::size_t>(options[i])];
  return result;
}

double in_seconds(core::Seconds time) { return time / core::k_second; }

// Of products with parameters, and of element-wise operators among them unless told otherwise.
SmallGraph random_chain(core::Random& random, bool products_only = false) {
  SmallGraph result;
  const auto size = [&] { return std::int64_t{16} << random.below(8); };
  const std::int64_t batch = size();
  std::int64_t width = size();
  ir::TensorId x = result.tensor("in", {{"b", batch}, {"n", width}});
  const std::size_t operators = 2 + random.below(5);
  for (std::size_t i = 0; i < operators; ++i) {
    if (!products_only && random.below(3) == 0) {
      x = add_pointwise(result, "f" + std::to_string(i), x);
    } else {
      const std::int64_t wide = size();
      x = add_dense(result, "fc" + std::to_string(i), x, batch, wide, width);
      width = wide;
    }
  }
  return result;
}

PlacementSetup random_machine(core::Random& random) {
  const auto axis = [&](const char* name) {
    return linked(name, std::int64_t{2} << random.below(2), random.uniform() * 1e-5, 1e9 + random.uniform() * 1e11);
  };
  return machine({axis("outer"), axis("inner")}, 1e12 + random.uniform() * 1e14);
}

// The same problem with at most `most` options of each operator, drawn at random.
CostNetwork some_options(const CostNetwork& of, std::size_t most, core::Random& random) {
  CostNetwork result;
  std::vector<std::vector<std::size_t>> drawn;
  for (std::size_t v = 0; v < of.vertices(); ++v) {
    const std::vector<double>& costs = of.costs(static_cast<choice::Vertex>(v));
    std::vector<std::size_t> left(costs.size());
    for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
    while (left.size() > most) left.erase(left.begin() + static_cast<std::ptrdiff_t>(random.below(left.size())));
    std::vector<double> chosen;
    for (const std::size_t each : left) chosen.push_back(costs[each]);
    result.add_vertex(chosen);
    drawn.push_back(left);
  }
  for (const choice::Edge& edge : of.edges()) {
    std::vector<double> costs;
    for (const std::size_t i : drawn[static_cast<std::size_t>(edge.first)])
      for (const std::size_t j : drawn[static_cast<std::size_t>(edge.second)])
        costs.push_back(edge.costs[i * of.options(edge.second) + j]);
    result.add_edge(edge.first, edge.second, costs);
  }
  return result;
}

// Of a chain, by trying all options.
double exhaustive(const CostNetwork& network, std::size_t vertex, std::size_t before, double so_far) {
  if (vertex == network.vertices()) return so_far;
  double result = std::numeric_limits<double>::infinity();
  const std::vector<double>& costs = network.costs(static_cast<choice::Vertex>(vertex));
  for (std::size_t option = 0; option < costs.size(); ++option) {
    const double edge = vertex == 0 ? 0.0 : network.edges()[vertex - 1].costs[before * costs.size() + option];
    result = std::min(result, exhaustive(network, vertex + 1, option, so_far + costs[option] + edge));
  }
  return result;
}

}  // namespace

TEST_CASE("Descent from ten random starts finds the best of nearly all chains") {
  core::Random random(1);
  int of_products = 0, of_chains = 0, folded = 0;
  constexpr int k_chains = 200;
  constexpr std::size_t k_signatures = 9;
  const auto finds = [](double cost, double best) {
    REQUIRE(cost >= best * (1.0 - 1e-12));
    return cost <= best * (1.0 + 1e-9) ? 1 : 0;
  };
  for (int i = 0; i < 2 * k_chains; ++i) {
    const bool products_only = i % 2 == 0;
    const SmallGraph chain = random_chain(random, products_only);
    PlacementProblem problem = placement_problem(chain.graph, random_machine(random));
    problem.costs = some_options(problem.costs, k_signatures, random);
    const double best = exhaustive(problem.costs, 0, 0, 0.0);
    REQUIRE(least(problem).cost == Approx(best).epsilon(1e-12));
    const choice::Descent descent{.restarts = 10, .seed = random.next()};
    const double plain = choice::coordinate_descent(problem.costs, descent).cost;
    (products_only ? of_products : of_chains) += finds(plain, best);
    if (!products_only) folded += finds(descend(problem, descent).cost, best);
  }
  CAPTURE(of_products, of_chains, folded);
  REQUIRE(of_products >= k_chains * 95 / 100);
  REQUIRE(folded >= k_chains * 95 / 100);
  // Element-wise operators, each a choice of its own, stand in the way.
  REQUIRE(of_chains < k_chains * 95 / 100);
}

TEST_CASE("Folding an operator into the costs around it leaves the best as it is") {
  core::Random random(6);
  for (int i = 0; i < 100; ++i) {
    // A triangle whose vertices pass on in turn, at times two, so that the folded costs add to those of an edge that is
    // there, from either side; and a vertex at its tip.
    PlacementProblem problem;
    const auto costs = [&](std::size_t count) {
      std::vector<double> result(count);
      for (double& each : result) each = random.uniform();
      return result;
    };
    for (int v = 0; v < 4; ++v) {
      problem.operators.push_back(
          {.name = std::to_string(v), .passes_on = v == i % 3 || v == 3 || (v == 2 && i % 2 == 1)});
      problem.costs.add_vertex(costs(3));
    }
    problem.costs.add_edge(0, 1, costs(9));
    problem.costs.add_edge(2, 1, costs(9));
    problem.costs.add_edge(2, 0, costs(9));
    problem.costs.add_edge(3, 2, costs(9));
    const choice::Choice found = descend(problem, {.restarts = 60, .seed = random.next()});
    REQUIRE(found.cost == Approx(least(problem).cost));
    REQUIRE(found.cost == problem.costs.cost(found.options));
  }
}

TEST_CASE("The best placements are never above experts' nor above those that descent finds") {
  core::Random random(2);
  for (int i = 0; i < 40; ++i) {
    const SmallGraph chain = random_chain(random);
    const PlacementSetup setup = random_machine(random);
    const PlacementProblem problem = placement_problem(chain.graph, setup);
    choice::Descent descent{.restarts = 2, .seed = random.next()};
    for (const std::size_t tensor_axes : {0, 1, 2})
      descent.starts.push_back(expert_options(chain.graph, problem, tensor_axes));
    const choice::Choice descended = descend(problem, descent);
    const choice::Choice best = least(problem);
    REQUIRE(descended.cost == problem.costs.cost(descended.options));
    REQUIRE(best.cost <= descended.cost * (1.0 + 1e-12));
    for (const std::vector<Option>& start : descent.starts) REQUIRE(descended.cost <= problem.costs.cost(start));
    for (const std::vector<Option>& each : {best.options, descended.options, descent.starts[1]})
      REQUIRE(in_seconds(explain(chain.graph, setup, problem, each).total) == Approx(problem.costs.cost(each)));
  }
}

TEST_CASE("Data parallelism reduces every weight gradient and nothing else") {
  // 1 B/s, no latency: times are bytes per device. p = 4; fc1 6 x 8, fc2 the same, 4 bytes each: 192 bytes.
  const SmallGraph mlp = two_layers(8, 8, 16);
  const PlacementSetup setup = machine({linked("x", 4, 0.0, 1.0)}, 1e3);
  const PlacementProblem problem = placement_problem(mlp.graph, setup);
  const PlacementAnswer answer = explain(mlp.graph, setup, problem, expert_options(mlp.graph, problem, 0));
  REQUIRE(answer.transfers.empty());
  const double weight = 8.0 * 16.0 * 4.0;
  for (const PlacementRow& row : answer.operators) {
    REQUIRE(row.signature == "S(b)");
    REQUIRE(in_seconds(row.time.parameter_gradients) == Approx(row.name[1] == 'c' ? 2.0 * 0.75 * weight : 0.0));
  }
  // Each product: 2 x 8 x 8 x 16 FLOPs, three times, a quarter of them; element-wise: twice 8 x 16 a quarter.
  REQUIRE(in_seconds(answer.operators[1].time.compute) == Approx(3.0 * 2048.0 / 4.0 / 1e3));
  REQUIRE(in_seconds(answer.operators[2].time.compute) == Approx(2.0 * 128.0 / 4.0 / 1e3));
}

TEST_CASE("Megatron's columns and rows reduce one activation forward and one gradient backward") {
  const SmallGraph mlp = two_layers(8, 8, 16);
  const PlacementSetup setup = machine({linked("x", 4, 0.0, 1.0)}, 1e3);
  const PlacementProblem problem = placement_problem(mlp.graph, setup);
  const std::vector<Option> options = expert_options(mlp.graph, problem, 1);
  REQUIRE(texts_of(problem, options) ==
          std::map<std::string, std::string>{
              {"first", "B"}, {"fc1", "S(n)"}, {"relu", "S(n)"}, {"fc2", "S(k)"}, {"last", "B"}});
  const PlacementAnswer answer = explain(mlp.graph, setup, problem, options);
  const double activation = 8.0 * 8.0 * 4.0;
  REQUIRE(answer.transfers.size() == 2);
  for (const PlacedTransfer& transfer : answer.transfers) {
    REQUIRE(transfer.steps.size() == 1);
    REQUIRE(transfer.steps[0].collective == program::Collective::all_reduce);
    REQUIRE(in_seconds(transfer.time) == Approx(2.0 * 0.75 * activation));
    REQUIRE(transfer.tensor == (transfer.backward ? "first.y" : "fc2.y"));
  }
  for (const PlacementRow& row : answer.operators) REQUIRE(row.time.parameter_gradients == core::Seconds{});
}

TEST_CASE("A large batch wants data parallelism, huge weights want columns and rows") {
  const PlacementSetup setup = machine({linked("x", 8, 1e-6, 10e9)}, 10e12);
  const SmallGraph many_rows = two_layers(65536, 512, 1024);
  const PlacementProblem of_rows = placement_problem(many_rows.graph, setup);
  for (const auto& [name, text] : texts_of(of_rows, least(of_rows).options)) {
    CAPTURE(name);
    REQUIRE(text == "S(b)");
  }
  const SmallGraph wide = two_layers(64, 8192, 32768);
  const PlacementProblem of_weights = placement_problem(wide.graph, setup);
  const auto texts = texts_of(of_weights, least(of_weights).options);
  REQUIRE(texts.at("fc1") == "S(n)");
  REQUIRE(texts.at("relu") == "S(n)");
  REQUIRE(texts.at("fc2") == "S(k)");
}

TEST_CASE("Over two nodes, convolutions split the batch and dense layers their weights") {
  const SmallGraph network = vgg_like(64);
  const PlacementProblem problem = placement_problem(network.graph, two_nodes());
  const choice::Choice best = least(problem);
  const auto texts = texts_of(problem, best.options);
  for (const char* name : {"conv1", "conv2", "conv3"}) REQUIRE(texts.at(name) == "S(b) S(b)");
  for (const char* name : {"fc1", "fc2", "fc3"}) {
    CAPTURE(name, texts.at(name));
    const PlacedOperator& op = *std::find_if(problem.operators.begin(), problem.operators.end(),
                                             [&](const PlacedOperator& each) { return each.name == name; });
    const Option option = op.option(texts.at(name));
    REQUIRE(option >= 0);
    for (const AxisPart& part : op.signatures[static_cast<std::size_t>(option)].parts) {
      REQUIRE(part.kind == AxisPart::Kind::split);
      REQUIRE(part.dim != 0);
    }
  }
  choice::Descent descent{.restarts = 10};
  for (const std::size_t tensor_axes : {0, 1, 2}) {
    descent.starts.push_back(expert_options(network.graph, problem, tensor_axes));
    REQUIRE(best.cost < problem.costs.cost(descent.starts.back()));
  }
  REQUIRE(descend(problem, descent).cost == Approx(best.cost));
}

TEST_CASE("A parameter of two readers is kept once") {
  // y = x W, z = y W: kept as the first reads it; its gradient from the second is boxed to there.
  SmallGraph tied;
  const ir::TensorId first = add_pointwise(tied, "first", tied.tensor("in", {{"b", 8}, {"n", 8}}));
  const ir::TensorId y = add_dense(tied, "fc1", first, 8, 8, 8);
  add_dense(tied, "fc2", y, 8, 8, 8);
  ir::Graph shared;
  for (const ir::Tensor& tensor : tied.graph.tensors()) shared.add_tensor(tensor);
  for (ir::Operator op : tied.graph.operators()) {
    if (op.name == "fc2") op.accesses[1].tensor = tied.graph.op(1).accesses[1].tensor;
    shared.add_operator(std::move(op));
  }
  const PlacementSetup setup = machine({linked("x", 2, 0.0, 1.0)}, 1e3);
  const PlacementProblem problem = placement_problem(shared, setup);
  const auto option = [&](std::size_t id, const char* text) { return problem.operators[id].option(text); };
  const double weight = 8.0 * 8.0 * 4.0;
  const auto transfers = [&](const std::vector<Option>& options) {
    double bytes = 0.0;
    for (const PlacedTransfer& each : explain(shared, setup, problem, options).transfers)
      if (each.tensor == "fc1.w") bytes += in_seconds(each.time);
    return bytes;
  };
  // Two partial gradients, each all-reduced; rows of it kept, wanted whole: gathered, and the gradient scattered.
  const std::vector<Option> data{option(0, "S(b)"), option(1, "S(b)"), option(2, "S(b)")};
  REQUIRE(in_seconds(problem.operators[1].times[static_cast<std::size_t>(data[1])].parameter_gradients) == weight);
  REQUIRE(problem.operators[2].times[static_cast<std::size_t>(data[2])].parameter_gradients == core::Seconds{});
  REQUIRE(transfers(data) == weight);
  REQUIRE(transfers({option(0, "B"), option(1, "S(n)"), option(2, "S(b)")}) == weight);
  REQUIRE(transfers({option(0, "B"), option(1, "S(n)"), option(2, "S(n)")}) == 0.0);
  REQUIRE(transfers({option(0, "B"), option(1, "S(n)"), option(2, "S(k)")}) == 2.0 * weight / 4.0);
}

TEST_CASE("A result that leaves as a sum is scattered, its gradient gathered") {
  SmallGraph one;
  add_dense(one, "fc", one.tensor("x", {{"b", 8}, {"k", 8}}), 8, 8, 8);
  const PlacementProblem problem = placement_problem(one.graph, machine({linked("x", 4, 0.0, 1.0)}, 1.0));
  const PlacedOperator& fc = problem.operators[0];
  REQUIRE(in_seconds(fc.times[static_cast<std::size_t>(fc.option("S(k)"))].border) == 2.0 * 0.75 * 256.0);
  REQUIRE(fc.times[static_cast<std::size_t>(fc.option("S(b)"))].border == core::Seconds{});
  // x comes from outside: no product for its gradient.
  REQUIRE(in_seconds(fc.times[0].compute) == 2.0 * 1024.0);
  REQUIRE(fc.option("S(q)") == -1);
}

TEST_CASE("A softmax whose rows are split pays for three sums of one number a row") {
  SmallGraph graph;
  const Sized dims{{"b", 4}, {"e", 8}};
  ir::Operator op;
  op.name = "softmax";
  op.kind = ir::Kind::reduce;
  op.variant = "softmax";
  for (const auto& [name, extent] : dims) op.domain.add(name, loopnest::Extent::of(extent));
  const auto both = loopnest::projection_of({0, 1});
  op.accesses.push_back(
      {.tensor = graph.tensor("x", dims), .projection = both, .gradient = ir::InputGradient::computed});
  op.accesses.push_back({.tensor = graph.tensor("y", dims), .projection = both, .mode = ir::Mode::write});
  op.accesses.push_back({.tensor = graph.statistic("rows", {{"b", 4}}),
                         .projection = loopnest::projection_of({0}),
                         .mode = ir::Mode::write});
  graph.graph.add_operator(op);
  const PlacementProblem problem = placement_problem(graph.graph, machine({linked("x", 4, 0.0, 1.0)}, 1.0));
  const PlacedOperator& softmax = problem.operators[0];
  REQUIRE(in_seconds(softmax.times[static_cast<std::size_t>(softmax.option("S(e)"))].statistics) ==
          3.0 * 2.0 * 0.75 * 16.0);
  REQUIRE(softmax.times[static_cast<std::size_t>(softmax.option("S(b)"))].statistics == core::Seconds{});
}

TEST_CASE("A causal mask leaves the last part the most") {
  SmallGraph graph;
  ir::Operator op;
  op.name = "scores";
  op.kind = ir::Kind::contraction;
  op.flops_per_point = 2.0;
  for (const auto& [name, extent] : Sized{{"q", 4}, {"k", 4}, {"d", 1}})
    op.domain.add(name, loopnest::Extent::of(extent));
  op.domain.add_guard({.terms = {{.dim = 0, .stride = 1}, {.dim = 1, .stride = -1}}, .offset = 0});
  op.accesses.push_back(
      {.tensor = graph.tensor("Q", {{"q", 4}, {"d", 1}}), .projection = loopnest::projection_of({0, 2})});
  op.accesses.push_back(
      {.tensor = graph.tensor("K", {{"k", 4}, {"d", 1}}), .projection = loopnest::projection_of({1, 2})});
  op.accesses.push_back({.tensor = graph.tensor("S", {{"q", 4}, {"k", 4}}),
                         .projection = loopnest::projection_of({0, 1}),
                         .mode = ir::Mode::accumulate});
  graph.graph.add_operator(op);
  const PlacementProblem problem = placement_problem(graph.graph, machine({linked("x", 2, 0.0, 1.0)}, 1.0));
  const PlacedOperator& scores = problem.operators[0];
  // Queries 2 and 3 see 3 and 4 keys; keys 0 and 1 are seen by 4 and 3 queries.
  REQUIRE(in_seconds(scores.times[static_cast<std::size_t>(scores.option("S(q)"))].compute) == 2.0 * 7.0);
  REQUIRE(in_seconds(scores.times[static_cast<std::size_t>(scores.option("S(k)"))].compute) == 2.0 * 7.0);
  REQUIRE(in_seconds(scores.times[0].compute) == 2.0 * 10.0);
}

TEST_CASE("A machine that cannot be is refused with all that is wrong") {
  const SmallGraph mlp = two_layers(8, 8, 8);
  PlacementSetup setup = machine({linked("x", 0, 0.0, 1.0), linked("y", 2, 0.0, 0.0)}, 0.0);
  setup.efficiency = 1.5;
  try {
    placement_problem(mlp.graph, setup);
    FAIL("accepted");
  } catch (const core::ConfigurationError& error) {
    REQUIRE(error.diagnostics().size() == 4);
  }
}

}  // namespace cairn::splits
