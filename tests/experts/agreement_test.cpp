// Random mixtures under random plans: both evaluators agree in every picosecond, memory returns to where it began, and
// nothing is lost on the way.
#include <map>
#include <string_view>

#include "cairn/predict/account/breakdown.h"
#include "cairn/predict/account/memory.h"
#include "cairn/predict/evaluate/analytic.h"
#include "cairn/predict/evaluate/event.h"
#include "cairn/sequence/scheme.h"
#include "catch.h"
#include "experts/mixtures.h"
#include "support/asked.h"
#include "support/passes.h"
#include "support/prices.h"
#include "support/transfers.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

struct Case {
  // `two_copies`: stages in both directions, each part of the model on two of them. `shares`: ranks share sequences
  // where heads allow it, not only now and then.
  explicit Case(std::uint64_t seed, bool two_copies = false, bool shares = false)
      : shared(shares),
        random(seed),
        config(random_mixture(random, build)),
        model(models::build_transformer(config, build)),
        lowering(random_lowering(random, model, coin(random) ? 4 : 0, k_mixture_sequence)),
        strategy(two_copies ? in_two_copies(random_plan()) : random_plan()),
        program(lowering.lower(strategy)),
        pricer(seed, coin(random) ? 1000 : 5, random.below(4), coin(random) ? 0 : between(random, 1, 200)),
        prices(pricer) {}

  plan::Strategy random_plan() {
    plan::Strategy s = random_strategy(random, model);
    s.order = {program::Axis::tensor, program::Axis::context, program::Axis::data, program::Axis::pipeline};
    s.micro_batch = build.parts;
    s.data = std::int64_t{1} << random.below(4);
    random_context(random, s, attention_of(config));
    for (int tried = 0; shared && s.context == 1 && tried < 8; ++tried) random_context(random, s, attention_of(config));
    random_experts(random, s);
    s.bilevel_experts = config.moe->dispatcher == models::Dispatcher::smile;
    s.merged_copies = config.moe->dispatcher == models::Dispatcher::merged;
    s.experts = config.moe->experts;
    s.expert_domain_limit = 0;
    s.shard = 0;
    s.offload = {};
    return s;
  }

  plan::Strategy in_two_copies(plan::Strategy s) {
    s.schedule = "chimera";
    s.pipeline = model.body_layers() > 2 ? 2 * between(random, 1, 2) : 2;
    s.micro_batches = 2 * s.pipeline;
    s.chunks = 1;
    s.stage_layers = random_cut(random, model.body_layers(), s.pipeline);
    return s;
  }

  bool shared;
  core::Random random;
  models::BuildOptions build;
  models::TransformerConfig config;
  ir::Model model;
  plan::Lowering lowering;
  plan::Strategy strategy;
  const program::Program& program;
  RandomPricer pricer;
  predict::PriceTable prices;
};

}  // namespace

TEST_CASE("Both evaluators agree on random mixtures of experts") {
  for (std::uint64_t seed = 1; seed <= test::asked("CAIRN_PLANS", 200); ++seed) {
    Case c(seed);
    INFO("seed " << seed << ", tp " << c.strategy.tensor << ", cp " << c.strategy.context << ", dp " << c.strategy.data
                 << ", ep " << c.strategy.expert);
    predict::Analytic analytic(c.prices);
    const predict::Makespan expected = analytic.makespan(c.program);
    const predict::EventResult event = predict::simulate(c.program, c.prices);
    REQUIRE(event.makespan.time == expected.time);
    REQUIRE(event.makespan.last_stage == expected.last_stage);
    const predict::Breakdown parts = predict::attribute(c.program, c.prices, event.last);
    REQUIRE(parts.other == 0);
    REQUIRE(parts.total() == expected.time);
    // Every rank on its own: the same step.
    const std::vector<predict::SlowRank> named{{.rank = 0, .speed = 1.0}};
    const predict::EventResult unfolded = predict::simulate(c.program, c.prices, {.slow_ranks = named});
    REQUIRE(unfolded.actors == c.program.mesh.ranks());
    REQUIRE(unfolded.makespan.time == expected.time);
  }
}

TEST_CASE("Both evaluators agree where ranks share sequences, by every scheme") {
  const std::uint64_t enough = test::asked("CAIRN_PLANS", 2000);
  std::map<std::string_view, std::int64_t> by_scheme;
  std::uint64_t met = 0, eager = 0;
  for (std::uint64_t seed = 1; met < enough && seed <= 4 * enough; ++seed) {
    Case c(seed, false, true);
    if (c.strategy.context == 1) continue;
    const std::string_view scheme = c.strategy.attention.scheme->name;
    INFO("seed " << seed << ", tp " << c.strategy.tensor << ", cp " << c.strategy.context << " " << scheme << " on "
                 << sequence::text(c.strategy.attention.grid) << ", dp " << c.strategy.data << ", pp "
                 << c.strategy.pipeline);
    const predict::Makespan expected = predict::Analytic(c.prices).makespan(c.program);
    const predict::Makespan event = predict::simulate(c.program, c.prices).makespan;
    REQUIRE(event.time == expected.time);
    REQUIRE(event.last_stage == expected.last_stage);
    ++met;
    ++by_scheme[scheme];
    eager += c.lowering.behaviour().eager_joins ? 1 : 0;
  }
  CHECK(met >= enough);
  CHECK(by_scheme.size() == sequence::schemes().size());
  CHECK(eager > met / 4);
  CHECK(eager < met - met / 4);
}

TEST_CASE("Experts on two stages in both directions: every rank on its own takes the same step") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Case c(seed, true);
    INFO("seed " << seed << ", pp " << c.strategy.pipeline << ", dp " << c.strategy.data << ", ep "
                 << c.strategy.expert);
    REQUIRE(c.program.has_model_copies);
    const core::Picoseconds expected = predict::Analytic(c.prices).makespan(c.program).time;
    const std::vector<predict::SlowRank> named{{.rank = 0, .speed = 1.0}};
    REQUIRE(predict::simulate(c.program, c.prices).makespan.time == expected);
    const predict::EventResult unfolded = predict::simulate(c.program, c.prices, {.slow_ranks = named});
    REQUIRE(unfolded.actors == c.program.mesh.ranks());
    REQUIRE(unfolded.makespan.time == expected);
  }
}

TEST_CASE("A slow rank holds up its experts' group, and through it everybody") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Case c(seed);
    const predict::EventResult even = predict::simulate(c.program, c.prices);
    const std::vector<predict::SlowRank> slow{{.rank = 0, .speed = 0.5}};
    const predict::EventResult held = predict::simulate(c.program, c.prices, {.slow_ranks = slow});
    REQUIRE(held.makespan.time >= even.makespan.time);
  }
}

TEST_CASE("Memory of random mixtures returns to where it began") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Case c(seed);
    INFO("seed " << seed);
    for (std::int32_t stage = 0; stage < static_cast<std::int32_t>(c.program.stages()); ++stage) {
      program::MemoryProfile total;
      for (const program::Pass* pass : predict::passes_of(c.program, stage))
        for (const program::BlockRun& run : pass->runs) {
          total = program::then(total, program::repeated(run.block->profile, run.count));
          total.delta -= static_cast<double>(run.count) * run.block->recorded;  // comes free when the pass ends
        }
      REQUIRE(total.delta == Approx(0.0).margin(1e-6));
    }
  }
}

TEST_CASE("Gradients of experts are sent once, whatever the buckets") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Case c(seed);
    if (c.program.expert_mesh.size(program::Axis::expert_data) == 1 || c.strategy.sharded > plan::Sharded::optimizer)
      continue;
    INFO("seed " << seed);
    double elements = 0.0;
    double sent = 0.0;
    const bool by_shard =
        c.strategy.sharded == plan::Sharded::optimizer && !c.lowering.behaviour().reduce_whole_gradients;
    const program::Collective collective =
        by_shard ? program::Collective::reduce_scatter : program::Collective::all_reduce;
    for (std::int32_t stage = 0; stage < static_cast<std::int32_t>(c.program.stages()); ++stage) {
      const auto add = [&](const program::Pass& pass) {
        sent += whole_bytes(pass, program::Axis::expert_data, collective);
      };
      add(finalize_pass(c.program, stage));
      for (std::int32_t chunk = 0; chunk < c.program.layout().chunks(); ++chunk)
        add(c.program.pass(stage, {.kind = program::PassKind::backward, .chunk = chunk, .special = true}));
    }
    for (const ir::LayerRun& run : c.model.layers)
      elements +=
          static_cast<double>(run.count) * c.lowering.layer_state(c.strategy, static_cast<std::size_t>(run.layer_class))
                                               .elements[program::ParameterGroup::expert];
    REQUIRE(sent == elements * 4);
  }
}
