// What two runs have to do with each other, on experiments at random.
#include "catch.h"
#include "run_laws.h"
#include "support/share.h"

using namespace cairn;
using namespace cairn::laws;

namespace {

constexpr std::uint64_t k_accepted = 105 / test::k_share;

const Shelf& shelf() {
  static const Shelf all;
  return all;
}

// The first k_accepted experiments at random that are accepted, without anything that disturbs a run. Three in four
// are (1,123 of the first 1,500). Were it fewer than half, give or take what chance does to few, the generator would no
// longer draw what runs.
template <class Body>
void for_each_accepted(std::uint64_t first, Body body) {
  std::uint64_t met = 0;
  for (std::uint64_t seed = first; met < k_accepted; ++seed) {
    REQUIRE(seed < first + 2 * k_accepted + 20);
    Json experiment = draw_experiment(seed, shelf());
    experiment.erase("simulation");
    const Outcome outcome = run(experiment, shelf());
    if (!outcome.accepted()) continue;
    INFO("seed " << seed << "\n" << as_yaml(experiment, shelf()));
    body(experiment, outcome);
    ++met;
  }
}

// Fails unless it holds or is known not to.
void expect(bool holds, const Json& experiment, const Breach& breach) {
  if (holds || !known_cause(experiment, breach).empty()) return;
  FAIL_CHECK(breach.law << ": " << breach.what);
}

bool same(double a, double b) { return a == Approx(b).epsilon(1e-12); }

core::Picoseconds time(const Outcome& outcome) { return outcome.result.prediction.time; }

}  // namespace

TEST_CASE("No jitter, ranks of speed 1, prices and power: the same step") {
  for_each_accepted(1, [](const Json& experiment, const Outcome& outcome) {
    for (const char* simulation : {R"({"jitter": {"sigma": 0.0}})", R"({"faults": [{"rank": 0, "compute": 1.0}]})"}) {
      Json same = experiment;
      same["simulation"] = Json::parse(simulation);
      const Outcome other = run(same, shelf());
      REQUIRE(other.accepted());
      REQUIRE(time(other) == time(outcome));
    }
    if (!experiment["cluster"].is_object()) return;
    Json dearer = experiment;
    dearer["cluster"]["price"] = {{"accelerator_hour", "3 USD"}};
    dearer["cluster"]["power"] = {{"pue", 1.5}};
    REQUIRE(time(run(dearer, shelf())) == time(outcome));
  });
}

TEST_CASE("Each engine alone says what both together say") {
  for_each_accepted(20'001, [](const Json& experiment, const Outcome& outcome) {
    for (const predict::Engine engine : {predict::Engine::analytic, predict::Engine::event}) {
      const Outcome alone = run(experiment, shelf(), engine);
      REQUIRE(alone.accepted());
      REQUIRE(time(alone) == time(outcome));
    }
  });
}

TEST_CASE("A slow rank slows the step as any other of its stage does") {
  for_each_accepted(40'001, [](const Json& experiment, const Outcome& outcome) {
    const program::Mesh& mesh = outcome.job->program().mesh;
    std::vector<core::Picoseconds> times(static_cast<std::size_t>(mesh.size(program::Axis::pipeline)), 0);
    constexpr std::int64_t k_ranks = 6;
    for (std::int64_t rank = 0; rank < mesh.ranks(); rank += 1 + mesh.ranks() / k_ranks) {
      Json slow = experiment;
      slow["simulation"] = {{"faults", Json::array({{{"rank", rank}, {"compute", 0.5}}})}};
      const Outcome other = run(slow, shelf(), predict::Engine::event);
      REQUIRE(other.accepted());
      REQUIRE(time(other) >= time(outcome));
      core::Picoseconds& of_stage = times[static_cast<std::size_t>(mesh.coordinate(rank, program::Axis::pipeline))];
      if (of_stage > 0) REQUIRE(time(other) == of_stage);
      of_stage = time(other);
    }
  });
}

// No more than two steps is no law: gradients of a second batch are added to those of the first.
TEST_CASE("Two batches in one step take as long as one at least, and twice the model's FLOPs") {
  for_each_accepted(60'001, [](const Json& experiment, const Outcome& outcome) {
    Json twice = experiment;
    twice["training"]["global_batch"] = 2 * outcome.job->global_batch();
    const Outcome other = run(twice, shelf(), predict::Engine::analytic);
    if (!other.accepted()) return;  // an order of work may need another number of micro-batches
    CHECK(time(other) >= time(outcome));
    CHECK(same(other.result.prediction.model_flops, 2 * outcome.result.prediction.model_flops));
  });
}

TEST_CASE("A model's FLOPs are its own, whatever the kernels, the plan and what is computed again") {
  const char* law = "a model's FLOPs are its own";
  for_each_accepted(80'001, [law](const Json& experiment, const Outcome& outcome) {
    const predict::Prediction& here = outcome.result.prediction;
    for (const char* attention : {"unfused", "flash2"}) {
      Json other_kernel = experiment;
      other_kernel["training"]["kernels"]["attention"] = attention;
      const Outcome other = run(other_kernel, shelf(), predict::Engine::analytic);
      if (!other.accepted()) continue;
      const predict::Prediction& there = other.result.prediction;
      expect(same(there.model_flops, here.model_flops), experiment, {law, "full"});
      expect(same(there.model_flops_causal, here.model_flops_causal), experiment, {law, "unmasked pairs"});
    }
    Json again = experiment;
    again["strategy"]["recompute"] = "full";
    if (const Outcome other = run(again, shelf(), predict::Engine::analytic); other.accepted()) {
      expect(other.result.prediction.model_flops == here.model_flops, experiment, {law, "computed again"});
      if (outcome.job->strategy().recompute == plan::Recompute::none)
        CHECK(other.result.prediction.hardware_flops >= here.hardware_flops * (1.0 - 1e-12));
    }
  });
}

TEST_CASE("A run in less detail says the same of all that it says") {
  for_each_accepted(120'001, [](const Json&, const Outcome& outcome) {
    const auto in_detail = [&](predict::Engine engine, predict::Detail detail) {
      return outcome.job->run(engine, {.detail = detail, .advice = experiment::Advice::none}).prediction;
    };
    for (const predict::Engine engine : {predict::Engine::analytic, predict::Engine::event}) {
      const predict::Prediction whole = in_detail(engine, predict::Detail::causes);
      for (const predict::Detail detail : {predict::Detail::stages, predict::Detail::breakdown}) {
        const predict::Prediction part = in_detail(engine, detail);
        REQUIRE(part.time == whole.time);
        REQUIRE(part.memory.device_peak == whole.memory.device_peak);
        REQUIRE(part.hardware_flops == whole.hardware_flops);
        REQUIRE(part.plan_bounds.best_s() == whole.plan_bounds.best_s());
        REQUIRE(part.causes.stages == whole.causes.stages);
        REQUIRE(part.causes.limiting == whole.causes.limiting);
        if (detail == predict::Detail::stages) continue;
        REQUIRE(part.breakdown.total() == part.time);
        REQUIRE(part.breakdown.compute == whole.breakdown.compute);
        REQUIRE(part.breakdown.exposed == whole.breakdown.exposed);
        REQUIRE(part.breakdown.bubble == whole.breakdown.bubble);
      }
    }
  });
}

TEST_CASE("What is proposed where a plan does not fit makes it fit, in the time and the memory that are said") {
  std::uint64_t changed = 0;
  for_each_accepted(100'001, [&](const Json& experiment, const Outcome& outcome) {
    if (!outcome.result.why_not || !outcome.result.why_not->changes) return;
    for (const experiment::Remedy& each : *outcome.result.why_not->changes) {
      INFO(each.settings.front() << (each.settings.size() > 1 ? ", " + each.settings.back() : ""));
      core::Diagnostics diagnostics;
      const config::Node node = config::parse_text(experiment.dump(), config::Syntax::json, "drawn.json", diagnostics);
      experiment::Job job(experiment::read(node, each.settings), shelf().loader());
      const predict::Prediction prediction = job.run(predict::Engine::analytic).prediction;
      CHECK(prediction.fits);
      CHECK(core::to_seconds(prediction.time) == each.time_s);
      CHECK(prediction.memory.device_peak == each.memory_bytes);
      ++changed;
    }
  });
  if (test::k_share == 1) CHECK(changed > 0);
}
