// Whole training steps measured on an H100 (validate/measured/h100-sxm5-80gb/steps.csv) against what a run predicts of
// PyTorch's fully sharded data parallelism over one rank. They gave attention its key heads as they were, as torchtitan
// does since 2026: profiled steps have no copies of them. No price was fitted to a whole step. Kernels that such
// steps turned out to lack were added from PyTorch's sources, with laws of their own measurements
// (library_kernels.csv), so the bounds were set with the errors in view. Two steps of the table wait for the host, which
// the profile does not know, and are left out. The step that is farthest off is off by 2.7 %, the nine by 1.3 % in the
// mean.
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "catch.h"
#include "rows.h"

namespace cairn::validation {
namespace {

using test::Row;

// What the device limits: the host issues such a step in less time than the device takes.
std::vector<Row> measured_steps() {
  std::vector<Row> rows = test::rows_of("validate/measured/h100-sxm5-80gb/steps.csv");
  std::erase_if(rows, [](const Row& row) { return row.at("name").ends_with(".mb1"); });
  return rows;
}

std::string step_of(const Row& row) {
  return fmt::format(
      "model: {{kind: transformer, layers: {}, hidden: {}, ffn: {}, heads: {}, kv_heads: {}, vocab: {}, "
      "tied_embeddings: false, norm: rmsnorm, position: rope, bias: false, gated_mlp: true, activation: silu}}\n"
      "cluster: {{file: dgx-h100, nodes: 1, gpus_per_node: 1}}\n"
      "training: {{seq_len: {}, global_batch: {}, framework: torchtitan@2026, precision: bf16, "
      "kernels: {{attention: {}, compiled: {}, norm: fused}}}}\n"
      "strategy: {{micro_batch: {}, recompute: {}, zero: {{stage: 3}}}}\n",
      row.at("layers"), row.at("hidden"), row.at("ffn"), row.at("heads"), row.at("kv_heads"), row.at("vocab"),
      row.at("seq_len"), row.at("micro_batch"), row.at("attention_kernel"), row.at("compiled") == "yes",
      row.at("micro_batch"), row.at("recompute"));
}

double step_ms(const std::string& text) {
  constexpr double k_milli = 1e-3;
  return core::to_seconds(test::prediction_of(text, predict::Engine::event).time) / k_milli;
}

}  // namespace

TEST_CASE("steps of fully sharded models on an H100 take what was measured", "[validation]") {
  double sum = 0.0, absolute = 0.0;
  const std::vector<Row> rows = measured_steps();
  REQUIRE(rows.size() == 9);
  for (const Row& row : rows) {
    const double predicted = step_ms(step_of(row));
    const double measured = std::stod(row.at("step_ms"));
    const double error = predicted / measured - 1.0;
    CAPTURE(row.at("name"), predicted, measured, error);
    CHECK(std::abs(error) <= 0.03);
    sum += error;
    absolute += std::abs(error);
  }
  const auto count = static_cast<double>(rows.size());
  CAPTURE(absolute / count, sum / count);
  CHECK(absolute / count <= 0.015);
  CHECK(std::abs(sum / count) <= 0.01);
}

}  // namespace cairn::validation
