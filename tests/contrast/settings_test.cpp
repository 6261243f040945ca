// In which settings two experiments differ: what follows from others is none.
#include "cairn/contrast/settings.h"

#include <algorithm>
#include <vector>

#include "cairn/config/read.h"
#include "catch.h"
#include "support/shipped.h"
#include "support/small_experiment.h"

namespace {

using namespace cairn;
using contrast::Settings;

experiment::LoadedExperiment small(std::vector<std::string> overrides = {}) {
  overrides.insert(overrides.begin(), "name=small");
  return testing::small_experiment(overrides);
}

contrast::Deciding deciding(const experiment::LoadedExperiment& loaded) {
  return contrast::deciding(experiment::Job(loaded, testing::shipped()), testing::shipped());
}

Settings between(const std::vector<std::string>& a, const std::vector<std::string>& b,
                 predict::Engine engine = predict::Engine::analytic) {
  return {deciding(small(a)), deciding(small(b)), engine};
}

// "strategy.tp 2 4"
std::vector<std::string> words(const std::vector<contrast::Difference>& all) {
  std::vector<std::string> result;
  for (const contrast::Difference& each : all) result.push_back(each.key + " " + each.a + " " + each.b);
  return result;
}

core::Picoseconds step_of(const config::Node& experiment) {
  experiment::Job job(experiment::read(experiment), testing::shipped());
  return job.run(predict::Engine::analytic, {.advice = experiment::Advice::none}).prediction.time;
}

core::Picoseconds step_of(const std::vector<std::string>& overrides) {
  experiment::Job job(small(overrides), testing::shipped());
  return job.run(predict::Engine::analytic, {.advice = experiment::Advice::none}).prediction.time;
}

}  // namespace

TEST_CASE("One key differs") {
  const Settings one = between({}, {"strategy.recompute=full"});
  CHECK(words(one.timed()) == std::vector<std::string>{"strategy.recompute {kind: none} {kind: full}"});
  CHECK(one.untimed().empty());
}

TEST_CASE("What follows from others is no setting, written out or not") {
  // 8 devices / (2 x 2) = 2 copies, 64 / 2 = 32 micro-batches, and what Megatron-LM does by itself.
  const std::vector<std::string> said{"strategy.dp=2", "strategy.micro_batches=32", "strategy.vocab_parallel=true",
                                      "calibration=a100-sxm4-80gb", "training.precision=bf16"};
  CHECK(between({}, said).timed().empty());
  // The result of a run has everything written out.
  const experiment::Job job(small(), testing::shipped());
  const experiment::Experiment whole = job.written_out(experiment::Naming::by_name);
  core::Diagnostics diagnostics;
  const config::Node node =
      config::parse_text(config::to_json(whole), config::Syntax::json, "result.json", diagnostics);
  diagnostics.raise_if_errors();
  const Settings same(deciding(small()), deciding(experiment::read(node)), predict::Engine::analytic);
  CHECK(words(same.timed()).empty());
  CHECK(words(same.untimed()).empty());
  // dp follows the degrees that are changed, and is none itself.
  CHECK(words(between({}, {"strategy.tp=4", "strategy.dp=1"}).timed()) == std::vector<std::string>{"strategy.tp 2 4"});
}

TEST_CASE("Keys stand in the order of an experiment, and alone where they can") {
  const Settings many =
      between({}, {"strategy.pp=4", "cluster.nodes=2", "cluster.inter.bandwidth=100 Gb/s", "training.seq_len=1024",
                   "strategy.overlap.dp=false", "training.kernels.attention=flash1"});
  std::vector<std::string> keys;
  for (const contrast::Difference& each : many.timed()) keys.push_back(each.key);
  CHECK(keys == std::vector<std::string>{"cluster.nodes", "cluster.inter", "training.seq_len",
                                         "training.kernels.attention", "strategy.pp", "strategy.overlap.dp"});
}

TEST_CASE("An accelerator and its calibration are one; names, prices and the whole training bear on no time") {
  const Settings machines = between({}, {"cluster=dgx-h100"});
  REQUIRE(!machines.timed().empty());
  CHECK(machines.timed().front().key == "cluster.accelerator");
  CHECK(machines.timed().front().b == "h100-sxm5-80gb");
  std::vector<std::string> untimed;
  for (const contrast::Difference& each : machines.untimed()) untimed.push_back(each.key);
  CHECK(std::find(untimed.begin(), untimed.end(), "cluster.name") != untimed.end());
  const Settings renamed = between({}, {"name=other", "training.tokens=1e12"});
  CHECK(renamed.timed().empty());
  CHECK(words(renamed.untimed()) == std::vector<std::string>{"name small other", "training.tokens  1000000000000.0"});
}

TEST_CASE("What is simulated counts where it is simulated") {
  CHECK(between({}, {"simulation.contention=true"}).timed().empty());
  CHECK(words(between({}, {"simulation.contention=true"}, predict::Engine::event).timed()) ==
        std::vector<std::string>{"simulation.contention false true"});
}

TEST_CASE("A mixture is the experiment with these settings") {
  const std::vector<std::string> all{"strategy.recompute=full", "strategy.micro_batch=2", "strategy.tp=4"};
  const Settings mixtures = between({}, all);
  REQUIRE(mixtures.timed().size() == 3);  // tp, micro_batch, recompute in an experiment's order
  CHECK(step_of(mixtures.mixed(0)) == step_of(std::vector<std::string>{}));
  CHECK(step_of(mixtures.mixed(1)) == step_of({"strategy.tp=4"}));
  CHECK(step_of(mixtures.mixed(6)) == step_of({"strategy.micro_batch=2", "strategy.recompute=full"}));
  CHECK(step_of(mixtures.mixed(7)) == step_of(all));
}
