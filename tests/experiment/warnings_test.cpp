// What is not modelled as asked, or priced beyond what was measured, is said.
#include <string>
#include <vector>

#include "cairn/experiment/job.h"
#include "catch.h"
#include "support/shipped.h"

using namespace cairn;
using Catch::Matchers::Contains;

namespace {

using cairn::testing::shipped;

std::vector<std::string> warnings(const std::string& text, const std::vector<std::string>& overrides = {},
                                  int runs = 1) {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(text, config::Syntax::yaml, "test.yaml", diagnostics);
  diagnostics.raise_if_errors();
  experiment::Job job(experiment::read(node, overrides), shipped());
  for (int run = 0; run < runs; ++run) job.run(predict::Engine::analytic);
  return job.warnings();
}

// Those that mention `part`.
std::vector<std::string> about(const std::vector<std::string>& all, const std::string& part) {
  std::vector<std::string> result;
  for (const std::string& each : all)
    if (each.find(part) != std::string::npos) result.push_back(each);
  return result;
}

const std::string k_dense = R"(
model: {kind: transformer, layers: 4, hidden: 2048, heads: 16, ffn: 8192, gated_mlp: false, vocab: 51200, tied_embeddings: false}
cluster: dgx-a100
training: {seq_len: 2048, global_batch: 8, framework: ideal}
strategy: {tp: 1}
)";

const std::string k_dense_then_experts = R"(
model: {kind: transformer, layers: 4, hidden: 1024, heads: 16, ffn: 4096, gated_mlp: true, vocab: 51200, tied_embeddings: false,
        bias: false, moe: {experts: 8, top_k: 2, ffn: 2048}, blocks: [{repeat: 1, mlp: dense}, {repeat: 3, mlp: moe}]}
cluster: dgx-a100
training: {seq_len: 2048, global_batch: 8, framework: ideal}
strategy: {tp: 2, sequence_parallel: true}
)";

}  // namespace

TEST_CASE("a shape outside the calibration is told once per family, however often it runs") {
  CHECK(warnings(k_dense, {}, 2).empty());
  // 262,144 logits in one product: the largest N measured on this accelerator is 65,536.
  const std::vector<std::string> told = warnings(k_dense, {"model.vocab=262144"}, 2);
  CHECK(about(told, "matrix products") ==
        std::vector<std::string>{"matrix products in bf16 with n = 262144: measured from 32 to 65536 only; 4 times "
                                 "beyond, the fitted law is taken to go on"});
  // The head's gradient, 262,144 x 2,048 fp32 numbers, fills a bucket of its own: 2 GiB, of 512 MiB measured.
  CHECK(about(told, "all-reduce inside a domain").size() == 1);
  CHECK(told.size() == 2);
}

TEST_CASE("halves that cannot take turns leave a layer in plain order, and say so") {
  CHECK(warnings(k_dense, {"strategy.tp=2", "strategy.overlap.tp={kind: iso}"}).empty());
  const std::vector<std::string> told =
      about(warnings(k_dense_then_experts, {"strategy.overlap.tp={kind: iso}"}), "iso");
  REQUIRE(told.size() == 1);  // not about the dense layer
  CHECK_THAT(told.front(), Contains("iso leaves layers 'block.moe' in plain order"));
}

TEST_CASE("what a Hugging Face file says and nothing models is told") {
  const std::string deepseek = R"(
model: deepseek-v3
cluster: {file: hgx-h800, nodes: 256}
training: {seq_len: 4096, global_batch: 15360}
strategy: {pp: 16, ep: 64, zero: 1, stages: balanced, recompute: full}
)";
  const std::vector<std::string> told = warnings(deepseek, {}, 0);
  CHECK(about(told, "num_nextn_predict_layers").size() == 1);
  CHECK(about(told, "moe: {node_limit: 4}").size() == 1);
  CHECK(about(warnings(deepseek, {"model.moe.node_limit=4"}, 0), "node_limit").empty());
}
