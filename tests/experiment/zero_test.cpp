#include <string>

#include "cairn/experiment/job.h"
#include "catch.h"
#include "support/shipped.h"

namespace {

using namespace cairn;
using Catch::Matchers::Contains;

using cairn::testing::shipped;

// 24 layers on one node of eight A100.
const std::string k_small = R"(
model: {kind: transformer, layers: 24, hidden: 2048, heads: 16, ffn: 8192, gated_mlp: false, vocab: 51200, tied_embeddings: true}
cluster: dgx-a100
training: {seq_len: 2048, global_batch: 64, framework: fsdp, optimizer: adam}
strategy: {}
)";
// The same machine without a word about its hosts.
const std::string k_no_host =
    "cluster={name: bare, accelerator: a100-sxm4-80gb, gpus_per_node: 8, intra: {kind: nvswitch, bandwidth: 300 GB/s, "
    "latency: 1 us}}";

experiment::LoadedExperiment small(const std::vector<std::string>& overrides) {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(k_small, config::Syntax::yaml, "small.yaml", diagnostics);
  diagnostics.raise_if_errors();
  return experiment::read(node, overrides);
}

struct Run {
  explicit Run(const std::vector<std::string>& overrides)
      : job(small(overrides), shipped()), result(job.run(predict::Engine::both)) {}
  experiment::Job job;
  experiment::Result result;
  const predict::Prediction& operator*() const { return result.prediction; }
  const predict::Prediction* operator->() const { return &result.prediction; }
};

core::Diagnostic error_of(const std::vector<std::string>& overrides) {
  try {
    experiment::Job job(small(overrides), shipped());
  } catch (const core::ConfigurationError& error) {
    return error.diagnostics().front();
  }
  FAIL("accepted");
  return {};
}

}  // namespace

TEST_CASE("every way to shard and to offload: both engines agree, the parts add up, the memory is less") {
  const Run plain({});
  for (const char* zero :
       {"1", "2", "3", "{stage: 3, shard: 4}", "{stage: 2, replicate: 2}", "{stage: 1, shard: 2}",
        "{stage: 3, prefetch: 0}", "{stage: 3, prefetch: 2}", "{stage: 3, reshard_after_forward: false}",
        "{stage: 2, offload: {policy: zero-offload}}", "{stage: 3, offload: {policy: zero-infinity}}",
        "{stage: 3, offload: {policy: patrickstar}}", "{stage: 1, offload: {policy: interleaved}}",
        "{stage: 3, offload: {policy: fuyou}}", "{offload: {policy: superpipeline}}", "{offload: {activations: nvme}}",
        "{stage: 3, offload: {parameters: host}}"}) {
    INFO(zero);
    const Run run({std::string("strategy.zero=") + zero});
    CHECK(run->analytic.time == run->event->makespan.time);
    CHECK(run->breakdown.total() == run->time);
    CHECK(run->breakdown.other == 0);
    CHECK(run->memory.device_peak < plain->memory.device_peak);
    CHECK(run->plan_bounds.best_s().value() <= core::to_seconds(run->time));
    for (const predict::StageMemory& stage : run->memory.stages) {
      CHECK(stage.device_peak >= stage.reserved_peak);
      CHECK(stage.reserved_peak >= stage.allocated_peak);
      CHECK_FALSE(stage.phase.empty());
    }
  }
}

TEST_CASE("sharding goes with tensor parallelism, pipeline stages and every schedule that the framework has") {
  for (const char* strategy :
       {"{tp: 2, zero: 3}", "{pp: 2, zero: 3}", "{tp: 2, pp: 2, zero: {stage: 3, reshard_after_forward: false}}",
        "{pp: 2, schedule: {kind: interleaved-1f1b, chunks: 2}, zero: 3, recompute: full}", "{pp: 4, zero: 2}"}) {
    INFO(strategy);
    const Run run({std::string("strategy=") + strategy});
    CHECK(run->analytic.time == run->event->makespan.time);
    CHECK(run->breakdown.total() == run->time);
  }
}

TEST_CASE(
    "an 8-bit optimizer keeps two bytes of moments and a scale per block, adafactor rows and columns closed_form") {
  const auto state = [](const char* optimizer) {
    const Run run({std::string("training.optimizer=") + optimizer});
    return run->memory.stages.front().at_peak[static_cast<std::size_t>(program::Category::optimizer)];
  };
  const auto psi = static_cast<double>(Run({}).job.model().parameters());
  CHECK(state("adam") == 12.0 * psi);
  CHECK(state("adam8bit") == (4.0 + 2.0 * (1.0 + 4.0 / 256.0)) * psi);
  CHECK(state("{kind: adam8bit, block: 2048}") == (4.0 + 2.0 * (1.0 + 4.0 / 2048.0)) * psi);
  CHECK(state("sgd8bit") == (4.0 + 1.0 + 4.0 / 256.0) * psi);
  // The master copy and the means of rows and columns, which vanish beside it: of h x 4h 5 h against 4 h^2.
  CHECK(state("adafactor") > 4.0 * psi);
  CHECK(state("adafactor") < 4.01 * psi);
}

TEST_CASE("chosen from the machine: what stays on the device, and the interval of a shared update") {
  const Run roomy({"strategy.zero={stage: 3, offload: {policy: patrickstar}}"});
  CHECK(roomy.job.strategy().offload.resident_units == 26);  // embedding, 24 layers, head: all of them fit
  CHECK(roomy->fits);
  const Run shared({"strategy.zero={stage: 1, offload: {policy: interleaved, subgroup: 10e6}}"});
  // 600 GB/s or so of host memory for eight devices against a link for each: sharing pays.
  CHECK(shared.job.strategy().device_every >= 2);
  const Run alone({"strategy.zero={stage: 1, offload: {policy: zero-offload, subgroup: 10e6}}"});
  CHECK(shared->time < alone->time);
}

TEST_CASE("activations on the host count against its memory") {
  // With everything recomputed a layer keeps its input alone: 2048 tokens of 2048 values of 2 bytes, 8 MiB a sequence.
  // 24 layers, one sequence at a time, eight ranks on the node: 1.5 GiB.
  constexpr double k_mib = 1 << 20;
  const std::vector<std::string> away{"strategy.recompute=full", "strategy.micro_batch=1",
                                      "strategy.zero={stage: 0, offload: {activations: host}}"};
  const auto on = [&](const std::string& cluster) {
    std::vector<std::string> overrides = away;
    overrides.push_back(cluster);
    return overrides;
  };
  const Run roomy(on("cluster={file: dgx-a100, host: {memory: 2 GiB}}"));
  CHECK(roomy->fits);
  CHECK(roomy->memory.host == 8 * 24 * 8 * k_mib);
  CHECK(roomy->memory.off_device_activations == roomy->memory.host);
  const Run tight(on("cluster={file: dgx-a100, host: {memory: 1 GiB}}"));
  CHECK_FALSE(tight->fits);
  CHECK(tight.result.why_not->term == "host");
  CHECK(tight.result.why_not->over_by_bytes == 512 * k_mib);
}

TEST_CASE("what does not fit on the host is told, and the smallest change names sharding") {
  const Run host(
      {"cluster={file: dgx-a100, host: {memory: 4 GiB}}", "strategy.zero={stage: 0, offload: {optimizer: host}}"});
  CHECK_FALSE(host->fits);
  CHECK(host.result.why_not->term == "host");
  CHECK(host.result.why_not->over_by_bytes > 0.0);
  const Run large({"model.layers=400", "strategy.recompute=full", "strategy.zero=1"});
  CHECK_FALSE(large->fits);
  REQUIRE_FALSE(large.result.why_not->changes->empty());
  const auto shards = [](const experiment::Remedy& each) {
    return std::any_of(each.settings.begin(), each.settings.end(),
                       [](const std::string& setting) { return setting.starts_with("strategy.zero"); });
  };
  CHECK(std::any_of(large.result.why_not->changes->begin(), large.result.why_not->changes->end(), shards));
}

TEST_CASE("sharding and offload that cannot be: the key and a remedy") {
  const auto check = [](const std::vector<std::string>& overrides, const std::string& key, const std::string& message) {
    const core::Diagnostic error = error_of(overrides);
    CHECK_THAT(error.key_path, Contains(key));
    CHECK_THAT(error.message, Contains(message));
    CHECK_FALSE(error.hint.empty());
  };
  check({k_no_host, "strategy.zero={stage: 2, offload: {optimizer: host}}", "calibration=a100-sxm4-80gb"}, "offload",
        "no host link");
  check({"cluster={file: dgx-a100, host: {nvme: null}}", "strategy.zero={stage: 3, offload: {optimizer: nvme}}"},
        "zero", "no drives");
  check({"strategy.zero={stage: 3, shard: 3}"}, "shard", "does not divide dp 8");
  check({"strategy.zero={stage: 3, shard: 4, replicate: 4}"}, "replicate", "but dp is 8");
  check({"strategy.zero={stage: 0, shard: 4}"}, "shard", "nothing is sharded");
  check({"strategy.zero={stage: 2, offload: {parameters: host}}"}, "parameters", "stage 2 keeps parameters whole");
  check({"strategy.zero={stage: 3, reshard_after_forward: false, offload: {parameters: host}}"},
        "reshard_after_forward", "given up");
  check({"strategy.zero={stage: 3, offload: {}}"}, "offload", "nothing to offload");
  check({"strategy.zero={stage: 3, offload: {optimizer: host, resident: 3}}"}, "resident", "all parameters stay");
  check({"strategy.zero={stage: 3, offload: {optimizer: host, every: 3}}"}, "every", "interleaved");
  check({"strategy={pp: 2, zero: {stage: 3, offload: {policy: patrickstar}}}"}, "offload", "pipeline stages");
  check({"strategy={pp: 2, zero: 3}", "training.framework=megatron-deepspeed"}, "zero", "across pipeline stages");
  check({"strategy.zero={stage: 3, offload: {policy: patrikstar}}"}, "policy", "patrikstar");
  check({"training.optimizer={kind: adam8bit, block: 300}"}, "block", "no optimizer keeps such blocks");
}
