// What counts as work of attention: the model's, whatever the kernel, and what the kernel executes.
#include <string>
#include <vector>

#include "cairn/experiment/job.h"
#include "catch.h"
#include "experiment/first_error.h"
#include "support/shipped.h"

using namespace cairn;

namespace {

using cairn::testing::first_error;
using cairn::testing::shipped;

const std::string k_model = R"(
model: {kind: transformer, layers: 4, hidden: 1024, heads: 8, ffn: 4096, gated_mlp: true, vocab: 4096, position: rope,
        tied_embeddings: false, bias: false}
cluster: dgx-h100
training: {seq_len: 4096, global_batch: 16}
strategy: {tp: 2}
)";
const std::string k_encoder = R"(
model: {file: bert-large, max_positions: 4096}
cluster: {file: dgx-h100, gpus_per_node: 2}
training: {seq_len: 4096, global_batch: 8}
strategy: {tp: 2}
)";

experiment::LoadedExperiment read(const std::string& text, const std::vector<std::string>& overrides) {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(text, config::Syntax::yaml, "test.yaml", diagnostics);
  diagnostics.raise_if_errors();
  return experiment::read(node, overrides);
}

struct Ran {
  predict::Prediction prediction;
  std::vector<std::string> warnings;
  double peak_flops = 0.0;  // what the devices could execute in the step
};
Ran run(const std::string& text, const std::vector<std::string>& overrides) {
  experiment::Job job(read(text, overrides), shipped());
  predict::Prediction prediction = job.run(predict::Engine::analytic).prediction;
  const double peak = job.peak().rate.base() * core::to_seconds(prediction.time) * static_cast<double>(job.gpus());
  return {.prediction = std::move(prediction), .warnings = job.warnings(), .peak_flops = peak};
}

const std::vector<std::string> k_kernels{"unfused", "fused-softmax", "flash1", "flash2", "flash3"};
const std::vector<std::string> k_patterns{"full", "{sliding: 256}"};

}  // namespace

TEST_CASE("Model FLOPs are the model's: kernels do not change them") {
  for (const std::string& pattern : k_patterns)
    for (const char* causal : {"true", "false"}) {
      const std::vector<std::string> model{"model.blocks=[{repeat: 1, attention: " + pattern + "}]",
                                           std::string("model.causal=") + causal};
      std::vector<double> full, unmasked;
      for (const std::string& kernel : k_kernels) {
        std::vector<std::string> settings = model;
        settings.push_back("training.kernels.attention=" + kernel);
        const predict::Prediction p = run(k_model, settings).prediction;
        full.push_back(p.model_flops);
        unmasked.push_back(p.model_flops_causal);
        INFO(pattern << " " << causal << " " << kernel);
        CHECK(p.model_flops_causal <= p.model_flops);
        CHECK(p.model_flops < 2 * p.model_flops_causal);
        // Forward and backward, of which the kernel executes every pair that is needed.
        CHECK(p.model_flops_causal <= p.hardware_flops);
        if (kernel == "unfused" && pattern == "full") CHECK(p.hardware_flops >= p.model_flops);
        if (std::string(causal) == "false") CHECK(p.model_flops == p.model_flops_causal);
      }
      for (std::size_t kernel = 1; kernel < k_kernels.size(); ++kernel) {
        CHECK(full[kernel] == full[0]);
        CHECK(unmasked[kernel] == unmasked[0]);
      }
    }
}

TEST_CASE("Executed FLOPs leave out what a kernel skips") {
  // 16 sequences, 4 layers, 8 heads of width 128, s = 4096: s (s + 1) / 2 pairs at 2 products forward and 5 backward,
  // or s^2 pairs at 2 and 4 where scores are kept.
  const double pairs = 4096.0 * 4097 / 2;
  const double per_pair = 16.0 * 4 * 8 * 2 * 128;
  const double flash = run(k_model, {"training.kernels.attention=flash2"}).prediction.hardware_flops;
  const double unfused = run(k_model, {"training.kernels.attention=unfused"}).prediction.hardware_flops;
  CHECK(unfused - flash == Approx(per_pair * (4096.0 * 4096 * 6 - pairs * 7)).epsilon(1e-12));
}

TEST_CASE("Utilisation above one is possible for full attention alone, and said") {
  const Ran short_run = run(k_model, {});
  CHECK(short_run.prediction.model_flops < short_run.peak_flops);
  const std::vector<std::string> long_sequence{"training.seq_len=1048576", "training.global_batch=4",
                                               "training.kernels.attention=flash3"};
  const Ran full = run(k_model, long_sequence);
  CHECK(full.prediction.hardware_flops <= full.peak_flops);
  CHECK(full.prediction.model_flops_causal <= full.prediction.hardware_flops);
  const auto says = [](const Ran& ran) {
    return std::any_of(ran.warnings.begin(), ran.warnings.end(),
                       [](const std::string& each) { return each.starts_with("MFU above 100 %"); });
  };
  CHECK_FALSE(says(full));
  CHECK(full.prediction.model_flops < full.peak_flops);
  // Kernels of an L20 come nearer to its peak.
  std::vector<std::string> near_peak{"cluster=pcie-8x-l20", "training.seq_len=4194304", "training.global_batch=4"};
  const Ran above = run(k_model, near_peak);
  CHECK(says(above));
  CHECK(above.prediction.model_flops > above.peak_flops);
  CHECK(above.prediction.hardware_flops <= above.peak_flops);
  CHECK_FALSE(says(short_run));
  std::vector<std::string> windowed = long_sequence;
  windowed.emplace_back("model.blocks=[{repeat: 1, attention: {sliding: 4096}}]");
  const Ran window = run(k_model, windowed);
  CHECK(window.prediction.model_flops <= window.peak_flops);
  CHECK(window.prediction.hardware_flops <= window.peak_flops);
}

TEST_CASE("Halves of the tokens take turns under a causal mask alone") {
  CHECK(run(k_model, {"strategy.overlap.tp={kind: iso}"}).prediction.hardware_flops ==
        run(k_model, {}).prediction.hardware_flops);
  const core::Diagnostic refused = first_error(read(k_encoder, {"strategy.overlap.tp={kind: iso}"}));
  CHECK(refused.key_path == "strategy.overlap.tp");
  CHECK(refused.hint == "use kind: chunked or t3");
  for (const char* kind : {"chunked", "t3"}) {
    const Ran ran = run(k_encoder, {std::string("strategy.overlap.tp={kind: ") + kind + "}"});
    CHECK(ran.prediction.hardware_flops >= ran.prediction.model_flops);
  }
}
