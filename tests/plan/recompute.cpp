// What runs again, what is kept for it, and of which layers, against counts by hand.
//
// One transformer block, b = 2, s = 8, h = 16, f = 32, 4 heads, bf16. A stream-sized tensor has 512 bytes, the fused
// projection 1536, the inner tensors 1024, a norm's scales 64, attention's log-sums 256.
#include <algorithm>

#include "cairn/core/diagnostics.h"
#include "cairn/plan/lowering.h"
#include "catch.h"
#include "support/passes.h"
#include "support/spine_models.h"
#include "support/transfers.h"

using namespace cairn;
using namespace cairn::testing;
using program::Collective;

namespace {

constexpr double k_stream = 512, k_qkv = 1536, k_inner = 1024, k_scales = 64, k_logsums = 256;
// x, norm1.out, residual1.out, norm2.out; qkv, context; fc1.out, activation.out; two norms' scales, log-sums.
constexpr double k_all = 5 * k_stream + k_qkv + 2 * k_inner + 2 * k_scales + k_logsums;

plan::LayerOptions options(std::int64_t t = 1) {
  plan::LayerOptions o;
  o.sizes = {.batch = 2, .sequence = 8};
  plan::Strategy s;
  s.tensor = t;
  o.rules = plan::split_rules(s);
  o.groups = {{.axis = program::Axis::tensor, .size = t, .stride = 1}};
  return o;
}
double saved(const plan::LayerOptions& o) {
  static const ir::Model model = small_transformer();
  return plan::LayerLowering(model.classes[1], o).state().saved_bytes;
}
std::vector<std::string> again(const program::Block& block) {
  std::vector<std::string> names;
  for (const program::Step& step : block.steps)
    if (step.term == program::Term::recompute && step.kind == program::StepKind::compute)
      names.push_back(std::get<ir::Shard>(block.works[static_cast<std::size_t>(step.work)]).op->name);
  return names;
}
std::size_t again(const program::Pass& pass) {
  std::size_t total = 0;
  for (const program::BlockRun& run : pass.runs)
    total += static_cast<std::size_t>(run.count) * again(*run.block).size();
  return total;
}

plan::Strategy four_layers() {
  plan::Strategy s;
  s.micro_batch = 2;
  s.stage_layers = {4};
  return s;
}

}  // namespace

TEST_CASE("By operator: what is named runs again where it is read, and its inputs are kept in place of its results") {
  const ir::Model model = small_transformer();
  REQUIRE(saved(options()) == k_all);
  plan::LayerOptions o = options();
  o.recompute = {"norm1", "activation"};
  REQUIRE(saved(o) == k_all - k_stream - k_scales - k_inner);
  // The activation's result is read first, by the second product's weight gradient.
  REQUIRE(again(plan::LayerLowering(model.classes[1], o).backward()) ==
          std::vector<std::string>{"activation", "norm1"});
  // Nobody reads the block's result again: naming what makes it changes nothing.
  o.recompute = {"fc2", "residual2"};
  REQUIRE(saved(o) == k_all);
  REQUIRE(again(plan::LayerLowering(model.classes[1], o).backward()).empty());
  // A chain runs again in order: norm2 reads what residual1 makes from what proj makes.
  o.recompute = {"norm2", "residual1", "proj"};
  REQUIRE(again(plan::LayerLowering(model.classes[1], o).backward()) ==
          std::vector<std::string>{"proj", "residual1", "norm2"});
  REQUIRE(saved(o) == k_all - 2 * k_stream - k_scales);
}

TEST_CASE("Per operator: attention and every second product are kept, the rest runs again") {
  const ir::Model model = small_transformer();
  plan::LayerOptions o = options();
  o.recompute_second = true;
  // Products in order: qkv kept, proj again, fc1 kept, fc2 again but read by nobody.
  REQUIRE(again(plan::LayerLowering(model.classes[1], o).backward()) ==
          std::vector<std::string>{"activation", "proj", "residual1", "norm2", "norm1"});
  REQUIRE(saved(o) == k_stream + k_qkv + k_stream + k_logsums + k_inner);
  // A kernel whose results are not kept runs again where proj reads what it makes, from the projection that is kept.
  o.behaviour.repeats_attention = true;
  REQUIRE(again(plan::LayerLowering(model.classes[1], o).backward()) ==
          std::vector<std::string>{"activation", "attention", "proj", "residual1", "norm2", "norm1"});
  REQUIRE(saved(o) == k_stream + k_qkv + k_inner);
}

TEST_CASE("By layer: ranges through the model, the first of a stage, groups that keep one input") {
  const ir::Model model = small_transformer();
  plan::Lowering lowering(model, 8, {});
  const auto kept = [&](const plan::Strategy& s) { return testing::forward_pass(lowering.lower(s), 0).profile.delta; };
  const auto repeated = [&](const plan::Strategy& s) { return again(testing::backward_pass(lowering.lower(s), 0)); };
  const std::size_t operators = model.classes[1].graph.forward_count();
  plan::Strategy s = four_layers();
  const double ends = kept(s) - 4 * k_all;
  s.recompute = plan::Recompute::full;
  REQUIRE(kept(s) == ends + 4 * k_stream);
  REQUIRE(repeated(s) == 4 * operators);

  s.recompute_layers.ranges = {{.first = 1, .last = 2}};
  REQUIRE(kept(s) == ends + 2 * k_stream + 2 * k_all);
  REQUIRE(repeated(s) == 2 * operators);

  s.recompute_layers = {.method = plan::RecomputeMethod::block, .count = 3, .ranges = {}};
  REQUIRE(kept(s) == ends + 3 * k_stream + k_all);
  REQUIRE(repeated(s) == 3 * operators);

  // Groups of 3 and of what is left; backward of a group keeps what its layers keep without recomputation.
  s.recompute_layers = {.method = plan::RecomputeMethod::uniform, .count = 3, .ranges = {}};
  REQUIRE(kept(s) == ends + 2 * k_stream);
  REQUIRE(repeated(s) == 4 * operators);
  const program::Pass& backward = testing::backward_pass(lowering.lower(s), 0);
  REQUIRE(backward.profile.delta == -kept(s));
  // By then the head has let go of what it kept, and the upper group of its input.
  REQUIRE(backward.profile.peak >= 3 * k_all - 2 * k_stream - ends);

  // Two stages: the first two of each.
  s.pipeline = 2;
  s.stage_layers = {1, 3};
  s.recompute_layers = {.method = plan::RecomputeMethod::block, .count = 2, .ranges = {}};
  REQUIRE(again(testing::backward_pass(lowering.lower(s), 0)) == operators);
  REQUIRE(again(testing::backward_pass(lowering.lower(s), 1)) == 2 * operators);
}

TEST_CASE("The ends recompute too where the framework says so, all but the loss") {
  // The head keeps its input, 512 bytes, in place of the norm's output and scales, which come again.
  ir::Model model = small_transformer();
  const std::size_t exit = model.classes.size() - 1;
  plan::LayerOptions o = options();
  o.recompute_all = true;
  const double plain = plan::LayerLowering(model.classes[exit], o).state().saved_bytes;
  REQUIRE(again(plan::LayerLowering(model.classes[exit], o).backward()).empty());
  o.behaviour.recompute_ends = true;
  {
    // This loss keeps the logits: nothing to gain from a second product.
    const plan::LayerLowering covered(model.classes[exit], o);
    REQUIRE(again(covered.backward()) == std::vector<std::string>{"final_norm"});
    REQUIRE(plain - covered.state().saved_bytes == k_stream + k_scales);
  }
  // A loss that keeps something of its own: the product runs again with the norm, and the logits, 2 * 8 * 64 in bf16,
  // are not kept.
  std::vector<ir::Operator> operators = model.classes[exit].graph.operators();
  for (ir::Operator& op : operators) {
    const auto reads_logits = [&](const ir::Access& access) {
      return access.mode == ir::Mode::read && model.classes[exit].graph.tensor(access.tensor).name == "logits";
    };
    if (op.phase == ir::Phase::backward)
      op.accesses.erase(std::remove_if(op.accesses.begin(), op.accesses.end(), reads_logits), op.accesses.end());
  }
  model.classes[exit].graph.replace_operators(operators);
  const plan::LayerLowering covered(model.classes[exit], o);
  REQUIRE(again(covered.backward()) == std::vector<std::string>{"final_norm", "logits"});
  REQUIRE(plain - covered.state().saved_bytes == k_stream + k_scales + 2 * 8 * 64 * 2);
  // Without recomputation of everything the flag says nothing.
  o.recompute_all = false;
  REQUIRE(again(plan::LayerLowering(model.classes[exit], o).backward()).empty());
}

TEST_CASE("A saved input shared by the tensor ranks: a quarter each, gathered once before the layer runs again") {
  const ir::Model model = small_transformer();
  plan::LayerOptions o = options(4);
  o.recompute_all = true;
  const plan::LayerLowering whole(model.classes[1], o);
  o.settings.share_saved_inputs = true;
  const plan::LayerLowering shared(model.classes[1], o);
  REQUIRE(whole.state().saved_bytes == k_stream);
  REQUIRE(shared.state().saved_bytes == k_stream / 4);
  REQUIRE(transfers(shared.forward()) == transfers(whole.forward()));
  Sent expected = transfers(whole.backward());
  expected.insert(expected.begin(), {Collective::all_gather, k_stream});
  REQUIRE(transfers(shared.backward()) == expected);
  REQUIRE(shared.forward().profile.delta == k_stream / 4);
  REQUIRE(shared.backward().profile.delta == -k_stream / 4);
}

TEST_CASE("Recomputation that makes no sense is refused with a remedy") {
  const ir::Model model = small_transformer();
  const auto message = [&](const plan::Strategy& s) {
    plan::Lowering lowering(model, 8, {});
    try {
      (void)lowering.lower(s);
    } catch (const core::ConfigurationError& error) {
      return error.diagnostics()[0].key_path + ": " + error.diagnostics()[0].message + " | " +
             error.diagnostics()[0].hint;
    }
    return std::string("accepted");
  };
  plan::Strategy s = four_layers();
  s.recompute = plan::Recompute::operators;
  s.recompute_operators = {"activatoin"};
  REQUIRE(message(s) ==
          "strategy.recompute.operators: the layers have no operator 'activatoin' | did you mean 'activation'?");
  s.recompute_operators = {"norm1"};
  REQUIRE(message(s) == "accepted");
  s.recompute_layers.ranges = {{.first = 2, .last = 4}};
  REQUIRE(message(s).starts_with("strategy.recompute.layers: 2..4 is no range"));
  s.recompute_layers = {.method = plan::RecomputeMethod::uniform, .count = 2, .ranges = {}};
  REQUIRE(message(s).starts_with("strategy.recompute.method"));
}
