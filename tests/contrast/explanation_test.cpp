// A step that was "measured" with one fact changed is explained by that fact.
#include "cairn/contrast/explanation.h"

#include <algorithm>

#include "catch.h"
#include "support/shipped.h"
#include "support/small_experiment.h"

namespace {

using namespace cairn;
using contrast::Explanation;
using contrast::Fact;
using core::Picoseconds;

experiment::LoadedExperiment small(std::vector<std::string> overrides = {}) {
  overrides.insert(overrides.begin(), "cluster.nodes=2");
  return testing::small_experiment(overrides);
}

Picoseconds step(const std::vector<std::string>& overrides = {}, predict::Engine engine = predict::Engine::analytic) {
  experiment::Job job(small(overrides), testing::shipped());
  return job.run(engine, {.advice = experiment::Advice::none}).prediction.time;
}

Explanation explained(Picoseconds measured, predict::Engine engine = predict::Engine::analytic) {
  const config::Loader files = testing::shipped();
  const experiment::Job job(small(), files);
  return contrast::explain(job, files, engine, step(), measured);
}

const Fact* find(const Explanation& of, const std::string& setting) {
  for (const Fact& each : of.facts)
    if (each.settings.front().starts_with(setting)) return &each;
  return nullptr;
}

}  // namespace

TEST_CASE("A step with one fact changed is explained by it, with nothing left") {
  for (const std::string setting : {"strategy.recompute=full", "training.framework=megatron@2024",
                                    "training.kernels.attention=unfused", "strategy.overlap.pp=false"}) {
    INFO(setting);
    const Picoseconds with = step({setting});
    if (with == step()) continue;  // the release has the same kernels
    const Explanation of = explained(with);
    REQUIRE(!of.facts.empty());
    CHECK(of.facts.front().residual == 0);
    const Fact* found = find(of, setting);
    REQUIRE(found != nullptr);
    CHECK(found->residual == 0);
    CHECK(found->time == with);
  }
}

TEST_CASE("Every fact is a run, its residual is what is left, and the smallest is first") {
  const Picoseconds measured = step() + step() / 10;
  const Explanation of = explained(measured);
  CHECK(of.gap() == step() / 10);
  REQUIRE(of.facts.size() > 3);
  Picoseconds before = 0;
  for (const Fact& each : of.facts) {
    INFO(each.sentence);
    CHECK(each.residual == measured - each.time);
    CHECK(std::abs(each.residual) >= before);
    before = std::abs(each.residual);
    CHECK(each.time != step());
    CHECK(each.time == step(each.settings));
  }
}

TEST_CASE("Slower links and a lower clock close a gap by the factor that opened it") {
  // 200 Gb/s are 25 GB/s; a share of 0.6 of that. The gap closes to three digits of the factor.
  const Explanation links = explained(step({"cluster.inter.bandwidth=120 Gb/s"}));
  const Fact* slower = find(links, "cluster.inter.bandwidth");
  REQUIRE(slower != nullptr);
  REQUIRE(slower->factor);
  CHECK(*slower->factor == Approx(0.6).margin(0.002));
  CHECK(std::abs(slower->residual) < links.gap() / 50);
  const experiment::Job job(small(), testing::shipped());
  const double sustained = job.parts().calibrated.calibration.sustained;
  const Explanation clock =
      explained(step({"calibration={file: a100-sxm4-80gb, sustained: " + std::to_string(0.8 * sustained) + "}"}));
  const Fact* lower = find(clock, "calibration");
  REQUIRE(lower != nullptr);
  CHECK(*lower->factor == Approx(0.8).margin(0.002));
}

TEST_CASE("A gap too wide has the least factor, and a step that was faster none") {
  const Explanation wide = explained(20 * step());
  const Fact* links = find(wide, "cluster.inter.bandwidth");
  REQUIRE(links != nullptr);
  CHECK(*links->factor == contrast::k_least_factor);
  CHECK(links->residual > 0);
  for (const Fact& each : explained(step() / 2).facts) CHECK_FALSE(each.factor.has_value());
}

TEST_CASE("What is shared is simulated") {
  CHECK(find(explained(2 * step()), "simulation") == nullptr);
  const Explanation simulated = explained(2 * step(), predict::Engine::both);
  if (const Fact* shared = find(simulated, "simulation.contention"))
    CHECK(shared->time == step({"simulation.contention=true"}, predict::Engine::event));
}
