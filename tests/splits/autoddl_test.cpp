#include "cairn/splits/autoddl.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

#include "cairn/choice/descent.h"
#include "cairn/choice/elimination.h"
#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "cairn/predict/evaluate/analytic.h"
#include "cairn/splits/search.h"
#include "catch.h"
#include "linked_mesh.h"
#include "small_graph.h"

namespace cairn::splits {
namespace {

using choice::CostNetwork;
using choice::Option;

// 2 nodes of 4 devices: 10 GB/s between nodes, 100 GB/s inside, 10 TFLOP/s a device.
LinkedMesh two_nodes() { return LinkedMesh({linked("node", 2, 5e-6, 10e9), linked("gpu", 4, 2e-6, 100e9)}, 10e12); }

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

// Of one part, in seconds.
double seconds(const PartTimes& times, Part part) { return core::to_seconds(times[part]); }

std::vector<PlacedWork> boxings(const PlacementAnswer& answer) {
  std::vector<PlacedWork> result;
  for (const PlacedWork& work : answer.works)
    if (work.part == Part::boxing) result.push_back(work);
  return result;
}

double in_seconds(core::Picoseconds time) { return core::to_seconds(time); }

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

LinkedMesh random_machine(core::Random& random) {
  const auto axis = [&](const char* name) {
    return linked(name, std::int64_t{2} << random.below(2), random.uniform() * 1e-5, 1e9 + random.uniform() * 1e11);
  };
  const LinkedAxis outer = axis("outer"), inner = axis("inner");
  return LinkedMesh({outer, inner}, 1e12 + random.uniform() * 1e14);
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
    PlacementProblem problem = placement_problem(chain.graph, random_machine(random).setup());
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
    LinkedMesh machine = random_machine(random);
    const PlacementProblem problem = placement_problem(chain.graph, machine.setup());
    choice::Descent descent{.restarts = 2, .seed = random.next()};
    for (const std::size_t tensor_axes : {0, 1, 2}) descent.starts.push_back(expert_options(problem, tensor_axes));
    const choice::Choice descended = descend(problem, descent);
    const choice::Choice best = least(problem);
    REQUIRE(descended.cost == problem.costs.cost(descended.options));
    REQUIRE(best.cost <= descended.cost * (1.0 + 1e-12));
    for (const std::vector<Option>& start : descent.starts) REQUIRE(descended.cost <= problem.costs.cost(start));
    for (const std::vector<Option>& each : {best.options, descended.options, descent.starts[1]})
      REQUIRE(static_cast<double>(explain(problem, machine.setup(), each).total) == problem.costs.cost(each));
  }
}

TEST_CASE("Data parallelism reduces every weight gradient and nothing else") {
  // 1 B/s, no latency: times are bytes per device. p = 4; fc1 6 x 8, fc2 the same, 4 bytes each: 192 bytes.
  const SmallGraph mlp = two_layers(8, 8, 16);
  LinkedMesh machine({linked("x", 4, 0.0, 1.0)}, 1e3);
  const PlacementProblem problem = placement_problem(mlp.graph, machine.setup());
  const PlacementAnswer answer = explain(problem, machine.setup(), expert_options(problem, 0));
  REQUIRE(boxings(answer).empty());
  const double weight = 8.0 * 16.0 * 4.0;
  for (const PlacementRow& row : answer.operators) {
    REQUIRE(row.signature == "S(b)");
    REQUIRE(seconds(row.times, Part::parameter_gradients) == Approx(row.name[1] == 'c' ? 2.0 * 0.75 * weight : 0.0));
  }
  // Each product: 2 x 8 x 8 x 16 FLOPs, three times, a quarter of them; element-wise: twice 8 x 16 a quarter.
  REQUIRE(seconds(answer.operators[1].times, Part::kernels) == Approx(3.0 * 2048.0 / 4.0 / 1e3));
  REQUIRE(seconds(answer.operators[2].times, Part::kernels) == Approx(2.0 * 128.0 / 4.0 / 1e3));
}

TEST_CASE("Megatron's columns and rows reduce one activation forward and one gradient backward") {
  const SmallGraph mlp = two_layers(8, 8, 16);
  LinkedMesh machine({linked("x", 4, 0.0, 1.0)}, 1e3);
  const PlacementProblem problem = placement_problem(mlp.graph, machine.setup());
  const std::vector<Option> options = expert_options(problem, 1);
  REQUIRE(texts_of(problem, options) ==
          std::map<std::string, std::string>{
              {"first", "B"}, {"fc1", "S(n)"}, {"relu", "S(n)"}, {"fc2", "S(k)"}, {"last", "B"}});
  const PlacementAnswer answer = explain(problem, machine.setup(), options);
  const double activation = 8.0 * 8.0 * 4.0;
  REQUIRE(boxings(answer).size() == 2);
  for (const PlacedWork& work : boxings(answer)) {
    REQUIRE(std::get<program::Transfer>(work.work).collective == program::Collective::all_reduce);
    REQUIRE(in_seconds(work.time) == Approx(2.0 * 0.75 * activation));
    REQUIRE(work.owner == (work.phase == ir::Phase::backward ? "first.y" : "fc2.y"));
  }
  for (const PlacementRow& row : answer.operators) REQUIRE(row.times[Part::parameter_gradients] == 0);
}

TEST_CASE("A large batch wants data parallelism, huge weights want columns and rows") {
  LinkedMesh machine({linked("x", 8, 1e-6, 10e9)}, 10e12);
  const SmallGraph many_rows = two_layers(65536, 512, 1024);
  const PlacementProblem of_rows = placement_problem(many_rows.graph, machine.setup());
  for (const auto& [name, text] : texts_of(of_rows, least(of_rows).options)) {
    CAPTURE(name);
    REQUIRE(text == "S(b)");
  }
  const SmallGraph wide = two_layers(64, 8192, 32768);
  const PlacementProblem of_weights = placement_problem(wide.graph, machine.setup());
  const auto texts = texts_of(of_weights, least(of_weights).options);
  REQUIRE(texts.at("fc1") == "S(n)");
  REQUIRE(texts.at("relu") == "S(n)");
  REQUIRE(texts.at("fc2") == "S(k)");
}

TEST_CASE("Over two nodes, convolutions split the batch and dense layers their weights") {
  const SmallGraph network = vgg_like(64);
  const PlacementProblem problem = placement_problem(network.graph, two_nodes().setup());
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
    descent.starts.push_back(expert_options(problem, tensor_axes));
    REQUIRE(best.cost < problem.costs.cost(descent.starts.back()));
  }
  REQUIRE(descend(problem, descent).cost == Approx(best.cost));
}

TEST_CASE("A parameter of two readers is kept once") {
  // y = x W, z = y W: kept as the first reads it; its gradient from the second is boxed to there.
  SmallGraph chain;
  const ir::TensorId first = add_pointwise(chain, "first", chain.tensor("in", {{"b", 8}, {"n", 8}}));
  add_dense(chain, "fc2", add_dense(chain, "fc1", first, 8, 8, 8), 8, 8, 8);
  const ir::Graph shared = tied(chain.graph, 1, 2);
  LinkedMesh machine({linked("x", 2, 0.0, 1.0)}, 1e3);
  const PlacementProblem problem = placement_problem(shared, machine.setup());
  const auto option = [&](std::size_t id, const char* text) { return problem.operators[id].option(text); };
  const double weight = 8.0 * 8.0 * 4.0;
  const auto transfers = [&](const std::vector<Option>& options) {
    const PlacementAnswer answer = explain(problem, machine.setup(), options);
    double of_weight = 0.0, of_gradients = 0.0;
    for (const PlacedWork& each : answer.works)
      if (each.owner == "fc1.w") of_weight += in_seconds(each.time);
    for (const PlacementRow& row : answer.operators) of_gradients += seconds(row.times, Part::parameter_gradients);
    REQUIRE(of_weight == of_gradients);
    return of_weight;
  };
  // Two partial gradients, each all-reduced; rows of it kept, wanted whole: gathered, and the gradient scattered.
  const std::vector<Option> data{option(0, "S(b)"), option(1, "S(b)"), option(2, "S(b)")};
  REQUIRE(seconds(problem.operators[1].times[static_cast<std::size_t>(data[1])], Part::parameter_gradients) == weight);
  REQUIRE(problem.operators[2].times[static_cast<std::size_t>(data[2])][Part::parameter_gradients] == 0);
  REQUIRE(transfers(data) == 2.0 * weight);
  const std::vector<Option> gathered{option(0, "B"), option(1, "S(n)"), option(2, "S(b)")};
  REQUIRE(transfers(gathered) == weight);
  REQUIRE(transfers({option(0, "B"), option(1, "S(n)"), option(2, "S(n)")}) == 0.0);
  REQUIRE(transfers({option(0, "B"), option(1, "S(n)"), option(2, "S(k)")}) == 2.0 * weight / 4.0);
  // Value and gradient, whole; or in halves, and whole where they are gathered. Saved: first.y, and fc1.y, which is made
  // by columns and read by rows, in halves of both.
  REQUIRE(problem.memory.cost(data) == 2.0 * weight + 128.0 + 128.0);
  REQUIRE(problem.memory.cost(gathered) == 2.0 * weight / 2.0 + 2.0 * weight + 256.0 + 128.0 + 128.0);
}

TEST_CASE("An input of the graph that two readers keep in different placements counts in both") {
  SmallGraph fork;
  const ir::TensorId x = fork.tensor("in", {{"b", 8}, {"n", 8}});
  add_dense(fork, "left", x, 8, 8, 8);
  add_dense(fork, "right", x, 8, 8, 8);
  const PlacementProblem problem = placement_problem(fork.graph, LinkedMesh({linked("x", 2, 0.0, 1.0)}, 1.0).setup());
  const auto memory = [&](const char* left, const char* right) {
    return problem.memory.cost(std::vector{problem.operators[0].option(left), problem.operators[1].option(right)});
  };
  // Two weights of 256 bytes, with gradients, whole or in halves; the input's 256 by halves.
  REQUIRE(memory("S(b)", "S(b)") == 4.0 * 256.0 + 128.0);
  REQUIRE(memory("S(b)", "S(k)") == 3.0 * 256.0 + 128.0 + 128.0);
  REQUIRE(memory("S(k)", "S(n)") == 2.0 * 256.0 + 128.0 + 256.0);
  // It moves for free.
  REQUIRE(problem.costs.edges().empty());
}

TEST_CASE("Too many pairs of placements are refused before anything is priced") {
  class NoPrices final : public predict::Pricer {
   public:
    predict::Price shard(const ir::Shard&) override { return refuse(); }
    predict::Price transfer(const program::Transfer&) override { return refuse(); }
    predict::Price copy(const program::Copy&) override { return refuse(); }
    predict::Price processor(const program::OnProcessor&) override { return refuse(); }
    predict::Price host(program::HostWork) override { return refuse(); }
    core::Picoseconds host_per_kernel() const override { return 0; }

   private:
    static predict::Price refuse() { throw std::logic_error("priced"); }
  };
  // B, S(b), S(c), S(n) and P(x) along each of four axes: some 5^4 signatures, 400 times their square.
  SmallGraph chain;
  ir::TensorId x = chain.tensor("images", {{"b", 64}, {"c", 64}, {"h", 8}, {"w", 8}});
  for (int i = 0; i < 400; ++i) x = add_convolution(chain, "conv" + std::to_string(i), x, 64);
  NoPrices pricer;
  const MeshAxis axis{.name = "x", .devices = 2};
  REQUIRE_THROWS_AS(placement_problem(chain.graph, {.mesh = {axis, axis, axis, axis}, .pricer = pricer}),
                    core::ConfigurationError);
}

TEST_CASE("A result that leaves as a sum is scattered, its gradient gathered") {
  SmallGraph one;
  add_dense(one, "fc", one.tensor("x", {{"b", 8}, {"k", 8}}), 8, 8, 8);
  const PlacementProblem problem = placement_problem(one.graph, LinkedMesh({linked("x", 4, 0.0, 1.0)}, 1.0).setup());
  const PlacedOperator& fc = problem.operators[0];
  REQUIRE(seconds(fc.times[static_cast<std::size_t>(fc.option("S(k)"))], Part::border) == 2.0 * 0.75 * 256.0);
  REQUIRE(fc.times[static_cast<std::size_t>(fc.option("S(b)"))][Part::border] == 0);
  // x comes from outside: no product for its gradient.
  REQUIRE(seconds(fc.times[0], Part::kernels) == 2.0 * 1024.0);
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
  const PlacementProblem problem = placement_problem(graph.graph, LinkedMesh({linked("x", 4, 0.0, 1.0)}, 1.0).setup());
  const PlacedOperator& softmax = problem.operators[0];
  REQUIRE(seconds(softmax.times[static_cast<std::size_t>(softmax.option("S(e)"))], Part::statistics) ==
          3.0 * 2.0 * 0.75 * 16.0);
  REQUIRE(softmax.times[static_cast<std::size_t>(softmax.option("S(b)"))][Part::statistics] == 0);
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
  const PlacementProblem problem = placement_problem(graph.graph, LinkedMesh({linked("x", 2, 0.0, 1.0)}, 1.0).setup());
  const PlacedOperator& scores = problem.operators[0];
  // Queries 2 and 3 see 3 and 4 keys; keys 0 and 1 are seen by 4 and 3 queries.
  REQUIRE(seconds(scores.times[static_cast<std::size_t>(scores.option("S(q)"))], Part::kernels) == 2.0 * 7.0);
  REQUIRE(seconds(scores.times[static_cast<std::size_t>(scores.option("S(k)"))], Part::kernels) == 2.0 * 7.0);
  REQUIRE(seconds(scores.times[0], Part::kernels) == 2.0 * 10.0);
}

TEST_CASE("Memory is parameters with what the optimizer keeps of them, and what derivatives read") {
  // Weights of 128 fp32 elements: value and gradient 8 bytes an element, the optimizer 8 more. Derivatives read first.y of
  // 256 bytes and relu.y of 512.
  const SmallGraph mlp = two_layers(8, 8, 16);
  LinkedMesh machine({linked("x", 4, 0.0, 1.0)}, 1e3);
  PlacementSetup setup = machine.setup();
  setup.state_bytes = 8.0;
  const PlacementProblem problem = placement_problem(mlp.graph, setup);
  REQUIRE(problem.memory.cost(expert_options(problem, 0)) == 2.0 * 128.0 * 16.0 + (256.0 + 512.0) / 4.0);
  REQUIRE(problem.memory.cost(expert_options(problem, 1)) == 2.0 * 128.0 * 16.0 / 4.0 + 256.0 + 512.0 / 4.0);
  // Made in parts and read whole, first.y is kept as both.
  const auto option = [&](std::size_t id, const char* text) { return problem.operators[id].option(text); };
  const std::vector<Option> mixed{option(0, "S(b)"), option(1, "S(n)"), option(2, "S(n)"), option(3, "S(k)"),
                                  option(4, "B")};
  REQUIRE(problem.memory.cost(mixed) == 2.0 * 128.0 * 16.0 / 4.0 + 256.0 / 4.0 + 256.0 + 512.0 / 4.0);
}

TEST_CASE("With less memory the exact search takes the least time that fits, and says how far the least may be") {
  const SmallGraph mlp = two_layers(1 << 14, 256, 512);
  LinkedMesh machine({linked("x", 8, 1e-6, 10e9)}, 10e12);
  const PlacementProblem problem = placement_problem(mlp.graph, machine.setup());
  const SplitAnswer free = search(problem, Method::pase, std::numeric_limits<double>::infinity());
  REQUIRE(free.proven);
  REQUIRE_FALSE(free.bound);
  const double most = problem.memory.cost(free.best.options);
  int bound = 0;
  for (double cap = most; cap > 0.0; cap -= most / 16.0) {
    const SplitAnswer within = search(problem, Method::pase, cap);
    REQUIRE(within.best.cost >= free.best.cost);
    if (!within.bound) continue;
    REQUIRE(problem.memory.cost(within.best.options) <= cap);
    REQUIRE(*within.bound <= within.best.cost);
    // Times are whole picoseconds.
    REQUIRE(within.proven == (std::ceil(*within.bound) == within.best.cost));
    ++bound;
  }
  REQUIRE(bound > 0);
}

TEST_CASE("A step of the works one after the other takes what its choice costs") {
  core::Random random(9);
  for (int i = 0; i < 20; ++i) {
    const SmallGraph chain = random_chain(random);
    LinkedMesh machine = random_machine(random);
    const PlacementSetup setup = machine.setup();
    const PlacementProblem problem = placement_problem(chain.graph, setup);
    std::vector<Option> options;
    for (const PlacedOperator& op : problem.operators)
      options.push_back(static_cast<Option>(random.below(op.signatures.size())));
    const PlacementAnswer answer = explain(problem, setup, options);
    const program::Block block = block_of(answer);
    predict::PriceTable prices(setup.pricer);
    REQUIRE(predict::Analytic(prices).alone(block) == answer.total);
    REQUIRE(static_cast<double>(answer.total) == problem.costs.cost(options));
    core::Picoseconds of_rows = 0;
    for (const PlacementRow& row : answer.operators) of_rows += row.times.total();
    REQUIRE(of_rows == answer.total);
  }
}

TEST_CASE("A machine that cannot be is refused with all that is wrong") {
  const auto errors = [](const auto& make) {
    try {
      make();
    } catch (const core::ConfigurationError& error) {
      return error.diagnostics().size();
    }
    return std::size_t{0};
  };
  const Mesh mesh{{.name = "x", .devices = 2}};
  REQUIRE(errors([&] { RatePricer(mesh, {.axes = {{}, {}}, .efficiency = 1.5}); }) == 5);
  const AxisLinks no_number{.latency = core::Seconds::from_base(std::nan("")),
                            .bandwidth = core::BytesPerSecond::from_base(1.0)};
  REQUIRE(errors([&] {
            RatePricer(mesh, {.axes = {no_number}, .stages = no_number, .peak = core::FlopsPerSecond::from_base(1.0)});
          }) == 2);
  const SmallGraph mlp = two_layers(8, 8, 8);
  LinkedMesh machine({linked("x", 0, 0.0, 1.0), linked("y", 2, 0.0, 1.0)}, 1.0);
  REQUIRE(errors([&] { placement_problem(mlp.graph, machine.setup()); }) == 1);
}

}  // namespace cairn::splits
