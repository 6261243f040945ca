// Schedules as training plans: what their passes carry, and which are refused.
#include "cairn/plan/lowering.h"
#include "catch.h"
#include "support/complaints.h"
#include "support/passes.h"
#include "support/spine_models.h"
#include "support/transfers.h"

using namespace cairn;
using namespace cairn::testing;
using program::Axis;
using program::Collective;

TEST_CASE(
    "Backwards in two: gradients leave with the last that makes those of a chunk's weights, none with the others") {
  const ir::Model model = small_transformer();
  plan::Lowering lowering(model, 8, {});
  plan::Strategy s;
  s.pipeline = 2;
  s.data = 2;
  s.micro_batches = 4;
  s.stage_layers = {2, 2};
  s.overlap_gradient_reduce = true;
  const double whole =
      whole_bytes(testing::backward_pass(lowering.lower(s), 0, true), Axis::data, Collective::all_reduce);
  s.schedule = "zb-h1";
  using program::PassKind;
  const program::Program& split = lowering.lower(s);
  const auto reduced = [&](PassKind kind, bool special) {
    return whole_bytes(split.pass(0, {.kind = kind, .special = special}), Axis::data, Collective::all_reduce);
  };
  REQUIRE(split.layout().splits());
  REQUIRE(reduced(PassKind::input_gradient, false) == 0.0);
  REQUIRE(reduced(PassKind::input_gradient, true) == 0.0);
  REQUIRE(reduced(PassKind::weight_gradient, false) == 0.0);
  REQUIRE(reduced(PassKind::weight_gradient, true) == whole);
}

TEST_CASE("Schedules under which a step is not modelled are refused with place and remedy") {
  const ir::Model model = small_transformer();
  const auto refused = [&](const plan::Strategy& strategy) {
    plan::Lowering lowering(model, 8, {});
    return test::complaints([&] { (void)lowering.lower(strategy); });
  };
  plan::Strategy s;
  s.pipeline = 4;
  s.micro_batches = 4;
  s.schedule = "chimera";
  s.stage_layers = {1, 1, 1, 1};
  s.schedule_options.vocabulary = pipeline::Vocabulary::one;
  REQUIRE(test::contains(refused(s), "chimera shares the output layer among all stages by passes of its own"));
  REQUIRE(test::contains(refused(s), "vocab_parallel"));
  s.schedule_options = {};
  s.micro_batches = 8;
  s.schedule_options.continuation = pipeline::Continuation::halve_backward;
  REQUIRE(test::contains(refused(s), "chimera cuts micro-batches"));
  REQUIRE(test::contains(refused(s), "use continuation: double-forward or concatenate"));
  s.micro_batches = 4;
  s.schedule_options = {};
  s.schedule_options.waves = 2;
  REQUIRE(test::contains(refused(s), "schedule.waves: chimera takes no waves"));
  s.schedule_options = {};
  s.schedule = "zb-v";
  REQUIRE(test::contains(refused(s), "strategy.stages: lists 4 virtual stages, but a micro-batch of zb-v passes 8"));
  s.schedule = "zb-h1";
  s.tensor_pieces.kind = plan::TensorPieces::Kind::halves;
  REQUIRE(test::contains(refused(s), "halves of the tokens do not take turns in split backwards"));
  s.tensor_pieces = {};
  const ir::Model tied = small_transformer({.tied = true});
  plan::Lowering shared(tied, 8, {});
  s.schedule = "pipedream";
  REQUIRE(test::contains(test::complaints([&] { (void)shared.lower(s); }), "is shared by two stages, which update it"));
  s.sharded = plan::Sharded::parameters;
  s.reshard_after_forward = false;
  REQUIRE(test::contains(refused(s), "strategy.zero.reshard_after_forward: parameters that stay gathered while"));
}

TEST_CASE("What a schedule moves itself is not moved by other settings as well") {
  const ir::Model model = small_transformer();
  plan::Lowering lowering(model, 8, {});
  plan::Strategy s;
  s.pipeline = 4;
  s.micro_batches = 16;
  s.data = 2;
  s.stage_layers = {1, 1, 1, 1};
  const auto refused = [&](const plan::Strategy& strategy) {
    return test::complaints([&] { (void)lowering.lower(strategy); });
  };
  for (const char* kind : {"modular", "zeropp"}) {
    s.schedule = kind;
    REQUIRE(refused(s).empty());
    plan::Strategy t = s;
    t.sharded = plan::Sharded::gradients;
    REQUIRE(test::contains(refused(t), "strategy.zero: " + s.schedule + " exchanges sharded parameters and gradients"));
    REQUIRE(test::contains(refused(t), "use stage 3"));
    t.sharded = plan::Sharded::parameters;
    REQUIRE(refused(t).empty());
    t.reshard_after_forward = false;
    REQUIRE(test::contains(refused(t), "strategy.zero.reshard_after_forward"));
    t = s;
    t.offload.optimizer = plan::Home::host;
    REQUIRE(test::contains(refused(t), "strategy.zero.offload: " + s.schedule));
  }
  s.schedule = "pipeoffload";
  REQUIRE(refused(s).empty());
  s.offload.activations = plan::Home::host;
  REQUIRE(test::contains(refused(s), "strategy.zero.offload.activations: pipeoffload says itself"));
}

TEST_CASE("Stage 3 beside a schedule that exchanges parameters is what it is without") {
  const ir::Model model = small_transformer();
  plan::Lowering lowering(model, 8, {});
  plan::Strategy s;
  s.pipeline = 2;
  s.chunks = 2;
  s.micro_batches = 4;
  s.data = 2;
  s.stage_layers = {1, 1, 1, 1};
  s.schedule = "modular";
  const program::CategoryBytes without = lowering.lower(s).stage(0).resident;
  s.sharded = plan::Sharded::parameters;
  REQUIRE(lowering.lower(s).stage(0).resident == without);
}

TEST_CASE(
    "Pipelines that are never emptied hold as many versions of the weights as micro-batches under way have seen") {
  // pipedream on p stages: p, p - 1, ..., 1 versions; pipedream-2bw: two.
  const ir::Model model = small_transformer({.tied = false});
  plan::Lowering lowering(model, 8, {});
  plan::Strategy s;
  s.pipeline = 4;
  s.micro_batches = 8;
  s.stage_layers = {1, 1, 1, 1};
  const auto parameters = [&](std::size_t stage) {
    return lowering.lower(s).stage(stage).resident[static_cast<std::size_t>(program::Category::parameters)];
  };
  std::vector<double> once;
  for (std::size_t stage = 0; stage < 4; ++stage) once.push_back(parameters(stage));
  s.schedule = "pipedream";
  for (std::size_t stage = 0; stage < 4; ++stage)
    REQUIRE(parameters(stage) == static_cast<double>(4 - stage) * once[stage]);
  s.schedule = "pipedream-2bw";
  REQUIRE(parameters(0) == 2 * once[0]);
  // Every update reduces the gradients it applies: eight of them, and none at the end of the step.
  s.schedule = "pipedream";
  s.data = 2;
  const program::Program& program = lowering.lower(s);
  REQUIRE(program.updates_within());
  double all = 0.0;
  double most = 0.0;
  for (const program::PassOrder::Entry& entry : program.row(0)) {
    const double reduced = whole_bytes(program.pass(0, entry.slot), Axis::data, Collective::all_reduce);
    all += reduced;
    most = std::max(most, reduced);
  }
  REQUIRE(most > 0.0);
  REQUIRE(all == 8 * most);
}
