// Kernels that gathers of sharded parameters take beside the collective: casts of shards and copies into and out of the
// gather's buffer, to the byte.
#include <string>
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
constexpr double k_wide = 4.0;      // bytes of a stored parameter
constexpr double k_gathered = 2.0;  // and of a gathered one

// Shards are kept in fp32 and gathered in bf16.
plan::ParameterTreatment wide_shards() {
  plan::ParameterTreatment treatment;
  treatment.narrow_shards = false;
  return treatment;
}
plan::FrameworkBehaviour copying(bool keeps_root = false) {
  plan::FrameworkBehaviour behaviour;
  behaviour.copies_gathered = true;
  behaviour.keeps_root_gathered = keeps_root;
  return behaviour;
}
// One model under a framework that gathers the root's parameters for every pass, and under one that keeps them. Both
// copy what they gather, so that copies() counts it.
struct RootLowerings {
  explicit RootLowerings(const ir::Model& model)
      : gathers_again(model, 8, {}, 0, copying()), keeps(model, 8, {}, 0, copying(true)) {}
  plan::Lowering gathers_again, keeps;
};
plan::Strategy sharded(plan::Sharded what = plan::Sharded::parameters) {
  plan::Strategy strategy;
  strategy.data = k_ranks;
  strategy.stage_layers = {k_layers};
  strategy.sharded = what;
  return strategy;
}

// The stages have unlike numbers of layers, so that counts of one are not those of the other.
plan::Strategy in_two_stages() {
  plan::Strategy strategy = sharded();
  strategy.micro_batches = 4;
  strategy.pipeline = 2;
  strategy.stage_layers = {k_layers - 2, 2};
  return strategy;
}

struct Kernels {
  double bytes = 0.0;
  double elements = 0.0;
  std::int64_t launches = 0;
  friend bool operator==(const Kernels&, const Kernels&) = default;
};
constexpr Kernels k_none{};

Kernels kernels(const program::Pass& pass, const std::string& name) {
  Kernels sum;
  for (const program::BlockRun& run : pass.runs)
    for (const program::Step& step : run.block->steps) {
      if (step.work < 0) continue;
      const auto* shard = std::get_if<ir::Shard>(&run.block->works[static_cast<std::size_t>(step.work)]);
      if (shard == nullptr || shard->op->name != name) continue;
      CHECK(step.stream == program::Stream::compute);
      CHECK(step.term == program::Term::compute);
      sum.bytes += static_cast<double>(run.count) * ir::bytes(*shard);
      sum.elements += static_cast<double>(run.count * shard->box[0].extent());
      sum.launches += run.count * step.launches;
    }
  return sum;
}

Kernels casts(const program::Pass& pass) { return kernels(pass, "gather.cast"); }
Kernels copies_in(const program::Pass& pass) { return kernels(pass, "gather.copy_in"); }
Kernels copies(const program::Pass& pass) { return kernels(pass, "gather.copy_out"); }

// Of all units, each of so many elements on a rank after the gather and 1 / `ranks` of them before.
Kernels casts_closed_form(double elements, std::int64_t units, double ranks) {
  const double all = static_cast<double>(units) * elements / ranks;
  return {.bytes = (k_wide + k_gathered) * all, .elements = all, .launches = units};
}
Kernels copies_closed_form(double elements, std::int64_t units) {
  const double all = static_cast<double>(units) * elements;
  return {.bytes = 2.0 * k_gathered * all, .elements = all, .launches = units};
}

}  // namespace

TEST_CASE("Every gather casts the shard and copies what it has gathered, forward and backward closed_form") {
  const ir::Model model = two_products({.layers = k_layers});
  plan::Lowering lowering(model, 8, wide_shards(), 0, copying());
  plan::Strategy strategy = sharded();
  for (const std::int64_t ahead : {0, 1, 2}) {
    CAPTURE(ahead);
    strategy.prefetch = ahead;
    for (const bool special : {false, true}) {
      const program::Program& program = lowering.lower(strategy);
      for (const program::Pass* pass : {&forward_pass(program, 0, special), &backward_pass(program, 0, special)}) {
        CHECK(casts(*pass) == casts_closed_form(k_layer_parameters, k_layers, k_ranks));
        CHECK(copies_in(*pass) == copies_closed_form(k_layer_parameters / static_cast<double>(k_ranks), k_layers));
        CHECK(copies(*pass) == copies_closed_form(k_layer_parameters, k_layers));
      }
    }
  }
  // Where fewer ranks share a copy, each has more to cast and as much to copy.
  strategy.shard = 2;
  const program::Program& hybrid = lowering.lower(strategy);
  CHECK(casts(forward_pass(hybrid, 0)) == casts_closed_form(k_layer_parameters, k_layers, 2.0));
  CHECK(copies(forward_pass(hybrid, 0)) == copies_closed_form(k_layer_parameters, k_layers));
}

TEST_CASE("What is not gathered is neither cast nor copied") {
  const ir::Model model = two_products({.layers = k_layers});
  plan::Lowering lowering(model, 8, wide_shards(), 0, copying());
  // Parameters that stay gathered for the backward pass.
  plan::Strategy kept = sharded();
  kept.reshard_after_forward = false;
  const program::Program& once = lowering.lower(kept);
  CHECK(copies(forward_pass(once, 0)) == copies_closed_form(k_layer_parameters, k_layers));
  CHECK(casts(backward_pass(once, 0)) == k_none);
  CHECK(copies(backward_pass(once, 0)) == k_none);
  // A single rank casts and copies what it sends itself.
  plan::Strategy alone = sharded();
  alone.data = 1;
  CHECK(copies(forward_pass(lowering.lower(alone), 0)) == copies_closed_form(k_layer_parameters, k_layers));
  CHECK(casts(forward_pass(lowering.lower(alone), 0)) == casts_closed_form(k_layer_parameters, k_layers, 1));
  // Parameters that are whole on every rank.
  for (const plan::Strategy& strategy :
       {sharded(plan::Sharded::nothing), sharded(plan::Sharded::optimizer), sharded(plan::Sharded::gradients)}) {
    const program::Program& program = lowering.lower(strategy);
    for (const program::Pass* pass : {&forward_pass(program, 0, true), &backward_pass(program, 0, true)}) {
      CHECK(casts(*pass) == k_none);
      CHECK(copies(*pass) == k_none);
    }
  }
}

TEST_CASE("Shards are cast where they are wider than what is sent, copied where operators do not read the buffer") {
  const ir::Model model = two_products({.layers = k_layers});
  const Kernels cast = casts_closed_form(k_layer_parameters, k_layers, k_ranks);
  const Kernels copied = copies_closed_form(k_layer_parameters, k_layers);
  for (const bool wide : {false, true})
    for (const bool copy : {false, true}) {
      CAPTURE(wide, copy);
      plan::Lowering lowering(model, 8, wide ? wide_shards() : plan::ParameterTreatment{}, 0,
                              copy ? copying() : plan::FrameworkBehaviour{});
      const program::Program& program = lowering.lower(sharded());
      CHECK(casts(forward_pass(program, 0)) == (wide ? cast : k_none));
      CHECK(copies(forward_pass(program, 0)) == (copy ? copied : k_none));
    }
}

TEST_CASE("Kernels of a gather run before the unit's operators, when the unit's own gather has ended") {
  const ir::Model model = two_products({.layers = k_layers});
  plan::Lowering lowering(model, 8, wide_shards(), 0, copying());
  const program::Pass& pass = forward_pass(lowering.lower(sharded()), 0);
  for (const program::BlockRun& run : pass.runs) {
    const program::Block& block = *run.block;
    std::vector<std::string> names;
    for (const program::Step& step : block.steps) {
      if (step.kind != program::StepKind::compute) continue;
      names.push_back(std::get<ir::Shard>(block.works[static_cast<std::size_t>(step.work)]).op->name);
      if (names.size() > 1) continue;
      REQUIRE(step.dependencies == 1);
      CHECK(block.dependencies[step.first_dependency] == program::entry_of(program::Stream::fetched));
    }
    if (names.empty()) continue;
    REQUIRE(names.size() > 3);
    CHECK(names[0] == "gather.cast");
    CHECK(names[1] == "gather.copy_in");
    CHECK(names[2] == "gather.copy_out");
    CHECK(names[3] == "fc1");
  }
}

TEST_CASE("A gather's kernels take no memory, and parameters that layers share take them once a pass") {
  const ir::Model model = small_transformer({.body_layers = k_layers, .tied = true});
  plan::Lowering reads(model, 8, {}), copies_out(model, 8, {}, 0, copying());
  for (const std::int64_t ahead : {0, 1, 2}) {
    CAPTURE(ahead);
    plan::Strategy strategy = sharded();
    strategy.prefetch = ahead;
    const program::Program &without = reads.lower(strategy), &with = copies_out.lower(strategy);
    for (const PassKind kind : {PassKind::forward, PassKind::backward}) {
      const program::Pass &a = without.pass(0, {.kind = kind}), &b = with.pass(0, {.kind = kind});
      CHECK(a.profile.delta == b.profile.delta);
      CHECK(a.profile.peak == b.profile.peak);
      CHECK(copies(a) == k_none);
      CHECK(copies(b).elements == static_cast<double>(model.parameters()));
    }
  }
}

TEST_CASE("Parameters of the root are gathered once for both passes where the framework keeps them") {
  const ir::Model model = small_transformer({.body_layers = k_layers});
  RootLowerings lowerings(model);
  const std::int64_t body = small_transformer({.body_layers = k_layers + 1}).parameters() - model.parameters();
  const auto ends = static_cast<double>(model.parameters() - k_layers * body);
  REQUIRE(ends > 0.0);
  for (const std::int64_t ahead : {0, 1, 2}) {
    CAPTURE(ahead);
    plan::Strategy strategy = sharded();
    strategy.prefetch = ahead;
    strategy.micro_batches = 2;
    const program::Program &twice = lowerings.gathers_again.lower(strategy), &once = lowerings.keeps.lower(strategy);
    CHECK(copies(forward_pass(once, 0)) == copies(forward_pass(twice, 0)));
    CHECK(copies(backward_pass(once, 0)).elements == copies(backward_pass(twice, 0)).elements - ends);
    // The root's parameters are there in between, and gone in the end.
    CHECK(forward_pass(once, 0).profile.delta == forward_pass(twice, 0).profile.delta + k_gathered * ends);
    CHECK(backward_pass(once, 0).profile.delta == backward_pass(twice, 0).profile.delta - k_gathered * ends);
  }
}

TEST_CASE("With stages the root's parameters are gathered once a step, since others are under way in between") {
  const ir::Model model = small_transformer({.body_layers = k_layers, .tied = false});
  RootLowerings lowerings(model);
  const std::int64_t body =
      small_transformer({.body_layers = k_layers + 1, .tied = false}).parameters() - model.parameters();
  plan::Strategy strategy = in_two_stages();
  for (const std::int64_t ahead : {0, 1, 2}) {
    strategy.prefetch = ahead;
    const program::Program &every = lowerings.gathers_again.lower(strategy), &once = lowerings.keeps.lower(strategy);
    double ends = 0.0;
    for (const std::int32_t stage : {0, 1}) {
      CAPTURE(ahead, stage);
      const auto layers = static_cast<double>(strategy.stage_layers[static_cast<std::size_t>(stage)] * body);
      const double root = copies(forward_pass(every, stage)).elements - layers;
      REQUIRE(root > 0.0);
      ends += root;
      for (const bool special : {false, true}) {
        CHECK(copies(forward_pass(once, stage, special)).elements == layers + (special ? root : 0.0));
        CHECK(copies(backward_pass(once, stage, special)).elements == layers);
        // What the first forward pass brings, the last backward pass gives up.
        const double held = special ? k_gathered * root : 0.0;
        CHECK(forward_pass(once, stage, special).profile.delta ==
              forward_pass(every, stage, special).profile.delta + held);
        CHECK(backward_pass(once, stage, special).profile.delta ==
              backward_pass(every, stage, special).profile.delta - held);
      }
    }
    CHECK(ends == static_cast<double>(model.parameters() - k_layers * body));
  }
}

TEST_CASE("Parameters that a schedule updates within the step are gathered anew, those of the root as well") {
  const ir::Model model = small_transformer({.body_layers = k_layers, .tied = false});
  RootLowerings lowerings(model);
  plan::Strategy strategy = in_two_stages();
  strategy.schedule = "pipedream";
  const program::Program &every = lowerings.gathers_again.lower(strategy), &same = lowerings.keeps.lower(strategy);
  for (const std::int32_t stage : {0, 1})
    for (const bool special : {false, true}) {
      CHECK(copies(forward_pass(same, stage, special)) == copies(forward_pass(every, stage, special)));
      CHECK(copies(backward_pass(same, stage, special)) == copies(backward_pass(every, stage, special)));
    }
}

TEST_CASE("Side rows that gather a chunk's parameters wait for the kernels as well") {
  const ir::Model model = two_products({.layers = 2});
  plan::Lowering lowering(model, 8, wide_shards(), 0, copying());
  plan::Strategy strategy;
  strategy.schedule = "modular";
  strategy.data = k_ranks;
  strategy.micro_batches = 2;
  strategy.chunks = 2;
  strategy.stage_layers = {1, 1};
  const program::Program& program = lowering.lower(strategy);
  for (std::int32_t chunk = 0; chunk < 2; ++chunk) {
    const program::Pass& come = program.pass(0, {.kind = PassKind::fetched, .chunk = chunk});
    CHECK(casts(come) == casts_closed_form(k_layer_parameters, 1, k_ranks));
    CHECK(copies(come) == copies_closed_form(k_layer_parameters, 1));
    CHECK(copies(program.pass(0, {.kind = PassKind::forward, .chunk = chunk})) == k_none);
  }
}
