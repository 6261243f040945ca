// No prediction is below what the busiest links need for all that they carry.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cairn/core/format_units.h"
#include "cairn/core/random.h"
#include "cairn/experiment/job.h"
#include "catch.h"
#include "support/shipped.h"

namespace {

using namespace cairn;
using Catch::Matchers::Contains;

using cairn::testing::shipped;

experiment::Job job_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(text, config::Syntax::yaml, "links.yaml", diagnostics);
  diagnostics.raise_if_errors();
  return experiment::Job(experiment::read(node, overrides), shipped());
}

// 16 layers, 1.6 B parameters.
const std::string k_unrouted = R"(
model: {kind: transformer, layers: 16, hidden: 2048, heads: 16, ffn: 8192, gated_mlp: true, vocab: 32768, tied_embeddings: false}
training: {seq_len: 2048, global_batch: 64}
)";

const std::string k_routed_layers = R"(
model: {kind: transformer, layers: 4, hidden: 1024, heads: 16, ffn: 2048, gated_mlp: true, vocab: 32768, tied_embeddings: false,
        bias: false, moe: {experts: 8, top_k: 2, ffn: 1024}}
training: {seq_len: 1024, global_batch: 64}
)";

void require_sound(experiment::Job& job, const predict::Prediction& prediction) {
  REQUIRE(prediction.breakdown.total() == prediction.time);
  REQUIRE(prediction.breakdown.other == 0);
  REQUIRE(prediction.breakdown.links >= 0);
  REQUIRE(*prediction.plan_bounds.best_s() <= core::to_seconds(prediction.time));
  for (const std::string& warning : job.warnings()) REQUIRE_THAT(warning, !Contains("lower_bounds_s"));
}

// Of the transfers beside each other, each has its links to itself.
core::Picoseconds unshared(experiment::Job& job) {
  return predict::Analytic(job.prices()).makespan(job.program()).time;
}

template <class T, std::size_t N>
T one_of(core::Random& random, const T (&choices)[N]) {
  return choices[random.below(N)];
}

}  // namespace

TEST_CASE("the fabric that a network between nodes names is the one that is priced") {
  // An empty all-reduce over two nodes: two steps of 5 us of latency and the software of the fabric.
  for (const auto& [fabric, software_us] : {std::pair{"infiniband", 8.0}, std::pair{"ethernet", 10.0}}) {
    for (const std::int64_t per_node : {1, 4}) {
      CAPTURE(fabric, per_node);
      experiment::Job job =
          job_of(fmt::format("{}\ncluster: {{name: t, accelerator: h100-sxm5-80gb, nodes: 2, gpus_per_node: {},"
                             " intra: {{kind: nvswitch, bandwidth: 450 GB/s, latency: 0.6 us}},"
                             " inter: {{kind: star, bandwidth: 50 GB/s, latency: 5 us, fabric: {}}}}}\n",
                             k_unrouted, per_node, fabric));
      const program::Transfer empty{.collective = program::Collective::all_reduce,
                                    .group = {.axis = program::Axis::data, .size = 2, .stride = per_node},
                                    .bytes = 0.0};
      CHECK(1e6 * job.pricer().transfer_time(empty).total_s == Approx(2.0 * (5.0 + software_us)));
    }
  }
}

TEST_CASE("parameters and gradients of dense layers and of experts take turns on the links that both need") {
  // Experts' copies lie on 4 ranks, those of everything else on 16, all of them in different nodes. No transfer of
  // these runs beside another, so that the step takes no less than all of them one after the other.
  experiment::Job job = job_of(R"(
model: mixtral-8x7b
cluster: {file: dgx-b200, nodes: 8}
training: {seq_len: 2048, global_batch: 64}
strategy: {tp: 4, sequence_parallel: true, zero: 3, ep: 8, etp: 2}
)");
  const predict::Prediction prediction = job.run(predict::Engine::both).prediction;
  require_sound(job, prediction);
  REQUIRE(prediction.analytic.time == prediction.event->makespan.time);
  double dense = 0.0, experts = 0.0;
  for (const predict::PriceLine& line : prediction.prices) {
    if (line.name.starts_with("dp ")) dense += line.total_s;
    if (line.name.starts_with("edp ")) experts += line.total_s;
  }
  REQUIRE((dense > 0.1 && experts > 1.0));
  REQUIRE(core::to_seconds(prediction.time) > dense + experts);
}

TEST_CASE("a step waits until links have carried transfers that other work hides") {
  // Each rank has 1 GB/s out of its node. What it sends there, tokens for experts beside gradients and parameters, is
  // more than the step without sharing leaves time for. Of copies one lies in each node, so that no ring among them sends
  // more than must cross.
  experiment::Job job = job_of(R"(
model: {kind: transformer, layers: 4, hidden: 1024, heads: 16, ffn: 2048, gated_mlp: true, bias: false, vocab: 32768,
        tied_embeddings: false, moe: {experts: 8, top_k: 2, ffn: 1024}}
cluster: {file: dgx-h100, nodes: 2, inter: {bandwidth: 1 GB/s}}
training: {seq_len: 2048, global_batch: 32, framework: ideal}
strategy: {tp: 8, ep: 8, etp: 2, sequence_parallel: true, zero: 3}
)");
  const predict::Prediction prediction = job.run(predict::Engine::both).prediction;
  require_sound(job, prediction);
  double outside = 0.0;
  for (const predict::Volume& volume : prediction.volumes) outside += volume.scale_out;
  REQUIRE(core::to_seconds(prediction.time) == Approx(outside / 1e9).epsilon(1e-9));
  REQUIRE(prediction.breakdown.links == prediction.time - unshared(job));
  REQUIRE(prediction.breakdown.links > 0);
  REQUIRE(prediction.event->makespan.time == prediction.time);
  REQUIRE(prediction.analytic.time == prediction.time);
}

TEST_CASE("a step in the midst of a run waits for its links, too") {
  // One stage neither fills nor drains, so that a step in the midst takes what one by itself does: what its links need.
  const auto run = [](int batch) {
    return job_of(fmt::format(R"(
model: {{kind: transformer, layers: 4, hidden: 1024, heads: 16, ffn: 2048, gated_mlp: true, bias: false, vocab: 32768,
        tied_embeddings: false, moe: {{experts: 8, top_k: 2, ffn: 1024}}}}
cluster: {{file: dgx-h100, nodes: 4, inter: {{bandwidth: 1 GB/s}}}}
training: {{seq_len: 2048, global_batch: {}, framework: ideal}}
strategy: {{tp: 4, ep: 8, etp: 2, sequence_parallel: true, zero: 1, schedule: pipedream, overlap: {{dp: true}}}}
)",
                              batch));
  };
  experiment::Job job = run(32), twice = run(64);
  const predict::Prediction prediction = job.run(predict::Engine::analytic).prediction;
  REQUIRE(prediction.breakdown.links > 0);
  const core::Picoseconds more = twice.run(predict::Engine::analytic).prediction.time - prediction.time;
  const std::string shown = core::format(core::Seconds::from_base(core::to_seconds(more)));
  CAPTURE(job.warnings());
  CHECK(std::any_of(job.warnings().begin(), job.warnings().end(), [&](const std::string& warning) {
    return warning.find("never emptied") != std::string::npos && warning.ends_with("takes " + shown);
  }));
}

TEST_CASE("a time below a bound is told") {
  // All ranks at a thousand times their speed compute faster than they can.
  const std::string plan = R"(
model: llama-3.1-8b
cluster: dgx-h100
training: {seq_len: 8192, global_batch: 8}
strategy: {tp: 8}
)";
  const auto told = [&](const std::vector<std::string>& overrides) {
    experiment::Job job = job_of(plan, overrides);
    job.run(predict::Engine::both);
    std::vector<std::string> result;
    for (const std::string& warning : job.warnings())
      if (warning.starts_with("lower_bounds_s: ")) result.push_back(warning);
    return result;
  };
  CHECK(told({}).empty());
  std::string ranks;
  for (int rank = 0; rank < 8; ++rank)
    ranks += fmt::format("{}{{rank: {}, compute: 1000}}", rank > 0 ? ", " : "", rank);
  const std::vector<std::string> warnings = told({"simulation.faults=[" + ranks + "]"});
  REQUIRE(warnings.size() == 2);
  CHECK_THAT(warnings[0], Contains("no execution of this plan takes less than"));
  CHECK_THAT(warnings[1], Contains("no execution of any plan takes less than"));
}

TEST_CASE("no prediction is below the bound of its plan: random experiments on slow networks") {
  int accepted = 0, waited = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    core::Random random(seed);
    const bool experts = random.below(4) != 0;
    const char* const bandwidths[] = {"100 MB/s", "1 GB/s", "10 GB/s"};
    const char* const switches[] = {"true", "false"};
    const int degrees[] = {1, 2, 4};
    const int lengths[] = {128, 512, 2048};
    std::string strategy = "strategy={sequence_parallel: true";
    for (const char* degree : {"tp", "pp", "ep", "etp"}) {
      const int drawn = one_of(random, degrees);
      if (experts || degree[0] != 'e') strategy += fmt::format(", {}: {}", degree, drawn);
    }
    strategy += fmt::format(", zero: {}, overlap: {{pp: true", random.below(4));
    for (const char* axis : {"dp", "tp"}) strategy += fmt::format(", {}: {}", axis, one_of(random, switches));
    strategy += "}}";
    std::string cluster = fmt::format("cluster={{file: dgx-h100, nodes: {}", 1 + random.below(4));
    cluster += fmt::format(", inter: {{bandwidth: {}}}}}", one_of(random, bandwidths));
    const std::string length = fmt::format("training.seq_len={}", one_of(random, lengths));
    INFO("seed " << seed << ", " << cluster << ", " << strategy << ", " << length);
    const auto run = [&](const char* contention) {
      experiment::Job job =
          job_of(experts ? k_routed_layers : k_unrouted,
                 {cluster, strategy, length, "training.framework={file: megatron, fitted: {host_per_step: 0 s}}",
                  std::string("simulation.contention=") + contention});
      const predict::Prediction prediction = job.run(predict::Engine::both).prediction;
      require_sound(job, prediction);
      return prediction;
    };
    try {
      const predict::Prediction alone = run("false");
      REQUIRE(alone.analytic.time == alone.event->makespan.time);
      waited += alone.breakdown.links > 0 ? 1 : 0;
      REQUIRE(run("true").breakdown.links == 0);
      ++accepted;
    } catch (const core::ConfigurationError&) {
      continue;  // degrees that the cluster, the model or the framework does not take
    }
  }
  REQUIRE(accepted > 50);
  REQUIRE(waited > 0);
}
