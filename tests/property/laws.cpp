// Laws every evaluation obeys, on random plans.
#include <numeric>

#include "cairn/predict/account/breakdown.h"
#include "cairn/predict/account/memory.h"
#include "cairn/predict/evaluate/analytic.h"
#include "cairn/predict/evaluate/event.h"
#include "catch.h"
#include "support/prices.h"
#include "support/random_plans.h"
#include "support/share.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

core::Picoseconds time_of(const program::Program& program, predict::Pricer& pricer) {
  predict::PriceTable prices(pricer);
  return predict::Analytic(prices).makespan(program).time;
}

// One price raised, all others as `base` has them.
class OneDearer final : public predict::Pricer {
 public:
  OneDearer(HashedPricer& base, int which, core::Picoseconds by) : base_(base), which_(which), by_(by) {}
  predict::Price shard(const ir::Shard& shard) override { return raised(base_.shard(shard)); }
  predict::Price transfer(const program::Transfer& transfer) override { return raised(base_.transfer(transfer)); }
  predict::Price copy(const program::Copy& copy) override { return raised(base_.copy(copy)); }
  predict::Price processor(const program::OnProcessor& work) override { return raised(base_.processor(work)); }
  predict::Price host(program::HostWork work) override { return raised(base_.host(work)); }
  predict::Price interference(const program::Interference& of) override { return raised(base_.interference(of)); }
  core::Picoseconds host_per_kernel() const override { return base_.host_per_kernel(); }

 private:
  predict::Price raised(predict::Price price) {
    if (which_-- == 0) price.duration += by_;
    return price;
  }
  HashedPricer& base_;
  int which_;
  core::Picoseconds by_;
};

// 1F1B whose forward passes leave activations and nothing else.
bool in_plain_pairs(const plan::Strategy& strategy) {
  return strategy.schedule == "1f1b" && strategy.chunks == 1 && strategy.sharded <= plan::Sharded::optimizer &&
         strategy.offload == plan::Offload{};
}

}  // namespace

TEST_CASE("One lowering, price table and evaluator for many strategies answer as fresh ones do") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    core::Random random(seed);
    const ir::Model model = random_model(random);
    const plan::ParameterTreatment treatment = random_treatment(random);
    const plan::FrameworkBehaviour behaviour = random_behaviour(random);
    HashedPricer pricer(seed, 1000, between(random, 0, 20));
    plan::Lowering shared(model, k_random_plan_sequence, treatment, 0, behaviour);
    predict::PriceTable shared_prices(pricer);
    predict::Analytic shared_analytic(shared_prices);
    for (std::size_t trial = 0; trial < 60 / test::k_share; ++trial) {
      const plan::Strategy strategy = random_strategy(random, model);
      const program::Program& program = shared.lower(strategy);
      const predict::Makespan got = shared_analytic.makespan(program);
      const double memory = predict::peak_memory(program);

      plan::Lowering lowering(model, k_random_plan_sequence, treatment, 0, behaviour);
      predict::PriceTable prices(pricer);
      predict::Analytic analytic(prices);
      const program::Program& fresh = lowering.lower(strategy);
      const predict::Makespan expected = analytic.makespan(fresh);
      INFO("seed " << seed << " trial " << trial);
      REQUIRE(got.time == expected.time);
      REQUIRE(got.last_stage == expected.last_stage);
      REQUIRE(memory == predict::peak_memory(fresh));
      for (std::size_t stage = 0; stage < fresh.stages(); ++stage) {
        REQUIRE(fresh.stage(stage).resident == program.stage(stage).resident);
        REQUIRE(fresh.stage(stage).body_layers == program.stage(stage).body_layers);
      }
    }
  }
}

TEST_CASE("The floor of a plan's memory is no more than it holds, and no less than it holds all the time") {
  int held_ahead = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    core::Random random(seed);
    const ir::Model model = random_model(random);
    const plan::ParameterTreatment treatment = random_treatment(random);
    const plan::FrameworkBehaviour behaviour = random_behaviour(random);
    plan::Lowering lowering(model, k_random_plan_sequence, treatment, 0, behaviour);
    for (std::size_t trial = 0; trial < 60 / test::k_share; ++trial) {
      const plan::Strategy strategy = random_strategy(random, model);
      const double floor = lowering.memory_floor(strategy);
      INFO("seed " << seed << " trial " << trial);
      REQUIRE(lowering.memory_floor(strategy) == floor);
      const program::Program& program = lowering.lower(strategy);
      REQUIRE(floor <= predict::peak_memory(program));
      for (std::size_t stage = 0; stage < program.stages(); ++stage) {
        program::CategoryBytes bytes = program.stage(stage).resident;
        // Some of these stay all the same.
        if (strategy.offload.parameters != plan::Home::device)
          bytes[static_cast<std::size_t>(program::Category::parameters)] = 0.0;
        const double resident = std::accumulate(bytes.begin(), bytes.end(), 0.0);
        REQUIRE(floor >= resident * (1.0 - 1e-9));
        if (!in_plain_pairs(strategy)) continue;
        // Before its first backward pass stage k has run forward p - k times, or as often as there are micro-batches.
        const auto ahead = std::min(strategy.micro_batches, strategy.pipeline - static_cast<std::int64_t>(stage));
        const double kept = program.pass(static_cast<std::int32_t>(stage), {}).profile.delta;
        REQUIRE(floor >= (resident + static_cast<double>(ahead) * kept) * (1.0 - 1e-9));
        held_ahead += ahead > 1 && kept > 0.0 ? 1 : 0;
      }
    }
  }
  CHECK(held_ahead > 20);
}

TEST_CASE("All prices times k: the step times k") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    core::Random random(seed);
    const ir::Model model = random_model(random);
    plan::Lowering lowering = random_lowering(random, model);
    plan::Strategy strategy = random_strategy(random, model);
    // Shares of one price are rounded, so that they add up to it.
    if (strategy.tensor_pieces.kind == plan::TensorPieces::Kind::triggered) strategy.tensor_pieces = {};
    const program::Program& program = lowering.lower(strategy);
    HashedPricer once(seed, 1000, 5);
    HashedPricer seven(seed, 1000, 5, 7);
    REQUIRE(time_of(program, seven) == 7 * time_of(program, once));
  }
}

TEST_CASE("A dearer kernel or message never lets the step end earlier") {
  for (std::uint64_t seed = 1; seed <= 200 / test::k_share; ++seed) {
    core::Random random(seed);
    const ir::Model model = random_model(random);
    plan::Lowering lowering = random_lowering(random, model);
    const program::Program& program = lowering.lower(random_strategy(random, model));
    HashedPricer base(seed, 1000, between(random, 0, 20));
    const core::Picoseconds before = time_of(program, base);
    OneDearer dearer(base, static_cast<int>(random.below(60)), 100);
    REQUIRE(time_of(program, dearer) >= before);
  }
}

TEST_CASE(
    "The step takes at least the computation of any stage, at least each stream's work, and every stage ends within "
    "it") {
  for (std::uint64_t seed = 1; seed <= 200 / test::k_share; ++seed) {
    core::Random random(seed);
    const ir::Model model = random_model(random);
    plan::Lowering lowering = random_lowering(random, model);
    const program::Program& program = lowering.lower(random_strategy(random, model));
    HashedPricer pricer(seed, 1000, between(random, 0, 20));
    predict::PriceTable prices(pricer);
    predict::Analytic analytic(prices);
    const core::Picoseconds time = analytic.makespan(program).time;
    for (std::int32_t stage = 0; stage < static_cast<std::int32_t>(program.stages()); ++stage) {
      const predict::StageTimeline timeline = analytic.timeline(program, stage);
      REQUIRE(timeline.end <= time);
      for (const auto& stream : timeline.steps) {
        core::Picoseconds work = 0;
        for (const predict::Span& span : stream) work += span.end - span.start;
        REQUIRE(work <= time);
      }
    }
  }
}

TEST_CASE("Jitter on every rank: repeatable, in order, with parts that add up") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    core::Random random(seed);
    const ir::Model model = random_model(random);
    plan::Lowering lowering = random_lowering(random, model);
    const program::Program& program = lowering.lower(random_strategy(random, model));
    HashedPricer pricer(seed, 100'000, between(random, 0, 200));
    predict::PriceTable prices(pricer);
    const predict::EventOptions options{
        .slow_ranks = {{.rank = 0, .speed = 0.5}}, .jitter_sigma = 0.2, .seed = seed, .all_timelines = true};
    const predict::EventResult result = predict::simulate(program, prices, options);
    REQUIRE(result.actors == program.mesh.ranks());
    const predict::EventResult again = predict::simulate(program, prices, options);
    REQUIRE(result.makespan.time == again.makespan.time);
    REQUIRE(result.events == again.events);
    for (const predict::StageTimeline& timeline : result.timelines) {
      for (const auto& stream : timeline.steps)
        for (std::size_t i = 1; i < stream.size(); ++i) REQUIRE(stream[i - 1].end <= stream[i].start);
      const predict::Breakdown parts = predict::attribute(program, prices, timeline);
      REQUIRE(parts.other == 0);
      REQUIRE(parts.total() == timeline.end);
    }
    REQUIRE(predict::attribute(program, prices, result.last).total() == result.makespan.time);
  }
}

TEST_CASE("A slower rank never shortens the step, and one that is slow for ever at most stretches it so") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    core::Random random(seed);
    const ir::Model model = random_model(random);
    plan::Lowering lowering = random_lowering(random, model);
    const program::Program& program = lowering.lower(random_strategy(random, model));
    HashedPricer pricer(seed, 1000, 0);
    predict::PriceTable prices(pricer);
    const core::Picoseconds healthy = predict::simulate(program, prices).makespan.time;
    const std::int64_t rank = between(random, 0, program.mesh.ranks() - 1);
    const core::Picoseconds half =
        predict::simulate(program, prices, {.slow_ranks = {{.rank = rank, .speed = 0.5}}}).makespan.time;
    const core::Picoseconds quarter =
        predict::simulate(program, prices, {.slow_ranks = {{.rank = rank, .speed = 0.25}}}).makespan.time;
    REQUIRE(healthy <= half);
    REQUIRE(half <= quarter);
    REQUIRE(half <= 2 * healthy);
    REQUIRE(quarter <= 4 * healthy);
  }
}
