// Work that shares units: where they suffice nothing changes; where they do not, folding equal ranks changes nothing.
#include "cairn/predict/account/breakdown.h"
#include "cairn/predict/evaluate/event.h"
#include "catch.h"
#include "support/complaints.h"
#include "support/demands.h"
#include "support/prices.h"
#include "support/random_plans.h"
#include "support/share.h"
#include "support/timelines.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

constexpr double k_streams_at_once = 1.0 / (2 * program::k_streams);  // of each unit, messages that come in included

struct HashPriced : RandomPlan {
  HashPriced(std::uint64_t seed, core::Picoseconds scale)
      : RandomPlan(seed),
        pricer(seed, coin(random) ? 1000 : 5, coin(random) ? 0 : between(random, 1, 200), scale),
        prices(pricer) {}
  HashedPricer pricer;
  predict::PriceTable prices;
};

}  // namespace

TEST_CASE("Where units suffice, every instant is that of work alone") {
  for (std::uint64_t seed = 1; seed <= 200 / test::k_share; ++seed) {
    HashPriced c(seed, 1);
    INFO("seed " << seed << ", " << c.strategy.schedule << ", p " << c.strategy.pipeline);
    StatedDemands demands = random_demands({unit(), unit(2), unit(3)}, k_streams_at_once, seed);
    predict::EventOptions options{.slow_ranks = {}, .all_timelines = true};
    const predict::EventResult undisturbed = predict::simulate(c.program, c.prices, options);
    if (seed % 3 == 1)
      options.slow_ranks.push_back({.rank = between(c.random, 0, c.program.mesh.ranks() - 1),
                                    .speed = 0.25,
                                    .from = between(c.random, 0, undisturbed.makespan.time),
                                    .until = between(c.random, 0, 2 * undisturbed.makespan.time)});
    if (seed % 3 == 2) options.jitter_sigma = 0.1;
    const predict::EventResult alone = predict::simulate(c.program, c.prices, options);
    options.demands = &demands;
    const predict::EventResult shared = predict::simulate(c.program, c.prices, options);
    REQUIRE(shared.makespan.time == alone.makespan.time);
    REQUIRE(shared.makespan.last_stage == alone.makespan.last_stage);
    REQUIRE(shared.events == alone.events);
    REQUIRE(shared.actors == alone.actors);
    require_same(shared.last, alone.last);
    REQUIRE(shared.timelines.size() == alone.timelines.size());
    for (std::size_t stage = 0; stage < alone.timelines.size(); ++stage)
      require_same(shared.timelines[stage], alone.timelines[stage]);
    for (const predict::UnitUse& use : shared.uses) {
      REQUIRE(use.mean > 0.0);
      REQUIRE(use.mean <= use.peak);
      REQUIRE(use.peak <= 1.0);
    }
  }
}

TEST_CASE("Every kind of schedule where units suffice: every instant is that of work alone, with a slow rank too") {
  for (const pipeline::Generator& kind : pipeline::generators()) {
    std::int64_t met = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      core::Random random(seed);
      const ir::Model model = random_model(random);
      const std::optional<plan::Strategy> strategy = random_strategy(random, model, kind);
      plan::Lowering lowering = random_lowering(random, model);
      if (!strategy || !test::complaints([&] { (void)lowering.lower(*strategy); }).empty()) continue;
      INFO(kind.kind << " seed " << seed);
      const program::Program& program = lowering.lower(*strategy);
      HashedPricer pricer(seed, 1000, between(random, 0, 50), 1);
      predict::PriceTable prices(pricer);
      StatedDemands demands = random_demands({unit(), unit(2)}, k_streams_at_once, seed);
      predict::EventOptions options{.slow_ranks = {}, .all_timelines = true};
      if (coin(random))
        options.slow_ranks.push_back({.rank = between(random, 0, program.mesh.ranks() - 1), .speed = 0.5});
      const predict::EventResult alone = predict::simulate(program, prices, options);
      options.demands = &demands;
      const predict::EventResult shared = predict::simulate(program, prices, options);
      REQUIRE(shared.makespan.time == alone.makespan.time);
      REQUIRE(shared.events == alone.events);
      require_same(shared.last, alone.last);
      for (std::size_t stage = 0; stage < alone.timelines.size(); ++stage)
        require_same(shared.timelines[stage], alone.timelines[stage]);
      ++met;
    }
    INFO(kind.kind);
    REQUIRE(met > 3);
  }
}

// Instances of one rank each: all of a stage's ranks fare alike. Prices are microseconds, so that rounding to
// picoseconds, which differs with the number of actors, stays below 1e-5 of them.
TEST_CASE("Folding equal ranks together changes nothing where units are scarce") {
  std::int64_t slower = 0;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    HashPriced c(seed, 1'000'000);
    INFO("seed " << seed << ", " << c.strategy.schedule << ", p " << c.strategy.pipeline);
    StatedDemands demands = random_demands({unit(), unit()}, 1.0, seed);
    predict::EventOptions options;
    const predict::EventResult alone = predict::simulate(c.program, c.prices, options);
    options.demands = &demands;
    const predict::EventResult folded = predict::simulate(c.program, c.prices, options);
    StatedDemands again = random_demands({unit(), unit()}, 1.0, seed);
    options.demands = &again;
    for (std::int64_t rank = 0; rank < c.program.mesh.ranks(); ++rank)
      options.slow_ranks.push_back({.rank = rank, .speed = 1.0});
    const predict::EventResult unfolded = predict::simulate(c.program, c.prices, options);
    REQUIRE(folded.makespan.time == Approx(static_cast<double>(unfolded.makespan.time)).epsilon(1e-9).margin(1e3));
    REQUIRE(folded.uses.size() == unfolded.uses.size());
    for (std::size_t i = 0; i < folded.uses.size(); ++i)
      REQUIRE(folded.uses[i].mean == Approx(unfolded.uses[i].mean).epsilon(1e-6));
    if (folded.makespan.time > alone.makespan.time) ++slower;
    const predict::Breakdown parts = predict::attribute(c.program, c.prices, folded.last);
    REQUIRE(parts.other == 0);
    REQUIRE(parts.total() == folded.last.end);
  }
  REQUIRE(slower > 30);
}
