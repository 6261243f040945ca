// Why a step takes as long as it does: causes that add up, whatever the plan, the schedule and the disturbance.
#include "cairn/predict/account/causes.h"

#include <numeric>

#include "cairn/pipeline/sweep.h"
#include "catch.h"
#include "predict/timed.h"
#include "support/complaints.h"
#include "support/prices.h"
#include "support/random_plans.h"
#include "support/share.h"
#include "support/two_products.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

using predict::Cause;

core::Picoseconds sum_of(const predict::Causes& causes) {
  return std::accumulate(causes.parts.begin(), causes.parts.end(), core::Picoseconds{0},
                         [](core::Picoseconds sum, const predict::CauseTime& part) { return sum + part.time; });
}
core::Picoseconds time_of(const predict::Causes& causes, Cause cause) {
  core::Picoseconds sum = 0;
  for (const predict::CauseTime& part : causes.parts)
    if (part.cause == cause) sum += part.time;
  return sum;
}

void require_adds_up(const predict::Account& account, core::Picoseconds step) {
  const predict::Causes& causes = account.causes;
  REQUIRE(sum_of(causes) == step);
  REQUIRE(account.breakdown.total() == step);
  REQUIRE(account.breakdown.other == 0);
  for (std::size_t i = 0; i < causes.parts.size(); ++i) {
    const predict::CauseTime& part = causes.parts[i];
    REQUIRE(part.time > 0);
    REQUIRE(part.stage >= 0);
    REQUIRE(part.stage < std::ssize(causes.stages));
    if (i > 0) REQUIRE(part.time <= causes.parts[i - 1].time);
  }
  const core::Picoseconds longest = *std::max_element(causes.stages.begin(), causes.stages.end());
  for (const core::Picoseconds time : causes.stages) REQUIRE(time >= 0);
  REQUIRE(longest <= step);
  REQUIRE(causes.stages[static_cast<std::size_t>(causes.limiting)] == longest);
  const predict::BubbleParts& bubble = causes.bubble;
  REQUIRE(std::min({bubble.schedule, bubble.imbalance, bubble.transfers, bubble.ranks}) >= 0);
  REQUIRE(bubble.schedule + bubble.imbalance + bubble.transfers + bubble.ranks == account.breakdown.bubble);
}

predict::Account undisturbed(const program::Program& program, predict::PriceTable& prices,
                             core::Picoseconds links = 0) {
  predict::Analytic analytic(prices);
  return predict::account(program, prices, analytic, analytic.makespan(program), links);
}

struct Plan : RandomPlan {
  explicit Plan(std::uint64_t seed)
      : RandomPlan(seed),
        pricer(seed, coin(random) ? 1000 : 5, random.below(4), coin(random) ? 0 : between(random, 1, 200)),
        prices(pricer) {}
  RandomPricer pricer;
  predict::PriceTable prices;
};

plan::Strategy one_layer_each(std::int64_t stages, std::int64_t micro_batches, std::string_view kind) {
  plan::Strategy s;
  s.pipeline = stages;
  s.micro_batches = micro_batches;
  s.schedule = kind;
  return s;
}

}  // namespace

TEST_CASE("Causes add up to the step in whole picoseconds on random plans") {
  for (std::uint64_t seed = 1; seed <= 8500 / test::k_share; ++seed) {
    Plan c(seed);
    INFO("seed " << seed << ", " << c.model.name << ", " << c.strategy.schedule << ", p " << c.strategy.pipeline
                 << ", v " << c.strategy.chunks << ", m " << c.strategy.micro_batches);
    predict::Analytic analytic(c.prices);
    const predict::Makespan work = analytic.makespan(c.program);
    const core::Picoseconds links = between(c.random, 0, 100);
    const predict::Account account = undisturbed(c.program, c.prices, links);
    require_adds_up(account, work.time + links);
    REQUIRE(time_of(account.causes, Cause::links) == links);
    REQUIRE(time_of(account.causes, Cause::ranks) == 0);

    predict::EventResult event = predict::simulate(c.program, c.prices);
    const predict::Account simulated = predict::account(c.program, c.prices, analytic, work, links, &event);
    REQUIRE(simulated.causes.stages == account.causes.stages);
    REQUIRE(simulated.causes.parts.size() == account.causes.parts.size());
  }
}

TEST_CASE("Causes add up under every kind of schedule") {
  std::int64_t met = 0;
  for (const pipeline::Generator& kind : pipeline::generators())
    for (std::uint64_t seed = 1; seed <= 120 / test::k_share; ++seed) {
      core::Random random(seed);
      const ir::Model model = random_model(random);
      const std::optional<plan::Strategy> strategy = random_strategy(random, model, kind);
      if (!strategy) continue;
      INFO("seed " << seed << ", " << model.name << ", " << kind.kind << ", p " << strategy->pipeline << ", v "
                   << strategy->chunks << ", m " << strategy->micro_batches);
      plan::Lowering lowering = random_lowering(random, model);
      if (test::contains(test::complaints([&] { (void)lowering.lower(*strategy); }), "is shared by two stages"))
        continue;  // updates within a step and parameters on two stages do not go together
      const program::Program& program = lowering.lower(*strategy);
      RandomPricer pricer(seed, coin(random) ? 1000 : 5, random.below(4), coin(random) ? 0 : between(random, 1, 200));
      predict::PriceTable prices(pricer);
      require_adds_up(undisturbed(program, prices), predict::Analytic(prices).makespan(program).time);
      ++met;
    }
  CHECK(met >= (test::k_share == 1 ? 2000 : 0));
}

TEST_CASE("Causes add up where ranks are slow and computation jitters") {
  core::Picoseconds waited = 0;
  for (std::uint64_t seed = 1; seed <= 600 / test::k_share; ++seed) {
    Plan c(seed);
    INFO("seed " << seed);
    predict::EventOptions options{
        .slow_ranks = {{.rank = between(c.random, 0, c.program.mesh.ranks() - 1), .speed = coin(c.random) ? 0.5 : 0.1}},
        .jitter_sigma = coin(c.random) ? 0.0 : 0.1,
        .passes = true};
    predict::EventResult event = predict::simulate(c.program, c.prices, options);
    const predict::Makespan work = event.makespan;
    predict::Analytic analytic(c.prices);
    const predict::Account account = predict::account(c.program, c.prices, analytic, work, 0, &event);
    require_adds_up(account, work.time);
    waited += time_of(account.causes, Cause::ranks);
  }
  CHECK(waited > 0);
}

TEST_CASE("With equal stages and free transfers only computation and the schedule remain") {
  for (const pipeline::Generator& kind : pipeline::generators())
    for (const std::int64_t p : {2, 4})
      for (const std::int64_t m : {2 * p, 4 * p}) {
        const pipeline::Schedule schedule = pipeline::generate(
            kind.kind, {.stages = static_cast<std::int32_t>(p), .micro_batches = static_cast<std::int32_t>(m)});
        plan::Strategy s = one_layer_each(p, m, kind.kind);
        s.stage_layers.assign(static_cast<std::size_t>(schedule.chain_length), 1);
        const ir::Model model = two_products({.layers = schedule.chain_length});
        INFO(kind.kind << " p " << p << " m " << m);
        Timed timed(model, s, {.kernels = kernels_of_100(), .transfers = {}});
        const core::Picoseconds step = timed.analytic().time;
        const predict::Causes causes = undisturbed(timed.program(), timed.table()).causes;
        for (const predict::CauseTime& part : causes.parts)
          REQUIRE((part.cause == Cause::compute || part.cause == Cause::schedule));
        // Six kernels of 100 for each layer: two forward, and two for either gradient.
        core::Picoseconds busy = 0;
        for (const pipeline::Operation& operation : schedule.row(causes.limiting))
          busy += operation.phase == pipeline::Phase::backward    ? 400
                  : operation.phase == pipeline::Phase::optimizer ? 0
                                                                  : 200;
        REQUIRE(time_of(causes, Cause::compute) == busy);
        REQUIRE(time_of(causes, Cause::schedule) == step - busy);
      }
}

TEST_CASE("A stage with twice the layers of the others is named, and its excess is imbalance") {
  for (const char* kind : {"gpipe", "1f1b", "interleaved-1f1b", "zb-h1"})
    for (const std::int64_t p : {2, 3, 5, 8})
      for (std::int64_t heavy = 0; heavy < p; ++heavy) {
        const std::int64_t m = 3 * p;
        plan::Strategy s = one_layer_each(p, m, kind);
        s.chunks = std::string_view(kind) == "interleaved-1f1b" ? 2 : 1;
        for (std::int64_t i = 0; i < p * s.chunks; ++i) s.stage_layers.push_back(i % p == heavy ? 2 : 1);
        const ir::Model model = two_products({.layers = (p + 1) * s.chunks});
        INFO(kind << " p " << p << " heavy " << heavy);
        Timed timed(model, s, {.kernels = kernels_of_100(), .transfers = {}});
        const predict::Causes causes = undisturbed(timed.program(), timed.table()).causes;
        REQUIRE(causes.limiting == heavy);
        // The average stage holds (p + 1) / p layers for each chunk.
        const core::Picoseconds layer = s.chunks * m * 600;
        REQUIRE(time_of(causes, Cause::imbalance) == 2 * layer - layer * (p + 1) / p);
        REQUIRE(time_of(causes, Cause::compute) == layer * (p + 1) / p);
      }
}

TEST_CASE("Messages that nothing hides are named with the stage that sends them") {
  const std::int64_t p = 3, m = 1;
  plan::Strategy s = one_layer_each(p, m, "1f1b");
  s.stage_layers = {1, 1, 1};
  const ir::Model model = two_products({.layers = p});
  Timed timed(model, s, {.kernels = kernels_of_100(), .transfers = {{program::Axis::pipeline, 70}}});
  const predict::Account account = undisturbed(timed.program(), timed.table());
  // Down and up again: 200 + 70 + 200 + 70 + 200, then 400 + 70 + 400 + 70 + 400; stage 0 ends last.
  REQUIRE(account.causes.limiting == 0);
  REQUIRE(time_of(account.causes, Cause::compute) == 600);
  REQUIRE(time_of(account.causes, Cause::schedule) == 1200);
  REQUIRE(time_of(account.causes, Cause::message) == 280);
  for (const predict::CauseTime& part : account.causes.parts)
    if (part.cause == Cause::message) REQUIRE(part.time == (part.stage == 1 ? 140 : 70));
  // Of the rank's own account, the last message is pipeline exposed and the rest is bubble.
  REQUIRE(account.causes.bubble.schedule == 1200);
  REQUIRE(account.causes.bubble.transfers == 210);
}
