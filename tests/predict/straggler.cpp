// Slow ranks and jitter move the event result by amounts derived by hand.
#include <cmath>
#include <set>

#include "cairn/core/diagnostics.h"
#include "catch.h"
#include "predict/timed.h"
#include "support/two_products.h"

using namespace cairn;
using namespace cairn::testing;
using predict::SlowRank;

namespace {

plan::Strategy single(std::int64_t layers = 1) {
  plan::Strategy s;
  s.stage_layers = {layers};
  return s;
}
plan::Strategy tensor_pair() {
  plan::Strategy s = single();
  s.tensor = 2;
  return s;
}

}  // namespace

TEST_CASE("A slow rank of a tensor group delays its own kernels until they join, then everyone") {
  // As priced: fc1 0-100, fc2 100-200, all-reduce 200-210, backward 210-510, all-reduce 510-520 beside 510-610, update
  // 610-617.
  const ir::Model model = two_products();
  Timed timed(model, tensor_pair(), {.kernels = kernels_of_100(7), .transfers = {{program::Axis::tensor, 10}}});
  REQUIRE(timed.analytic().time == 617);
  REQUIRE(timed.event().makespan.time == 617);
  // Rank 1 at half speed until 150: 75 of fc1 done, the rest by 175, fc2 by 275. The all-reduce waits: +75 for both.
  const predict::EventResult result = timed.event({{.rank = 1, .speed = 0.5, .until = 150}});
  REQUIRE(result.makespan.time == 617 + 75);
  REQUIRE(result.actors == 2);
  // Both end together; the lower rank is reported, which only waited.
  const predict::Breakdown parts = timed.parts(result.last);
  REQUIRE(parts.compute == 600);
  REQUIRE(parts.bubble == 75);
  REQUIRE(parts.exposed[static_cast<std::size_t>(program::Axis::tensor)] == 10);
  REQUIRE(parts.optimizer == 7);
  // Slow only while the last weight gradient runs, 520 to 560: nobody joins after it, the rank alone ends 20 later.
  const predict::EventResult late = timed.event({{.rank = 1, .speed = 0.5, .from = 520, .until = 560}});
  REQUIRE(late.makespan.time == 617 + 20);
  REQUIRE(timed.parts(late.last).compute == 620);
  REQUIRE(timed.parts(late.last).bubble == 0);
}

TEST_CASE("Delays of ranks that meet do not add, they overlap") {
  // Rank 0 loses 50 in fc1 (0-100 at half speed), rank 1 loses 50 in fc2 (100-200): both reach the all-reduce at 250.
  const ir::Model model = two_products();
  Timed timed(model, tensor_pair(), {.kernels = kernels_of_100(7), .transfers = {{program::Axis::tensor, 10}}});
  const std::vector<SlowRank> both{{.rank = 0, .speed = 0.5, .until = 100},
                                   {.rank = 1, .speed = 0.5, .from = 100, .until = 200}};
  REQUIRE(timed.event(both).makespan.time == 617 + 50);
  // Before and after the join they do add: rank 1 loses 50 between 260 and 360.
  const std::vector<SlowRank> apart{{.rank = 0, .speed = 0.5, .until = 100},
                                    {.rank = 1, .speed = 0.5, .from = 260, .until = 360}};
  REQUIRE(timed.event(apart).makespan.time == 617 + 100);
}

TEST_CASE("Window edges, several windows of one rank, and fast ranks") {
  const ir::Model model = two_products();
  Timed timed(model, single(), {.kernels = kernels_of_100(7), .transfers = {}});
  REQUIRE(timed.event().makespan.time == 607);
  // Half speed exactly while fc2 would run: it takes 150.
  REQUIRE(timed.event({{.rank = 0, .speed = 0.5, .from = 100, .until = 200}}).makespan.time == 657);
  // From the end on, or in an empty window: nothing.
  REQUIRE(timed.event({{.rank = 0, .speed = 0.5, .from = 607}}).makespan.time == 607);
  REQUIRE(timed.event({{.rank = 0, .speed = 0.5, .from = 50, .until = 50}}).makespan.time == 607);
  // Windows that overlap multiply: by 200 fc1 has done 40/2 + 40/4 + 120/2 = 90 and ends at 210.
  REQUIRE(timed.event({{.rank = 0, .speed = 0.5, .until = 200}, {.rank = 0, .speed = 0.5, .from = 40, .until = 80}})
              .makespan.time == 607 + 110);
  // Twice as fast until 50: fc1 ends there.
  REQUIRE(timed.event({{.rank = 0, .speed = 2.0, .until = 50}}).makespan.time == 557);
  // For ever at a quarter: computation takes four times as long.
  REQUIRE(timed.event({{.rank = 0, .speed = 0.25}}).makespan.time == 4 * 607);
}

TEST_CASE("A slow data-parallel replica holds the others up only at the gradient reduction") {
  const ir::Model model = two_products();
  plan::Strategy s = single();
  s.data = 4;
  s.micro_batches = 3;
  Timed timed(model, s, {.kernels = kernels_of_100(7), .transfers = {{program::Axis::data, 50}}});
  REQUIRE(timed.analytic().time == 3 * 600 + 50 + 7);
  // Half speed for ever: 3600, then the reduction, then its own update at half speed.
  const predict::EventResult slow = timed.event({{.rank = 2, .speed = 0.5}});
  REQUIRE(slow.makespan.time == 3600 + 50 + 14);
  REQUIRE(slow.actors == 2);  // the slow one, and one for the three others
  REQUIRE(timed.parts(slow.last).bubble == 0);
  // For 600: loses 300. Rank 0 ends with it and waited 300.
  const predict::EventResult once = timed.event({{.rank = 2, .speed = 0.5, .until = 600}});
  REQUIRE(once.makespan.time == 1800 + 300 + 50 + 7);
  REQUIRE(timed.parts(once.last).bubble == 300);
  REQUIRE(timed.parts(once.last).exposed[static_cast<std::size_t>(program::Axis::data)] == 50);
}

TEST_CASE("A slow pipeline stage sets the pace of the others") {
  // Two stages, three micro-batches, all forwards first. Stage 1 at half speed: F 400, B 800: F 200-600-1000-1400, B to
  // 2200, 3000, 3800; stage 0 follows the last gradient with B 400. As priced: (2 - 1 + 3) 600.
  const ir::Model model = two_products({.layers = 2});
  plan::Strategy s;
  s.pipeline = 2;
  s.micro_batches = 3;
  s.schedule = "gpipe";
  s.stage_layers = {1, 1};
  Timed timed(model, s, {.kernels = kernels_of_100(7), .transfers = {}});
  REQUIRE(timed.event().makespan.time == 2400 + 7);
  const predict::EventResult slow = timed.event({{.rank = 1, .speed = 0.5}});
  REQUIRE(slow.makespan.time == 3800 + 400 + 7);
  REQUIRE(slow.makespan.last_stage == 0);
  const predict::Breakdown parts = timed.parts(slow.last);
  REQUIRE(parts.compute == 1800);
  REQUIRE(parts.bubble == 4200 - 1800);
}

TEST_CASE("A slow rank in one tensor group of a pipeline reaches its own replica first") {
  // tp 2, dp 2, pp 2; rank = tp + 2 dp + 4 pp. Rank 4 (stage 1, replica 0) loses 100 in its forward pass; replica 1 is
  // not touched until the reduction at the end of the step. One micro-batch: F 0-200, F 200-400, B 400-800 on stage 1,
  // 800-1200 on stage 0.
  const ir::Model model = two_products({.layers = 2});
  plan::Strategy s;
  s.tensor = s.data = s.pipeline = 2;
  s.stage_layers = {1, 1};
  Timed timed(model, s, {.kernels = kernels_of_100(7), .transfers = {{program::Axis::data, 30}}});
  REQUIRE(timed.event().makespan.time == 1200 + 30 + 7);
  const predict::EventResult slow = timed.event({{.rank = 4, .speed = 0.5, .from = 200, .until = 400}});
  REQUIRE(slow.makespan.time == 1300 + 30 + 7);
  REQUIRE(slow.actors == 2 * 2 * 2);
  // Rank 0 is of the same replica and waits for the gradient 200 - 900; ranks of replica 1 wait for it at the reduction
  // instead.
  REQUIRE(slow.last.stage == 0);
}

TEST_CASE("Ranks and speeds that cannot be are refused with place and remedy") {
  const ir::Model model = two_products();
  Timed timed(model, tensor_pair(), {.kernels = kernels_of_100(7), .transfers = {}});
  const auto message = [&](SlowRank slow) -> std::string {
    try {
      (void)timed.event({slow});
    } catch (const core::ConfigurationError& error) {
      REQUIRE(error.diagnostics().size() == 1);
      REQUIRE(error.diagnostics()[0].key_path == "simulation.faults");
      REQUIRE_FALSE(error.diagnostics()[0].hint.empty());
      return error.diagnostics()[0].message;
    }
    return {};
  };
  REQUIRE(message({.rank = 2}) == "rank 2 does not exist");
  REQUIRE(message({.rank = -1}) == "rank -1 does not exist");
  REQUIRE(message({.rank = 0, .speed = 0.0}) == "rank 0 has compute speed 0");
  REQUIRE_FALSE(message({.rank = 0, .speed = -1.0}).empty());
  REQUIRE_FALSE(message({.rank = 0, .speed = std::nan("")}).empty());
  REQUIRE(message({.rank = 0, .speed = 1e-30}) ==
          "rank 0 is so slow that its work ends later than simulated time reaches, 26.69 d");
}

TEST_CASE("Jitter: repeatable by seed, different between seeds and ranks, and of mean one") {
  constexpr Picoseconds k_long = 1'000'000'000;
  std::map<std::string, Picoseconds> kernels = kernels_of_100(7);
  for (auto& [name, price] : kernels) price = k_long;
  const ir::Model model = two_products();
  Timed timed(model, single(), {.kernels = kernels, .transfers = {}});
  const auto run = [&](std::uint64_t seed) {
    return predict::simulate(timed.program(), timed.table(), {.slow_ranks = {}, .jitter_sigma = 0.3, .seed = seed});
  };
  REQUIRE(run(5).makespan.time == run(5).makespan.time);
  REQUIRE(run(5).makespan.time != run(6).makespan.time);

  // 400 seeds of 7 kernels: their mean factor has deviation sqrt(e^0.09 - 1) / sqrt(2800) = 0.0058; four of them
  // allowed. Neighbouring seeds share no number: every duration is met once.
  double sum = 0.0;
  std::set<Picoseconds> seen;
  int kernels_run = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const predict::EventResult result = run(seed);
    for (const predict::Span& span : result.last.steps[static_cast<std::size_t>(program::Stream::compute)]) {
      if (span.start == span.end) continue;
      sum += static_cast<double>(span.end - span.start);
      seen.insert(span.end - span.start);
      ++kernels_run;
    }
  }
  REQUIRE(kernels_run == 2800);
  REQUIRE(sum / kernels_run / k_long == Approx(1.0).margin(4 * 0.0058));
  REQUIRE(seen.size() > 2790);  // chance alone repeats none or a few of 2,800 among 10^9

  // Every rank draws its own: with jitter nothing is folded, and a group waits for the slower one.
  Timed pair(model, tensor_pair(), {.kernels = kernels, .transfers = {}});
  const predict::EventResult two =
      predict::simulate(pair.program(), pair.table(), {.slow_ranks = {}, .jitter_sigma = 0.3, .seed = 5});
  REQUIRE(two.actors == 2);
  const predict::Breakdown parts = pair.parts(two.last);
  REQUIRE(parts.other == 0);
  REQUIRE(parts.total() == two.makespan.time);
}

TEST_CASE("More ranks than are recorded at once: the one that ends last is the same") {
  const ir::Model model = two_products();
  plan::Strategy s = single();
  s.data = 100;
  s.micro_batches = 2;
  std::map<std::string, Picoseconds> kernels = kernels_of_100(7);
  for (auto& [name, price] : kernels) price = 100'000;
  Timed timed(model, s, {.kernels = kernels, .transfers = {{program::Axis::data, 50}}});
  const predict::EventOptions jitter{.slow_ranks = {}, .jitter_sigma = 0.1, .seed = 3, .all_timelines = false};
  const predict::EventResult found = predict::simulate(timed.program(), timed.table(), jitter);
  predict::EventOptions recorded = jitter;
  recorded.all_timelines = true;
  const predict::EventResult all = predict::simulate(timed.program(), timed.table(), recorded);
  REQUIRE(found.actors == 100);
  REQUIRE(found.makespan.time == all.makespan.time);
  REQUIRE(found.last.end == found.makespan.time);
  const predict::Breakdown a = timed.parts(found.last);
  const predict::Breakdown b = timed.parts(all.last);
  REQUIRE(a.compute == b.compute);
  REQUIRE(a.bubble == b.bubble);
  REQUIRE(a.total() == found.makespan.time);
}
