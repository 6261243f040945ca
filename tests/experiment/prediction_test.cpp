// Multi-token prediction in a step: as published, and on a pipeline.
#include <string>
#include <vector>

#include "cairn/experiment/job.h"
#include "catch.h"
#include "support/shipped.h"

using namespace cairn;

namespace {

using cairn::testing::shipped;

experiment::Job job(const std::string& text, const std::vector<std::string>& overrides) {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(text, config::Syntax::yaml, "test.yaml", diagnostics);
  diagnostics.raise_if_errors();
  return experiment::Job(experiment::read(node, overrides), shipped());
}

const std::string k_experts = R"(
model: {kind: transformer, layers: 4, hidden: 1024, heads: 16, ffn: 4096, gated_mlp: true, vocab: 51200, position: rope,
        tied_embeddings: false, bias: false, moe: {experts: 8, top_k: 2, ffn: 2048, shared_experts: 1}}
cluster: dgx-a100
training: {seq_len: 2048, global_batch: 32, framework: ideal}
strategy: {tp: 1}
)";

}  // namespace

TEST_CASE("DeepSeek-V3 with its module for one further token") {
  const std::string text = R"(
model: {hf: deepseek-v3/config.json, moe: {node_limit: 4}}
cluster: {file: hgx-h800, nodes: 256}
training: {seq_len: 4096, global_batch: 15360}
strategy: {pp: 16, ep: 64, zero: 1, stages: [3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2], recompute: full}
)";
  experiment::Job with = job(text, {"model.mtp={depth: 1}"});
  const models::ParameterCount count = models::count_parameters(with.transformer(), with.model());
  CHECK(count.total == 671'026'419'200);
  CHECK(count.active == 37'552'297'472);
  // Latent attention: 7168 x 1536 + 1536 + 1536 x 128 x 192, 7168 x 576 + 512 + 512 x 128 x 256, 128 x 128 x 7168;
  // 257 experts of 3 x 7168 x 2048, router 256 x 7168 with 256 biases; projection 2 x 7168^2; norms 5 x 7168.
  const std::int64_t attention = 11'010'048 + 1'536 + 37'748'736 + 4'128'768 + 512 + 16'777'216 + 117'440'512;
  const std::int64_t module = attention + 257 * 44'040'192LL + 1'835'008 + 256 + 102'760'448 + 5 * 7'168;
  CHECK(count.prediction == module);
  experiment::Job without = job(text, {"model.mtp={depth: 0}"});
  const auto a = without.run(predict::Engine::both).prediction, b = with.run(predict::Engine::both).prediction;
  CHECK(b.event->makespan.time == b.analytic.time);
  CHECK(b.time > a.time);
  for (const experiment::Job* each : {&with, &without})
    for (const std::string& warning : each->warnings()) CHECK(warning.find("num_nextn") == std::string::npos);
}

TEST_CASE("modules for further tokens: both engines agree on every layout, and their work is done") {
  for (const char* layout :
       {"strategy.pp=1", "strategy.pp=2", "strategy.ep=8", "strategy.ep=4", "strategy.zero=1", "strategy.zero=3"})
    for (const std::int64_t depth : {1, 2}) {
      INFO(layout << " " << depth);
      const std::string mtp = "model.mtp={depth: " + std::to_string(depth) + "}";
      const std::vector<std::string> more{layout, "strategy.micro_batch=2"};
      experiment::Job plain = job(k_experts, more);
      experiment::Job further = job(k_experts, {more[0], more[1], mtp});
      const auto a = plain.run(predict::Engine::both).prediction, b = further.run(predict::Engine::both).prediction;
      CHECK(b.event->makespan.time == b.analytic.time);
      CHECK(b.breakdown.total() == b.time);
      CHECK(*b.plan_bounds.best_s() <= core::to_seconds(b.time));
      CHECK(b.hardware_flops > a.hardware_flops);
      // Nothing runs twice: what is executed and what the model asks for grow alike.
      CHECK(b.hardware_flops - a.hardware_flops == Approx(b.model_flops - a.model_flops).epsilon(0.1));
    }
}

TEST_CASE("what no plan beats this plan does not beat either, down to kernels of a nanosecond") {
  // A token at a time through layers of 64 channels: kernels of some 10 to 100 ps, whose floors are whole picoseconds.
  const std::string text = R"(
model: {kind: transformer, layers: 2, hidden: 64, heads: 2, ffn: 256, gated_mlp: false, vocab: 128, position: rope,
        tied_embeddings: false, bias: false}
cluster: dgx-h100
training: {seq_len: 1, global_batch: 8, framework: ideal}
strategy: {tp: 1}
)";
  for (const char* sequence : {"training.seq_len=1", "training.seq_len=2", "training.seq_len=64"}) {
    INFO(sequence);
    experiment::Job one = job(text, {sequence});
    const auto prediction = one.run(predict::Engine::analytic).prediction;
    const predict::Bounds &of_plan = prediction.plan_bounds, &of_any = prediction.problem_bounds;
    REQUIRE(of_any.compute_s);
    CHECK(*of_plan.compute_s >= *of_any.compute_s);
    if (of_any.network_s) CHECK(*of_plan.network_s >= *of_any.network_s);
    CHECK(*of_plan.best_s() >= *of_any.best_s());
    CHECK(*of_plan.best_s() <= core::to_seconds(prediction.time));
  }
}
