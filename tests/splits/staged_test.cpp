#include "cairn/splits/staged.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>

#include "cairn/core/random.h"
#include "cairn/models/network.h"
#include "catch.h"
#include "linked_mesh.h"
#include "small_graph.h"

namespace cairn::splits {
namespace {

SmallGraph dense_chain(core::Random& random, std::size_t operators) {
  SmallGraph result;
  const auto size = [&] { return std::int64_t{16} << random.below(6); };
  const std::int64_t batch = size();
  std::int64_t width = size();
  ir::TensorId x = add_pointwise(result, "first", result.tensor("in", {{"b", batch}, {"n", width}}));
  for (std::size_t i = 1; i < operators; ++i) {
    const std::int64_t wide = size();
    x = add_dense(result, "fc" + std::to_string(i), x, batch, wide, width);
    width = wide;
  }
  return result;
}

constexpr double k_latency_s = 1e-7;

// Submeshes of 1, 2 and 4 devices, each one axis.
struct Submeshes {
  Submeshes(const ir::Graph& graph, core::Random& random)
      : flops(1e11 + random.uniform() * 1e13),
        bandwidth(std::pow(10.0, 7.0 + 4.0 * random.uniform())),
        stage_bandwidth(std::pow(10.0, 9.0 + 3.0 * random.uniform())) {
    const AxisLinks stages{.latency = core::Seconds::from_base(k_latency_s),
                           .bandwidth = core::BytesPerSecond::from_base(stage_bandwidth)};
    for (const std::int64_t devices : sizes) {
      meshes.push_back(
          std::make_unique<LinkedMesh>(std::vector{linked("x", devices, k_latency_s, bandwidth)}, flops, stages));
      problems.push_back(placed_operators(graph, meshes.back()->setup()));
    }
  }
  std::vector<StageMesh> all() const {
    std::vector<StageMesh> result;
    for (std::size_t i = 0; i < problems.size(); ++i)
      result.push_back({.problem = problems[i], .setup = meshes[i]->setup()});
    return result;
  }

  double flops, bandwidth, stage_bandwidth;
  std::vector<std::int64_t> sizes{1, 2, 4};
  std::vector<std::unique_ptr<LinkedMesh>> meshes = {};
  std::vector<PlacementProblem> problems = {};
};

// By the definitions of staged.h, a chain of an element-wise operator and products on one axis, with tables by hand.
class ChainCount {
 public:
  ChainCount(const Submeshes& of, std::size_t submesh)
      : of_(of), problem_(of.problems[submesh]), devices_(static_cast<double>(of.sizes[submesh])) {}

  struct Costs {
    core::Picoseconds time = 0;
    double parameters = 0.0;
    double saved = 0.0;
  };

  Costs stage(const OperatorRange& range, const std::vector<choice::Option>& options,
              std::int64_t micro_batches) const {
    Costs sum;
    for (std::size_t id = range.first; id <= range.last; ++id) {
      const Row row = row_of(id, options[id - range.first]);
      const ir::Graph& graph = *problem_.graph;
      const ir::Operator& op = graph.op(static_cast<ir::OperatorId>(id));
      const bool is_product = op.accesses.size() == 3;
      const double flops = static_cast<double>(op.domain.points(op.domain.box({}))) * (is_product ? 2.0 : 1.0);
      sum.time += (is_product ? 3 : 2) * core::to_picoseconds(flops / (row.split ? devices_ : 1.0) / of_.flops);
      if (is_product) {
        const double weight = bytes(op.accesses[1].tensor);
        const char kept = row.weight == 'P' ? 'B' : row.weight;
        sum.time += divided(boxed(row.weight_gradient, kept, weight), micro_batches);
        sum.parameters += 2.0 * part(kept, weight);
        const double input = bytes(op.accesses[0].tensor);
        char from = 0, back = 0;
        if (id > range.first) {
          const Row before = row_of(id - 1, options[id - 1 - range.first]);
          from = before.result, back = before.result_gradient;
          sum.time += boxed(from, row.input, input) + boxed(row.input_gradient, back, input);
        } else {
          core::Picoseconds least = std::numeric_limits<core::Picoseconds>::max();
          for (const char entry : {'B', '0', '1'}) {
            const core::Picoseconds sent =
                2 * core::to_picoseconds(k_latency_s + part(entry, input) / of_.stage_bandwidth);
            const core::Picoseconds time =
                sent + boxed(entry, row.input, input) + boxed(row.input_gradient, entry, input);
            if (time < least) least = time, from = entry;
          }
          sum.time += least;
        }
        sum.saved += part(from, input) + (boxed(from, row.input, input) > 0 ? part(row.input, input) : 0.0);
      }
      if (id == range.last) {
        const double result = bytes(op.accesses.back().tensor);
        core::Picoseconds least = std::numeric_limits<core::Picoseconds>::max();
        for (const char whole : {'B', '0', '1'})
          least = std::min(least, boxed(row.result, whole, result) + boxed(whole, row.result_gradient, result));
        sum.time += least;
      }
    }
    return sum;
  }

 private:
  // B, P, and the dimension of the tensor that is split.
  struct Row {
    bool split = false;
    char input = 'B', input_gradient = 'B', weight = 'B', weight_gradient = 'B', result = 'B', result_gradient = 'B';
  };
  Row row_of(std::size_t id, choice::Option option) const {
    const PlacedOperator& op = problem_.operators[id];
    const std::string& text = op.texts[static_cast<std::size_t>(option)];
    if (text == "B") return {};
    if (text == "S(b)") return {true, '0', '0', 'B', 'P', '0', '0'};
    if (op.passes_on) return {true, '1', '1', 'B', 'B', '1', '1'};
    if (text == "S(n)") return {true, 'B', 'P', '0', '0', '1', '1'};
    if (text == "S(k)") return {true, '1', '1', '1', '1', 'P', 'B'};
    REQUIRE(text[0] == 'P');
    return {false, 'P', 'B', 'B', 'P', 'P', 'B'};
  }

  double bytes(ir::TensorId id) const { return 4.0 * static_cast<double>(problem_.graph->tensor(id).elements({})); }
  double part(char placement, double bytes) const {
    return placement == 'B' || placement == 'P' ? bytes : bytes / devices_;
  }
  static core::Picoseconds divided(core::Picoseconds time, std::int64_t count) {
    return time / count + (time % count > 0 ? 1 : 0);
  }

  // One collective, or none.
  core::Picoseconds direct(char from, char to, double bytes) const {
    if (from == to || from == 'B' || to == 'P' || devices_ == 1.0) return 0;
    const double rounds = from == 'P' && to == 'B' ? 2.0 : 1.0;
    const double shared = from != 'P' && to != 'B' ? bytes / devices_ : bytes * rounds;
    return core::to_picoseconds(k_latency_s * (rounds * (devices_ - 1.0)) +
                                (devices_ - 1.0) / devices_ * shared / of_.bandwidth);
  }
  // Or two.
  core::Picoseconds boxed(char from, char to, double bytes) const {
    core::Picoseconds least = direct(from, to, bytes);
    for (const char by : {'B', 'P', '0', '1'}) least = std::min(least, direct(from, by, bytes) + direct(by, to, bytes));
    return least;
  }

  const Submeshes& of_;
  const PlacementProblem& problem_;
  double devices_;
};

// The least time of operators first..last on a submesh within memory, all placements tried.
std::optional<core::Picoseconds> least_stage(const Submeshes& of, const StagedRequest& request, std::size_t submesh,
                                             const OperatorRange& range, std::int64_t remaining) {
  const ChainCount count(of, submesh);
  std::vector<choice::Option> options(range.size(), 0);
  std::optional<core::Picoseconds> least;
  for (;;) {
    const ChainCount::Costs costs = count.stage(range, options, request.micro_batches);
    const double held = static_cast<double>(std::min(request.micro_batches, remaining));
    if (costs.parameters + held * costs.saved <= request.memory && (!least || costs.time < *least)) least = costs.time;
    std::size_t v = 0;
    while (v < options.size() && ++options[v] == static_cast<choice::Option>(
                                                     of.problems[submesh].operators[range.first + v].signatures.size()))
      options[v++] = 0;
    if (v == options.size()) return least;
  }
}

std::optional<core::Picoseconds> least_of_all_stages(const Submeshes& of, const StagedRequest& request) {
  std::optional<core::Picoseconds> best;
  const auto count = static_cast<std::int64_t>(request.layers.size());
  std::vector<std::pair<std::int64_t, std::size_t>> stages;  // first layer, submesh
  const std::function<void(std::int64_t, std::int64_t)> extend = [&](std::int64_t next, std::int64_t devices) {
    if (next == count) {
      if (devices != 0) return;
      core::Picoseconds sum = 0, longest = 0;
      for (std::size_t i = 0; i < stages.size(); ++i) {
        const std::int64_t end = i + 1 < stages.size() ? stages[i + 1].first : count;
        const OperatorRange range{.first = request.layers[static_cast<std::size_t>(stages[i].first)].first,
                                  .last = request.layers[static_cast<std::size_t>(end - 1)].last};
        const auto time =
            least_stage(of, request, stages[i].second, range, static_cast<std::int64_t>(stages.size() - i));
        if (!time) return;
        sum += *time;
        longest = std::max(longest, *time);
      }
      const core::Picoseconds total = sum + (request.micro_batches - 1) * longest;
      if (!best || total < *best) best = total;
      return;
    }
    for (std::size_t submesh = 0; submesh < of.sizes.size(); ++submesh) {
      const std::int64_t left = devices - of.sizes[submesh];
      if (left < 0) continue;
      stages.emplace_back(next, submesh);
      for (std::int64_t end = next + 1; end <= count; ++end) extend(end, left);
      stages.pop_back();
    }
  };
  extend(0, request.devices);
  return best;
}

}  // namespace

TEST_CASE("Stages and their placements are the best of all") {
  core::Random random(31);
  int staged = 0, bound = 0, exact = 0;
  for (int i = 0; i < 60; ++i) {
    const SmallGraph chain = dense_chain(random, 4);
    const Submeshes submeshes(chain.graph, random);
    StagedRequest request{.devices = 4,
                          .micro_batches = std::int64_t{1} << random.below(5),
                          .memory = std::numeric_limits<double>::infinity()};
    for (std::size_t op = 0; op < 4; ++op) request.layers.push_back({.first = op, .last = op});
    const std::optional<StagedAnswer> answer = stage(submeshes.all(), request);
    REQUIRE(answer);
    REQUIRE(answer->total == least_of_all_stages(submeshes, request));
    staged += answer->stages.size() > 1 ? 1 : 0;
    double most = 0.0;
    for (const PlacedStage& each : answer->stages) most = std::max(most, each.memory);
    request.memory = most * (0.5 + random.uniform() / 2.0);
    const std::optional<StagedAnswer> within = stage(submeshes.all(), request);
    const std::optional<core::Picoseconds> least = least_of_all_stages(submeshes, request);
    REQUIRE(within.has_value() == least.has_value());
    if (!within) continue;
    REQUIRE(within->total >= *least);
    for (const PlacedStage& each : within->stages) REQUIRE(each.memory <= request.memory);
    ++bound;
    exact += within->total == *least ? 1 : 0;
  }
  CAPTURE(staged, bound, exact);
  REQUIRE(staged > 10);
  REQUIRE(bound > 20);
  REQUIRE(exact > bound / 2);
}

TEST_CASE("A stage takes what is counted by hand, and its works take that time") {
  core::Random random(32);
  for (int i = 0; i < 100; ++i) {
    const SmallGraph chain = dense_chain(random, 4);
    const Submeshes submeshes(chain.graph, random);
    StagedRequest request{.devices = 4, .micro_batches = std::int64_t{1} << random.below(5)};
    std::vector<PlacedStage> stages;
    const std::size_t cut = 1 + random.below(3);
    for (const OperatorRange& range :
         {OperatorRange{.first = 0, .last = cut - 1}, OperatorRange{.first = cut, .last = 3}}) {
      stages.push_back({.operators = range, .submesh = random.below(3)});
      for (std::size_t id = range.first; id <= range.last; ++id)
        stages.back().options.push_back(static_cast<choice::Option>(
            random.below(submeshes.problems[stages.back().submesh].operators[id].signatures.size())));
    }
    price_stages(stages, submeshes.all(), request);
    for (std::size_t at = 0; at < 2; ++at) {
      const PlacedStage& stage = stages[at];
      const ChainCount count(submeshes, stage.submesh);
      const ChainCount::Costs costs = count.stage(stage.operators, stage.options, request.micro_batches);
      const double held =
          static_cast<double>(std::min<std::int64_t>(request.micro_batches, 2 - static_cast<std::int64_t>(at)));
      REQUIRE(stage.time == costs.time);
      REQUIRE(stage.memory == costs.parameters + held * costs.saved);
      const PlacementAnswer answer = explain(submeshes.problems[stage.submesh],
                                             submeshes.meshes[stage.submesh]->setup(), stage.operators, stage.options);
      REQUIRE(answer.total == count.stage(stage.operators, stage.options, 1).time);
    }
  }
}

TEST_CASE("A partial sum is added up before it leaves a stage, and a replicated reader is sent its whole") {
  // first, fc1 | fc2, of 8 x 8 fp32: 256 bytes a tensor. 2 devices a stage, 1 B/s inside, so that times are bytes a
  // device receives; no latency.
  SmallGraph chain;
  const ir::TensorId x = add_pointwise(chain, "first", chain.tensor("in", {{"b", 8}, {"n", 8}}));
  add_dense(chain, "fc2", add_dense(chain, "fc1", x, 8, 8, 8), 8, 8, 8);
  const auto border = [&](double stage_bandwidth, const OperatorRange& range, const std::vector<const char*>& texts) {
    LinkedMesh mesh({linked("x", 2, 0.0, 1.0)}, 1e3,
                    AxisLinks{.latency = {}, .bandwidth = core::BytesPerSecond::from_base(stage_bandwidth)});
    const PlacementProblem problem = placed_operators(chain.graph, mesh.setup());
    std::vector<choice::Option> options;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      options.push_back(problem.operators[range.first + i].option(texts[i]));
      REQUIRE(options.back() >= 0);
    }
    core::Picoseconds sum = 0;
    for (const PlacementRow& row : explain(problem, mesh.setup(), range, options).operators)
      sum += row.times[Part::border];
    return core::to_seconds(sum);
  };
  const OperatorRange first{.first = 0, .last = 1}, second{.first = 2, .last = 2};
  // Reduce-scatter, and all-gather of the gradient: half of 256 each.
  REQUIRE(border(1.0, first, {"S(n)", "S(k)"}) == 256.0);
  REQUIRE(border(1.0, first, {"S(b)", "S(b)"}) == 0.0);
  REQUIRE(border(1.0, first, {"B", "S(n)"}) == 0.0);
  // Rows: half of the tensor each way.
  REQUIRE(border(1.0, second, {"S(b)"}) == 256.0);
  // Replicated, along links of 1 B/s: slices of 128 that are gathered for 128, and 128 of the gradient back.
  REQUIRE(border(1.0, second, {"B"}) == 128.0 + 128.0 + 128.0);
  // The links between stages are four times as fast: a whole copy, and a whole gradient, cost 64 each.
  REQUIRE(border(4.0, second, {"B"}) == 128.0);
  // Columns: the gradient of what is read is a partial sum, scattered (128) before it leaves in slices.
  REQUIRE(border(1.0, second, {"S(n)"}) == 128.0 + 128.0 + 128.0 + 128.0);
}

TEST_CASE("A parameter that stages share is kept by each, and its gradient is summed once a step") {
  // first, fc1 | fc2, both products by one weight of 256 bytes. 2 devices a stage, 1 B/s everywhere.
  SmallGraph chain;
  const ir::TensorId x = add_pointwise(chain, "first", chain.tensor("in", {{"b", 8}, {"n", 8}}));
  add_dense(chain, "fc2", add_dense(chain, "fc1", x, 8, 8, 8), 8, 8, 8);
  const ir::Graph graph = tied(chain.graph, 1, 2);
  LinkedMesh mesh({linked("x", 2, 0.0, 1.0)}, 1e3,
                  AxisLinks{.latency = {}, .bandwidth = core::BytesPerSecond::from_base(1.0)});
  const PlacementProblem problem = placed_operators(graph, mesh.setup());
  const std::vector<StageMesh> submeshes{{.problem = problem, .setup = mesh.setup()}};
  const auto option = [&](std::size_t id, const char* text) { return problem.operators[id].option(text); };
  const auto priced = [&](std::vector<PlacedStage> stages, std::int64_t micro_batches) {
    price_stages(stages, submeshes, {.devices = 4, .micro_batches = micro_batches});
    return stages;
  };
  const std::vector<PlacedStage> two{
      {.operators = {.first = 0, .last = 1}, .options = {option(0, "S(b)"), option(1, "S(b)")}},
      {.operators = {.first = 2, .last = 2}, .options = {option(2, "S(b)")}}};
  const std::vector<PlacedStage> once = priced(two, 1), eight = priced(two, 8);
  // In each stage value and gradient of the weight; the second keeps half of what it receives.
  REQUIRE(once[0].memory == 2.0 * 256.0 + 128.0);
  REQUIRE(once[1].memory == 2.0 * 256.0 + 128.0);
  // Seven eighths less of an all-reduce of 256; in the second stage, of the same and of two messages of 256.
  REQUIRE(core::to_seconds(once[0].time - eight[0].time) == Approx(7.0 / 8.0 * 256.0));
  REQUIRE(core::to_seconds(once[1].time - eight[1].time) == Approx(7.0 / 8.0 * (256.0 + 2.0 * 256.0)));
  // In one stage: both gradients are all-reduced, once a step.
  const std::vector<PlacedStage> one{
      {.operators = {.first = 0, .last = 2}, .options = {option(0, "S(b)"), option(1, "S(b)"), option(2, "S(b)")}}};
  REQUIRE(core::to_seconds(priced(one, 1)[0].time - priced(one, 8)[0].time) == Approx(7.0 / 8.0 * 2.0 * 256.0));
  REQUIRE(priced(one, 1)[0].memory == 2.0 * 256.0 + 2.0 * 128.0);
}

TEST_CASE("A tensor that only later stages keep takes memory there, and is received once for two readers") {
  // first | left and right, both of first.y: 256 bytes, 2 devices a stage.
  SmallGraph fork;
  const ir::TensorId x = add_pointwise(fork, "first", fork.tensor("in", {{"b", 8}, {"n", 8}}));
  add_dense(fork, "left", x, 8, 8, 8);
  add_dense(fork, "right", x, 8, 8, 8);
  LinkedMesh mesh({linked("x", 2, 0.0, 1.0)}, 1e3,
                  AxisLinks{.latency = {}, .bandwidth = core::BytesPerSecond::from_base(1.0)});
  const PlacementProblem problem = placed_operators(fork.graph, mesh.setup());
  const auto option = [&](std::size_t id, const char* text) { return problem.operators[id].option(text); };
  const auto stages_with = [&](const char* left, const char* right) {
    std::vector<PlacedStage> stages{
        {.operators = {.first = 0, .last = 0}, .options = {option(0, "S(b)")}},
        {.operators = {.first = 1, .last = 2}, .options = {option(1, left), option(2, right)}}};
    price_stages(stages, std::vector<StageMesh>{{.problem = problem, .setup = mesh.setup()}}, {.devices = 4});
    return stages;
  };
  // Weights of 256, value and gradient, whole or in halves.
  REQUIRE(stages_with("S(b)", "S(b)")[0].memory == 0.0);
  REQUIRE(stages_with("S(b)", "S(b)")[1].memory == 2.0 * 512.0 + 128.0);
  REQUIRE(stages_with("S(b)", "S(k)")[1].memory == 512.0 + 256.0 + 128.0 + 128.0);
  const auto messages = [&](const char* left, const char* right) {
    double sent = 0.0;
    for (const PlacedWork& work :
         explain(problem, mesh.setup(), {.first = 1, .last = 2}, std::vector{option(1, left), option(2, right)}).works)
      if (const auto* transfer = std::get_if<program::Transfer>(&work.work);
          transfer && transfer->collective == program::Collective::send) {
        REQUIRE(transfer->group.stride == 2);
        sent += transfer->bytes;
      }
    return sent;
  };
  REQUIRE(messages("S(b)", "S(b)") == 2.0 * 128.0);
  REQUIRE(messages("S(b)", "S(k)") == 2.0 * 128.0);
}

TEST_CASE("Clusters share FLOPs out and cut where little crosses") {
  for (const char* name : {"alexnet", "resnet50", "bert", "transformer-small"}) {
    const models::Network network = models::build_network(name, 8);
    const ir::Graph& graph = network.graph;
    for (const std::int64_t layers : {1, 4, 8}) {
      const std::vector<OperatorRange> found = clusters(graph, {}, layers);
      CAPTURE(name, layers);
      REQUIRE(found.size() == static_cast<std::size_t>(layers));
      std::size_t next = 0;
      double total = 0.0, most = 0.0, largest = 0.0;
      for (const OperatorRange& range : found) {
        REQUIRE(range.first == next);
        REQUIRE(range.last >= range.first);
        next = range.last + 1;
        double sum = 0.0;
        for (std::size_t id = range.first; id <= range.last; ++id) {
          const ir::Operator& op = graph.op(static_cast<ir::OperatorId>(id));
          const double flops = static_cast<double>(op.domain.points(op.domain.box({}))) * op.flops_per_point;
          sum += flops;
          largest = std::max(largest, flops);
        }
        total += sum;
        most = std::max(most, sum);
      }
      REQUIRE(next == graph.operators().size());
      REQUIRE(most <= std::max(largest, 4.0 * total / static_cast<double>(layers)));
    }
  }
  // The narrow tensor in the middle is where a chain is cut.
  SmallGraph chain;
  ir::TensorId x = chain.tensor("in", {{"b", 64}, {"n", 256}});
  x = add_dense(chain, "wide1", x, 64, 256, 256);
  x = add_dense(chain, "narrow", x, 64, 8, 256);
  x = add_dense(chain, "wide2", x, 64, 256, 8);
  add_dense(chain, "last", x, 64, 256, 256);
  const std::vector<OperatorRange> halves = clusters(chain.graph, {}, 2);
  REQUIRE(halves == std::vector<OperatorRange>{{.first = 0, .last = 1}, {.first = 2, .last = 3}});
}

}  // namespace cairn::splits
