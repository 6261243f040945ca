#include "cairn/division/mixed_cluster.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "cairn/config/shipped.h"
#include "cairn/core/diagnostics.h"
#include "cairn/experiment/job.h"
#include "catch.h"

namespace cairn::division {
namespace {

experiment::LoadedExperiment mixed(const config::Loader& loader, const std::string& groups,
                                   const std::vector<std::string>& more = {}) {
  std::vector<std::string> all{"model.layers=2", "cluster.nodes=1", "cluster.gpus_per_node=2", "training.seq_len=2048",
                               "training.global_batch=6"};
  if (!groups.empty()) all.push_back("cluster.groups=" + groups);
  all.insert(all.end(), more.begin(), more.end());
  return experiment::load(loader, "llama3-8b-fsdp-dgx-h100", all);
}

constexpr const char* k_two = "[{count: 1, accelerator: h100-sxm5-80gb}, {count: 1, accelerator: a100-sxm4-40gb}]";

TEST_CASE("A fast and a slow accelerator: the best of all shares of sequences and state") {
  const config::Loader loader(config::shipped_folders());
  const experiment::LoadedExperiment loaded = mixed(loader, k_two);
  const std::vector<AcceleratorGroup> groups = accelerator_groups(loaded, loader);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].parts.machine.accelerator.value.name != groups[1].parts.machine.accelerator.value.name);
  const MixedShares found = best_mixed_shares(loaded.experiment, groups);
  const allotment::ShareProblem& problem = found.problem;
  REQUIRE(problem.types.size() == 2);
  REQUIRE(problem.types[0].compute_times.size() == 7);
  for (std::size_t b = 1; b < 7; ++b) {
    CHECK(problem.types[0].compute_times[b] < problem.types[1].compute_times[b]);
    CHECK(problem.types[0].compute_times[b] > problem.types[0].compute_times[b - 1]);
    CHECK(problem.types[0].activations[b] > problem.types[0].activations[b - 1]);
  }
  // Logits, 2048 x 128256 of 2 bytes or more, are there of one micro-batch: of another one only what layers keep. A
  // rank without sequences gathers like the others.
  for (const allotment::RankType& type : problem.types) {
    CHECK(type.activations[2] - type.activations[1] < std::int64_t{2048} * 128256 * 2);
    CHECK(type.activations[3] - type.activations[2] == type.activations[2] - type.activations[1]);
    CHECK(type.activations[0] > 0);
  }
  CHECK(problem.whole > 0);
  // Of every share of sequences the state as even as both have room for it.
  core::Picoseconds least = core::k_reach;
  for (std::int64_t fast = 0; fast <= 6; ++fast) {
    const auto room = [&](std::size_t type, std::int64_t samples) {
      return std::min(problem.state, problem.types[type].capacity -
                                         problem.types[type].activations[static_cast<std::size_t>(samples)]);
    };
    const std::int64_t first = room(0, fast), second = room(1, 6 - fast);
    if (first < 0 || second < 0 || first + second < problem.state) continue;
    const std::int64_t state = std::clamp((problem.state + 1) / 2, problem.state - second, first);
    const auto plan = allotment::priced(
        problem, {{.samples = fast, .state = state}, {.samples = 6 - fast, .state = problem.state - state}});
    if (plan) least = std::min(least, plan->step_time);
  }
  REQUIRE(found.best);
  CHECK(found.best->step_time == least);
  CHECK(found.best->ranks[0].samples > found.best->ranks[1].samples);
  if (found.even) CHECK(found.best->step_time <= found.even->step_time);
}

// 128256 x 4096 elements of 16 bytes: an fp32 gradient, fp32 moments and the master that torchtitan gathers.
TEST_CASE("Parameters that embedding and head share are state once") {
  const config::Loader loader(config::shipped_folders());
  const auto state_of = [&](const std::string& tied) {
    const experiment::LoadedExperiment loaded = mixed(loader, k_two, {"model.tied_embeddings=" + tied});
    return best_mixed_shares(loaded.experiment, accelerator_groups(loaded, loader)).problem.state;
  };
  const double table = 128256.0 * 4096.0 * 16.0;
  CHECK(static_cast<double>(state_of("false") - state_of("true")) == Approx(table).epsilon(1e-6));
}

TEST_CASE("Equal accelerators have even shares") {
  const config::Loader loader(config::shipped_folders());
  const experiment::LoadedExperiment loaded =
      mixed(loader, "[{count: 1, accelerator: h100-sxm5-80gb}, {count: 1, accelerator: h100-sxm5-80gb}]");
  const MixedShares found = best_mixed_shares(loaded.experiment, accelerator_groups(loaded, loader));
  REQUIRE(found.best);
  REQUIRE(found.even);
  CHECK(found.best->step_time == found.even->step_time);
  CHECK(found.best->ranks[0].samples == 3);
}

// In micro-batches of two and one of the rest. A micro-batch more of a plan that shards nothing takes its passes alone;
// what layers take of it is rounded to whole picoseconds in each.
TEST_CASE("Sequences take an accelerator what micro-batches of them take in cairn run") {
  constexpr std::int64_t k_micro_batch = 2;
  constexpr core::Picoseconds k_rounding = 8;  // of a micro-batch: two passes of four layers
  const config::Loader loader(config::shipped_folders());
  for (const std::string framework : {"torchtitan", "megatron"}) {
    const std::string own = "training.framework=" + framework;
    const auto passes = [&](std::int64_t sequences) {
      const auto step = [&](std::int64_t micro_batches) {
        experiment::Job job(mixed(loader, "",
                                  {own, "strategy.zero=0", "strategy.micro_batch=" + std::to_string(sequences),
                                   "training.global_batch=" + std::to_string(2 * sequences * micro_batches)}),
                            loader);
        return job.run(predict::Engine::analytic, {.advice = experiment::Advice::none}).prediction.time;
      };
      return step(2) - step(1);
    };
    const core::Picoseconds one = passes(1), two = passes(k_micro_batch);
    const experiment::LoadedExperiment loaded =
        mixed(loader, "[{count: 1, accelerator: h100-sxm5-80gb}, {count: 1, accelerator: h100-sxm5-80gb}]",
              {own, "strategy.micro_batch=2"});
    const MixedShares found = best_mixed_shares(loaded.experiment, accelerator_groups(loaded, loader));
    for (const allotment::RankType& type : found.problem.types) {
      REQUIRE(type.compute_times.size() == 7);
      for (std::int64_t b = 0; b < 7; ++b) {
        CAPTURE(framework, b);
        const core::Picoseconds there = b / k_micro_batch * two + b % k_micro_batch * one;
        CHECK(std::abs(type.compute_times[static_cast<std::size_t>(b)] - there) <= (b + 1) / 2 * k_rounding);
      }
    }
  }
}

TEST_CASE("Clusters and strategies without uneven shares are refused by name") {
  const config::Loader loader(config::shipped_folders());
  const auto complaint = [&](const std::string& groups, const std::vector<std::string>& more) {
    try {
      const experiment::LoadedExperiment loaded = mixed(loader, groups, more);
      best_mixed_shares(loaded.experiment, accelerator_groups(loaded, loader));
    } catch (const core::ConfigurationError& error) {
      return error.diagnostics().front().key_path;
    }
    return std::string();
  };
  CHECK(complaint("", {}) == "cluster.groups");
  CHECK(complaint("[{count: 3, accelerator: h100-sxm5-80gb}]", {}) == "cluster.groups");
  CHECK(complaint("[]", {}) == "cluster.groups");
  CHECK(complaint("[{count: 1, accelerator: h100-sxm5-80gb}, {count: 1, accelerator: nowhere}]", {}) ==
        "cluster.groups[1].accelerator");
  CHECK(complaint(k_two, {"strategy.tp=2"}) == "strategy.tp");
  CHECK(complaint(k_two, {"strategy.pp=2"}) == "strategy.pp");
  CHECK(complaint(k_two, {"strategy.cp=2"}) == "strategy.cp");
  CHECK(complaint(k_two, {"strategy.micro_batch=5000"}) == "strategy.micro_batch");
  CHECK(complaint(k_two, {"strategy.zero={stage: 3, offload: {optimizer: host}}"}) == "strategy.zero.offload");
  CHECK(complaint(k_two, {"strategy.zero={stage: 3, shard: 1}"}) == "strategy.zero.shard");
  CHECK(complaint(k_two, {"strategy.zero={stage: 3, reshard_after_forward: false}"}) ==
        "strategy.zero.reshard_after_forward");
  CHECK(complaint(k_two, {"simulation.contention=true"}) == "simulation");
  CHECK(complaint(k_two, {"strategy.recompute={kind: full, method: block, count: 1}"}) == "strategy.recompute");
  CHECK(complaint(k_two, {"training.global_batch=3000 tokens"}) == "training.global_batch");
  CHECK(complaint(k_two, {"training.global_batch=100000"}) == "training.global_batch");
  CHECK(complaint(k_two, {"calibration=h100-sxm5-80gb"}) == "calibration");
}

}  // namespace
}  // namespace cairn::division
