// One Program, two evaluators: with nothing shared and nothing disturbed they agree bit for bit.
#include <numeric>

#include "cairn/predict/account/breakdown.h"
#include "cairn/predict/account/memory.h"
#include "cairn/predict/evaluate/analytic.h"
#include "cairn/predict/evaluate/event.h"
#include "catch.h"
#include "support/complaints.h"
#include "support/prices.h"
#include "support/random_plans.h"
#include "support/share.h"
#include "support/timelines.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

void require_same_parts(const predict::Breakdown& a, const predict::Breakdown& b) {
  REQUIRE(a.compute == b.compute);
  REQUIRE(a.recompute == b.recompute);
  REQUIRE(a.optimizer == b.optimizer);
  REQUIRE(a.launch == b.launch);
  REQUIRE(a.exposed == b.exposed);
  REQUIRE(a.bubble == b.bubble);
  REQUIRE(a.host == b.host);
}

void require_in_order(const predict::StageTimeline& timeline) {
  for (const auto& stream : timeline.steps)
    for (std::size_t i = 0; i < stream.size(); ++i) {
      REQUIRE(stream[i].start <= stream[i].end);
      if (i > 0) REQUIRE(stream[i - 1].end <= stream[i].start);
    }
}

void require_adds_up(const program::Program& program, predict::PriceTable& prices,
                     const predict::StageTimeline& timeline) {
  const predict::Breakdown parts = predict::attribute(program, prices, timeline);
  REQUIRE(parts.other == 0);
  REQUIRE(parts.total() == timeline.end);
  for (const core::Picoseconds part : parts.exposed) REQUIRE(part >= 0);
  REQUIRE(std::min({parts.compute, parts.recompute, parts.optimizer, parts.launch, parts.bubble, parts.host}) >= 0);
}

// A rank of speed 1 is like any other, but it is named, so nothing is folded into it.
std::vector<predict::SlowRank> every_rank(const program::Program& program) {
  std::vector<predict::SlowRank> result;
  for (std::int64_t rank = 0; rank < program.mesh.ranks(); ++rank) result.push_back({.rank = rank, .speed = 1.0});
  return result;
}

struct Case : RandomPlan {
  explicit Case(std::uint64_t seed)
      : RandomPlan(seed),
        pricer(seed, coin(random) ? 1000 : 5, random.below(4), coin(random) ? 0 : between(random, 1, 200)),
        prices(pricer) {}
  RandomPricer pricer;
  predict::PriceTable prices;
};

}  // namespace

namespace {

// What the samples of one instant or of the whole step end in is what memory accounting knows without any times.
void require_memory_over_time(const program::Program& program, const predict::StageTimeline& timeline) {
  const std::vector<predict::MemorySample> samples = predict::memory_over_time(program, timeline);
  const program::CategoryBytes& resident = program.stage(static_cast<std::size_t>(timeline.stage)).resident;
  REQUIRE_FALSE(samples.empty());
  REQUIRE(samples.front().time == 0);
  double most = 0.0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    most = std::max(most, samples[i].bytes);
    if (i == 0) continue;
    REQUIRE(samples[i - 1].time <= samples[i].time);
    REQUIRE(samples[i - 1].bytes != samples[i].bytes);
    // Of one instant the most and what stays.
    if (samples[i - 1].time == samples[i].time) {
      REQUIRE(samples[i - 1].bytes > samples[i].bytes);
      REQUIRE((i < 2 || samples[i - 2].time < samples[i].time));
    }
  }
  REQUIRE(most == predict::stage_memory(program, timeline.stage).allocated_peak);
  REQUIRE(samples.back().bytes == std::accumulate(resident.begin(), resident.end(), 0.0));
  REQUIRE(samples.back().time <= timeline.end);
}

void require_agreement(const program::Program& program, predict::PriceTable& prices) {
  predict::Analytic analytic(prices);
  const predict::Makespan expected = analytic.makespan(program);
  const predict::EventResult event = predict::simulate(program, prices, {.slow_ranks = {}, .all_timelines = true});
  REQUIRE(event.makespan.time == expected.time);
  REQUIRE(event.makespan.last_stage == expected.last_stage);
  require_same(event.last, analytic.timeline(program, expected.last_stage));
  require_same_parts(predict::attribute(program, prices, event.last),
                     predict::attribute(program, prices, analytic.timeline(program, expected.last_stage)));
  REQUIRE(event.last.end == expected.time);
  require_adds_up(program, prices, event.last);
  REQUIRE(event.timelines.size() == program.stages());
  for (const predict::StageTimeline& timeline : event.timelines) {
    require_in_order(timeline);
    require_same(timeline, analytic.timeline(program, timeline.stage));
    require_adds_up(program, prices, timeline);
    require_memory_over_time(program, timeline);
  }
}

void require_memory_returns(const program::Program& program) {
  double most = 0.0;
  for (std::int32_t stage = 0; stage < static_cast<std::int32_t>(program.stages()); ++stage) {
    program::MemoryProfile total;
    for (const program::Pass* pass : predict::passes_of(program, stage)) {
      for (const program::BlockRun& run : pass->runs) {
        REQUIRE(run.block->profile.peak >= run.block->profile.delta);
        total = program::then(total, program::repeated(run.block->profile, run.count));
        total.delta -= static_cast<double>(run.count) * run.block->recorded;  // comes free when the pass ends
      }
    }
    REQUIRE(total.delta == 0.0);
    const predict::StageMemory memory = predict::stage_memory(program, stage);
    double sum = 0.0;
    for (const double part : memory.at_peak) {
      REQUIRE(part >= 0.0);
      sum += part;
    }
    REQUIRE(memory.allocated_peak == sum);
    most = std::max(most, memory.allocated_peak);
  }
  REQUIRE(predict::peak_memory(program) == most);
}

}  // namespace

TEST_CASE("Analytical and event evaluation agree in every picosecond on random plans") {
  for (std::uint64_t seed = 1; seed <= 1500 / test::k_share; ++seed) {
    Case c(seed);
    INFO("seed " << seed << ", " << c.model.name << ", " << c.strategy.schedule << ", p " << c.strategy.pipeline
                 << ", v " << c.strategy.chunks << ", m " << c.strategy.micro_batches);
    require_agreement(c.program, c.prices);
  }
}

namespace {

// Random plans of every kind of schedule, each with random prices; `longer`: times the micro-batches of a short step. Of
// every kind more than `least` are met, where tests run in full.
template <class Check>
void for_every_kind(std::uint64_t seeds, std::int64_t longer, std::int64_t least, Check check) {
  for (const pipeline::Generator& kind : pipeline::generators()) {
    std::int64_t met = 0;
    for (std::uint64_t seed = 1; seed <= seeds / test::k_share; ++seed) {
      core::Random random(seed);
      const ir::Model model = random_model(random);
      const std::optional<plan::Strategy> strategy = random_strategy(random, model, kind, longer);
      if (!strategy) continue;
      INFO("seed " << seed << ", " << model.name << ", " << kind.kind << ", p " << strategy->pipeline << ", v "
                   << strategy->chunks << ", m " << strategy->micro_batches);
      plan::Lowering lowering = random_lowering(random, model);
      // Updates within a step and parameters on two stages do not go together.
      if (test::contains(test::complaints([&] { (void)lowering.lower(*strategy); }), "is shared by two stages"))
        continue;
      const program::Program& program = lowering.lower(*strategy);
      RandomPricer pricer(seed, coin(random) ? 1000 : 5, random.below(4), coin(random) ? 0 : between(random, 1, 200));
      predict::PriceTable prices(pricer);
      check(program, prices);
      ++met;
    }
    INFO(kind.kind);
    REQUIRE(met > (test::k_share == 1 ? least : 0));
  }
}

}  // namespace

TEST_CASE("Every kind of schedule: the evaluators agree on random plans, and memory returns to where it began") {
  for_every_kind(120, 1, 20, [](const program::Program& program, predict::PriceTable& prices) {
    require_agreement(program, prices);
    require_memory_returns(program);
  });
}

TEST_CASE("Long steps: what is jumped over ends when it would have") {
  for_every_kind(60, 12, 10, [](const program::Program& program, predict::PriceTable& prices) {
    predict::Analytic analytic(prices);
    core::Picoseconds last = 0;
    for (std::int32_t stage = 0; stage < static_cast<std::int32_t>(program.stages()); ++stage)
      last = std::max(last, analytic.timeline(program, stage).end);
    REQUIRE(analytic.makespan(program).time == last);
  });
}

TEST_CASE("Steady schedules are steady as passes, too: nearly all of a long step is repetition") {
  const auto covered = [](std::string_view kind, const pipeline::Settings& settings) {
    const pipeline::Schedule schedule = pipeline::generate(kind, settings);
    const auto order = program::PassOrder::of(schedule, pipeline::sweep_order(schedule));
    std::int64_t steps = 0;
    for (const pipeline::Repetition& stretch : order.repetitions) steps += stretch.last - stretch.first;
    return static_cast<double>(steps) / static_cast<double>(order.sweep.size());
  };
  CHECK(covered("1f1b", {.stages = 4, .micro_batches = 400}) > 0.95);
  CHECK(covered("gpipe", {.stages = 4, .micro_batches = 400}) > 0.95);
  CHECK(covered("interleaved-1f1b", {.stages = 4, .micro_batches = 400, .chunks = 2}) > 0.9);
}

TEST_CASE("Folding equal ranks together changes nothing") {
  for (std::uint64_t seed = 1; seed <= 150 / test::k_share; ++seed) {
    Case c(seed);
    INFO("seed " << seed);
    const predict::EventResult folded = predict::simulate(c.program, c.prices);
    const predict::EventResult unfolded = predict::simulate(c.program, c.prices, {.slow_ranks = every_rank(c.program)});
    REQUIRE(folded.actors == static_cast<std::int64_t>(c.program.stages()));
    REQUIRE(unfolded.actors == c.program.mesh.ranks());
    REQUIRE(folded.makespan.time == unfolded.makespan.time);
    REQUIRE(folded.makespan.last_stage == unfolded.makespan.last_stage);

    // With stragglers, too: the same ranks slow, once alone and once among named ones.
    std::vector<predict::SlowRank> slow;
    for (int i = 0; i < 2; ++i)
      slow.push_back({.rank = between(c.random, 0, c.program.mesh.ranks() - 1),
                      .speed = coin(c.random) ? 0.5 : 0.25,
                      .from = between(c.random, 0, folded.makespan.time),
                      .until = between(c.random, 0, 2 * folded.makespan.time)});
    std::vector<predict::SlowRank> named = every_rank(c.program);
    named.insert(named.end(), slow.begin(), slow.end());
    const predict::EventResult few = predict::simulate(c.program, c.prices, {.slow_ranks = slow});
    const predict::EventResult all = predict::simulate(c.program, c.prices, {.slow_ranks = named});
    REQUIRE(few.makespan.time == all.makespan.time);
    REQUIRE(few.makespan.time >= folded.makespan.time);
    require_in_order(few.last);
    require_adds_up(c.program, c.prices, few.last);
    require_adds_up(c.program, c.prices, all.last);
  }
}

TEST_CASE("Memory returns to where it began, and the cheap peak is the replayed one") {
  for (std::uint64_t seed = 1; seed <= 600 / test::k_share; ++seed) {
    Case c(seed);
    INFO("seed " << seed << ", " << c.model.name);
    require_memory_returns(c.program);
  }
}
