// Passes over whole gradients before they are reduced to shards, to the byte, and the copy that is reduced.
#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cairn/plan/lowering.h"
#include "catch.h"
#include "support/passes.h"
#include "support/spine_models.h"
#include "support/two_products.h"

using namespace cairn;
using namespace cairn::testing;
using program::PassKind;

namespace {

constexpr std::int64_t k_ranks = 8;
constexpr std::int64_t k_layers = 5;
constexpr double k_sent = 2.0;  // bytes of a gradient as it is reduced

plan::ParameterTreatment reduced_in_two_bytes() {
  plan::ParameterTreatment treatment;
  treatment.gradients = treatment.reduce = numerics::Format::bf16;
  return treatment;
}
plan::FrameworkBehaviour passing(bool copies, bool divides) {
  plan::FrameworkBehaviour behaviour;
  behaviour.pads_gradients = copies;
  behaviour.divides_gradients = divides;
  return behaviour;
}
plan::Strategy sharded_as(plan::Sharded what) {
  plan::Strategy strategy;
  strategy.data = k_ranks;
  strategy.stage_layers = {k_layers};
  strategy.sharded = what;
  return strategy;
}

struct Passes {
  double bytes = 0.0;
  std::int64_t launches = 0;
  friend bool operator==(const Passes&, const Passes&) = default;
};

Passes passes(const program::Pass& pass, const std::string& name) {
  Passes sum;
  for (const program::BlockRun& run : pass.runs)
    for (const program::Step& step : run.block->steps) {
      if (step.work < 0) continue;
      const auto* shard = std::get_if<ir::Shard>(&run.block->works[static_cast<std::size_t>(step.work)]);
      if (shard == nullptr || shard->op->name != name) continue;
      CHECK(step.stream == program::Stream::compute);
      CHECK(step.term == program::Term::compute);
      sum.bytes += static_cast<double>(run.count) * ir::bytes(*shard);
      sum.launches += run.count * step.launches;
    }
  return sum;
}

// Bytes that kernels of the name move; without one: all kernels.
double moved(const program::Pass& pass, const std::string& name = {}) {
  double bytes = 0.0;
  for (const program::BlockRun& run : pass.runs)
    for (const program::Step& step : run.block->steps) {
      if (step.work < 0) continue;
      const auto* shard = std::get_if<ir::Shard>(&run.block->works[static_cast<std::size_t>(step.work)]);
      if (shard != nullptr && (name.empty() || shard->op->name == name))
        bytes += static_cast<double>(run.count) * ir::bytes(*shard);
    }
  return bytes;
}

// Each reads and writes every gradient once.
Passes passes_closed_form(double elements, std::int64_t reductions) {
  return {.bytes = 2.0 * k_sent * elements, .launches = reductions};
}

// A layer x[b, s, h] -> W1 over ffn -> W2 back to h -> norm, whose derivative is one operator -> W3 -> W4.
ir::Model products_around_a_norm() {
  using namespace small_models;
  const Dim hidden{"hidden", extent(8)}, ffn{"ffn", extent(16)};
  constexpr auto k_format = numerics::Format::bf16;
  ir::Graph graph;
  const ir::TensorId x = token_activation(graph, "x", hidden, k_format);
  graph.set_inputs({x});
  const ir::TensorId inner = token_product(graph, "fc1", x, hidden, ffn, k_format);
  const ir::TensorId before = token_product(graph, "fc2", inner, ffn, hidden, k_format);
  const ir::TensorId gain = tensor(graph, "gain", {hidden}, ir::Role::parameter, k_format);
  const ir::TensorId normed = token_activation(graph, "normed", hidden, k_format);
  ir::Operator norm = operation("norm", ir::Kind::reduce, {{"batch", batch()}, sequence_dim(), hidden}, 4.0, 7.0);
  norm.joint_gradients = true;
  append(graph, std::move(norm),
         {read(before, {at(0), at(1), at(2)}), read(gain, {at(2)}), write(normed, {at(0), at(1), at(2)})},
         {before, gain});
  const ir::TensorId behind = token_product(graph, "fc3", normed, hidden, ffn, k_format);
  graph.set_outputs({token_product(graph, "fc4", behind, ffn, hidden, k_format)});
  graph.differentiate({.parameter_gradient = numerics::Format::fp32, .fused_accumulation = true});
  ir::Model model;
  model.name = "products around a norm";
  model.layers.push_back({.layer_class = 0, .count = 1});
  model.classes.push_back(ir::LayerClass{.name = "body", .position = ir::Position::body, .graph = std::move(graph)});
  return model;
}

}  // namespace

TEST_CASE("Every unit copies and divides its whole gradients before it reduces them closed_form") {
  const ir::Model model = two_products({.layers = k_layers});
  const Passes all = passes_closed_form(k_layers * k_layer_parameters, k_layers);
  for (const bool copies : {false, true})
    for (const bool divides : {false, true}) {
      CAPTURE(copies, divides);
      plan::Lowering lowering(model, 8, reduced_in_two_bytes(), 0, passing(copies, divides));
      for (const std::int64_t shard : {0, 2}) {
        plan::Strategy strategy = sharded_as(plan::Sharded::parameters);
        strategy.shard = shard;
        strategy.micro_batches = 2;
        const program::Program& program = lowering.lower(strategy);
        for (const bool last : {false, true}) {
          CHECK(passes(backward_pass(program, 0, last), "reduce.pad") == (copies ? all : Passes{}));
          CHECK(passes(backward_pass(program, 0, last), "reduce.divide") == (divides ? all : Passes{}));
          CHECK(passes(forward_pass(program, 0, last), "reduce.pad") == Passes{});
        }
        // Gradients that are added up whole are reduced once.
        strategy.reduce_every_micro_batch = false;
        const program::Program& once = lowering.lower(strategy);
        CHECK(passes(backward_pass(once, 0, false), "reduce.divide") == Passes{});
        CHECK(passes(backward_pass(once, 0, true), "reduce.divide") == (divides ? all : Passes{}));
      }
    }
}

TEST_CASE("Gradients that are not reduced to shards before the update take no passes") {
  const ir::Model model = two_products({.layers = k_layers});
  plan::FrameworkBehaviour behaviour = passing(true, true);
  plan::Lowering lowering(model, 8, reduced_in_two_bytes(), 0, behaviour);
  plan::Strategy alone = sharded_as(plan::Sharded::parameters);
  alone.data = 1;
  for (const plan::Strategy& strategy :
       {alone, sharded_as(plan::Sharded::nothing), sharded_as(plan::Sharded::optimizer)}) {
    const program::Program& program = lowering.lower(strategy);
    CHECK(passes(backward_pass(program, 0, true), "reduce.pad") == Passes{});
    CHECK(passes(backward_pass(program, 0, true), "reduce.divide") == Passes{});
  }
  // Sharded gradients of whole parameters go by bucket; where every rank sums them all, there is nothing to pad.
  const plan::Strategy gradients = sharded_as(plan::Sharded::gradients);
  CHECK(passes(backward_pass(lowering.lower(gradients), 0, true), "reduce.divide").bytes ==
        2.0 * k_sent * k_layers * k_layer_parameters);
  behaviour.reduce_whole_gradients = true;
  plan::Lowering whole(model, 8, reduced_in_two_bytes(), 0, behaviour);
  CHECK(passes(backward_pass(whole.lower(gradients), 0, true), "reduce.pad") == Passes{});
}

TEST_CASE("A reduction waits for the passes over its gradients") {
  const ir::Model model = two_products({.layers = k_layers});
  plan::Lowering lowering(model, 8, reduced_in_two_bytes(), 0, passing(true, true));
  const program::Pass& pass = backward_pass(lowering.lower(sharded_as(plan::Sharded::parameters)), 0);
  for (const program::BlockRun& run : pass.runs) {
    const program::Block& block = *run.block;
    std::int32_t divided = -1;
    for (std::size_t index = 0; index < block.steps.size(); ++index) {
      const program::Step& step = block.steps[index];
      if (step.work < 0) continue;
      const program::Work& work = block.works[static_cast<std::size_t>(step.work)];
      if (const auto* shard = std::get_if<ir::Shard>(&work); shard != nullptr && shard->op->name == "reduce.divide")
        divided = static_cast<std::int32_t>(index);
      const auto* transfer = std::get_if<program::Transfer>(&work);
      if (transfer == nullptr || transfer->collective != program::Collective::reduce_scatter) continue;
      REQUIRE(divided >= 0);
      REQUIRE(step.dependencies == 1);
      CHECK(block.dependencies[step.first_dependency] == divided);
    }
  }
}

// Collectives start after all computation issued before them. With sequence parallelism the derivative of a norm makes
// the gradient of its shard of tokens, which is gathered for the products before it; between the two stands the
// reduction of the norm's own gradient, where buckets are as small.
TEST_CASE("What tensor-parallel ranks send waits for passes over gradients that stand before it") {
  const ir::Model model = products_around_a_norm();
  plan::Lowering lowering(model, 8, reduced_in_two_bytes(), 0, passing(false, true));
  plan::Strategy strategy = sharded_as(plan::Sharded::gradients);
  strategy.stage_layers = {1};
  strategy.tensor = 2;
  strategy.sequence_parallel = true;
  strategy.bucket_bytes = 1.0;
  const program::Pass& pass = backward_pass(lowering.lower(strategy), 0);
  std::int64_t directly = 0;  // transfers that stand behind such a pass, with no operator between
  for (const program::BlockRun& run : pass.runs) {
    const program::Block& block = *run.block;
    std::int32_t computed = -1, divided = -1;
    for (std::size_t index = 0; index < block.steps.size(); ++index) {
      const program::Step& step = block.steps[index];
      if (step.kind == program::StepKind::compute) {
        computed = static_cast<std::int32_t>(index);
        const auto& shard = std::get<ir::Shard>(block.works[static_cast<std::size_t>(step.work)]);
        if (shard.op->name == "reduce.divide") divided = computed;
      }
      if (step.kind != program::StepKind::transfer || step.axis != program::Axis::tensor || divided < 0) continue;
      if (computed == divided) ++directly;
      const auto first = block.dependencies.begin() + step.first_dependency;
      CHECK(std::any_of(first, first + step.dependencies, [&](program::Dependency each) { return each >= divided; }));
    }
  }
  CHECK(directly > 0);
}

TEST_CASE("Copies of gradients are gone when a pass ends, those that layers share among them") {
  for (const bool tied : {false, true}) {
    CAPTURE(tied);
    const ir::Model model = small_transformer({.body_layers = k_layers, .tied = tied});
    plan::Lowering without(model, 8, reduced_in_two_bytes()),
        with(model, 8, reduced_in_two_bytes(), 0, passing(true, true));
    for (const plan::Sharded what : {plan::Sharded::parameters, plan::Sharded::gradients})
      for (const bool every : {false, true}) {
        CAPTURE(every);
        plan::Strategy strategy = sharded_as(what);
        strategy.micro_batches = 2;
        strategy.reduce_every_micro_batch = every;
        const program::Program &a = without.lower(strategy), &b = with.lower(strategy);
        for (const bool last : {false, true}) {
          CHECK(backward_pass(a, 0, last).profile.delta == backward_pass(b, 0, last).profile.delta);
          CHECK(backward_pass(a, 0, last).profile.peak <= backward_pass(b, 0, last).profile.peak);
        }
        CHECK(passes(backward_pass(b, 0, true), "reduce.pad").bytes ==
              2.0 * k_sent * static_cast<double>(model.parameters()));
      }
  }
}

// Joined 2 + 2 bytes, divided 2 + 2, widened 2 + 4; narrowed 4 + 2, copied back 2 + 2: whatever a bucket holds, of which
// there is one of 2 + 4 bytes a gradient.
TEST_CASE("Copies that the end of a step reduces take their passes, however small their buckets are closed_form") {
  const ir::Model model = two_products({.layers = k_layers});
  plan::ParameterTreatment treatment = reduced_in_two_bytes();
  treatment.reduce = numerics::Format::fp32;
  treatment.step_end.copies_to_buckets = true;
  plan::Lowering lowering(model, 8, treatment);
  plan::Strategy strategy = sharded_as(plan::Sharded::nothing);
  for (const double elements : {0.0, 100.0, 2.0 * k_layers * k_layer_parameters}) {
    CAPTURE(elements);
    strategy.bucket_bytes = 4.0 * elements;
    const program::Pass& end = finalize_pass(lowering.lower(strategy), 0);
    CHECK(moved(end) == 24.0 * k_layers * k_layer_parameters);
    CHECK(end.profile.peak == (2 + 4) * std::min(elements, k_layers * k_layer_parameters));
    CHECK(end.profile.delta == 0.0);
  }
}

// The norm reads 2 bytes of each gradient that a rank has left when it updates.
TEST_CASE("Passes over all gradients of a rank are over its shard once that is all it has closed_form") {
  const ir::Model model = two_products({.layers = k_layers});
  plan::ParameterTreatment treatment = reduced_in_two_bytes();
  treatment.step_end.gradient_reads = 1;
  treatment.step_end.whole_gradients = true;
  plan::FrameworkBehaviour summing;
  summing.reduce_whole_gradients = true;
  plan::Lowering shards(model, 8, treatment), sums(model, 8, treatment, 0, summing);
  const double all = k_sent * k_layers * k_layer_parameters;
  const auto read = [](plan::Lowering& lowering, const plan::Strategy& strategy) {
    return moved(update_pass(lowering.lower(strategy), 0), "gradient_norm");
  };
  CHECK(read(shards, sharded_as(plan::Sharded::nothing)) == all);
  for (const bool every : {false, true}) {
    CAPTURE(every);
    for (const plan::Sharded what : {plan::Sharded::gradients, plan::Sharded::parameters}) {
      plan::Strategy strategy = sharded_as(what);
      strategy.micro_batches = 2;
      strategy.reduce_every_micro_batch = every;
      CHECK(read(shards, strategy) == all / k_ranks);
    }
  }
  plan::Strategy whole = sharded_as(plan::Sharded::gradients);
  whole.micro_batches = 2;
  whole.reduce_every_micro_batch = false;
  CHECK(read(sums, whole) == all);
}

TEST_CASE("Side rows that reduce a chunk's gradients take the passes as well") {
  const ir::Model model = two_products({.layers = 2});
  plan::Lowering lowering(model, 8, reduced_in_two_bytes(), 0, passing(true, true));
  plan::Strategy strategy;
  strategy.schedule = "modular";
  strategy.data = k_ranks;
  strategy.micro_batches = 2;
  strategy.chunks = 2;
  strategy.stage_layers = {1, 1};
  const program::Program& program = lowering.lower(strategy);
  for (std::int32_t chunk = 0; chunk < 2; ++chunk) {
    const program::Pass& send = program.pass(0, {.kind = PassKind::send, .chunk = chunk});
    CHECK(passes(send, "reduce.pad") == passes_closed_form(k_layer_parameters, 1));
    CHECK(passes(send, "reduce.divide") == passes_closed_form(k_layer_parameters, 1));
    const program::Pass& sent = program.pass(0, {.kind = PassKind::sent, .chunk = chunk});
    const program::Pass& reserve = program.pass(0, {.kind = PassKind::reserve, .chunk = chunk});
    CHECK(send.profile.delta == k_sent * k_layer_parameters);
    CHECK(sent.profile.delta == -send.profile.delta - reserve.profile.delta);
  }
}
