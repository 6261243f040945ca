#include "cairn/division/five_degrees.h"

#include "cairn/config/shipped.h"
#include "cairn/core/diagnostics.h"
#include "cairn/experiment/job.h"
#include "catch.h"

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
