#include "cairn/division/five_degrees.h"

#include <string>
#include <vector>

#include "cairn/config/shipped.h"
#include "cairn/core/diagnostics.h"
#include "cairn/experiment/job.h"
#include "catch.h"
#include "no_plans.h"

namespace cairn::division {
namespace {

// Every candidate that the rules allow, by the job that its settings make.
TEST_CASE("No plan of five degrees is faster than the one that is found, and it is the experiment's own") {
  const config::Loader loader(config::shipped_folders());
  const std::vector<std::string> base{"model.layers=4", "cluster.gpus_per_node=4", "training.seq_len=2048",
                                      "training.global_batch=8", "training.framework=megatron"};
  const experiment::Job job(experiment::load(loader, "llama3-8b-fsdp-dgx-h100", base), loader);
  const FiveDegrees found = fastest_degrees(job.experiment(), job.parts());
  REQUIRE(found.found.best);
  core::Picoseconds least = core::k_reach;
  for (std::int64_t tensor = 1; tensor <= 4; tensor *= 2)
    for (std::int64_t pipeline = 1; tensor * pipeline <= 4; pipeline *= 2)
      for (std::int64_t optimizer = 1; optimizer <= 4 / tensor / pipeline; optimizer *= 2)
        for (std::int64_t again = 0; again <= 4 / pipeline; ++again) {
          const allotment::FiveDimensions degrees{.data = 4 / tensor / pipeline,
                                                  .tensor = tensor,
                                                  .pipeline = pipeline,
                                                  .optimizer = optimizer,
                                                  .rematerialised = again};
          experiment::Settings settings = job.experiment();
          settings.strategy = with_degrees(settings.strategy, 4, degrees);
          try {
            experiment::Job other(settings, job.parts());
            const predict::Prediction answer =
                other.run(predict::Engine::analytic, {.advice = experiment::Advice::none}).prediction;
            if (answer.memory.device_peak <= found.capacity.base()) least = std::min(least, answer.time);
          } catch (const core::ConfigurationError&) {
            continue;
          }
        }
  CHECK(found.found.time == least);
  std::vector<std::string> with = base;
  with.insert(with.end(), found.settings.begin(), found.settings.end());
  experiment::Job same(experiment::load(loader, "llama3-8b-fsdp-dgx-h100", with), loader);
  CHECK(same.run(predict::Engine::analytic, {.advice = experiment::Advice::none}).prediction.time == found.found.time);
}

TEST_CASE("Five degrees do not depend on the experiment's own, which need not be a plan") {
  const config::Loader loader(config::shipped_folders());
  const auto search = [&](const std::vector<std::string>& own) {
    std::vector<std::string> all{"model.layers=4", "cluster.gpus_per_node=4", "training.seq_len=2048",
                                 "training.global_batch=8", "training.framework=megatron"};
    all.insert(all.end(), own.begin(), own.end());
    const experiment::LoadedExperiment loaded = experiment::load(loader, "llama3-8b-fsdp-dgx-h100", all);
    return fastest_degrees(loaded.experiment, experiment::load_parts(loaded, loader));
  };
  const FiveDegrees found = search({});
  REQUIRE(found.found.best);
  std::vector<std::string> no_plans = settings_of_no_plan();
  no_plans.emplace_back("strategy.zero={stage: 3, shard: 3}");
  for (const std::string& own : no_plans) {
    CAPTURE(own);
    const FiveDegrees same = search({own});
    CHECK(same.found.best == found.found.best);
    CHECK(same.found.time == found.found.time);
    CHECK(same.settings == found.settings);
  }
}

TEST_CASE("What every plan of five degrees has of the experiment must be right") {
  const config::Loader loader(config::shipped_folders());
  const auto complaint = [&](const std::vector<std::string>& overrides) {
    const experiment::LoadedExperiment loaded = experiment::load(loader, "llama3-8b-fsdp-dgx-h100", overrides);
    try {
      fastest_degrees(loaded.experiment, experiment::load_parts(loaded, loader));
    } catch (const core::ConfigurationError& error) {
      return error.diagnostics().front().key_path;
    }
    return std::string();
  };
  CHECK(complaint({"strategy.micro_batch=3"}) == "training.global_batch");
  CHECK(complaint({"training.global_batch=3000 tokens"}) == "training.global_batch");
  CHECK(complaint({"strategy.order=[tp, tp, dp, pp]"}) == "strategy.order");
}

// One accelerator has one stage, and dualpipe an even number of them.
TEST_CASE("Where no plan of five degrees is allowed it is told why, with the remedy") {
  const config::Loader loader(config::shipped_folders());
  const auto search = [&](const std::string& gpus, const std::string& schedule) {
    const experiment::LoadedExperiment loaded =
        experiment::load(loader, "llama3-8b-fsdp-dgx-h100",
                         {"model.layers=2", "training.seq_len=1024", "training.framework=megatron",
                          "cluster.gpus_per_node=" + gpus, "strategy.schedule=" + schedule});
    return fastest_degrees(loaded.experiment, experiment::load_parts(loaded, loader));
  };
  const FiveDegrees none = search("1", "dualpipe");
  CHECK_FALSE(none.found.best);
  CHECK_FALSE(none.allowed);
  REQUIRE(none.refused);
  CHECK(none.refused->message.find("even number of stages") != std::string::npos);
  CHECK_FALSE(none.refused->hint.empty());
  const FiveDegrees some = search("2", "1f1b");
  CHECK(some.found.best);
  CHECK(some.allowed);
}

TEST_CASE("What the five degrees leave out is refused") {
  const config::Loader loader(config::shipped_folders());
  const auto complaint = [&](const std::vector<std::string>& overrides) {
    const experiment::Job job(experiment::load(loader, "llama3-8b-fsdp-dgx-h100", overrides), loader);
    try {
      fastest_degrees(job.experiment(), job.parts());
    } catch (const core::ConfigurationError& error) {
      return error.diagnostics().front().key_path;
    }
    return std::string();
  };
  CHECK(complaint({"strategy.cp=2", "strategy.dp=4"}) == "strategy.cp");
  CHECK(complaint({"strategy.zero={stage: 3, offload: {optimizer: host}}"}) == "strategy.zero.offload");
  CHECK(complaint({"simulation.contention=true"}) == "simulation");
  CHECK(complaint({"simulation.jitter={sigma: 0.1}"}) == "simulation");
  CHECK(complaint({"model.layers=257"}) == "model.layers");
}

}  // namespace
}  // namespace cairn::division
