// One training step of every family of models, and what their features change.
#include <algorithm>
#include <string>
#include <vector>

#include "cairn/experiment/job.h"
#include "catch.h"
#include "support/shipped.h"

using namespace cairn;

namespace {

using cairn::testing::shipped;

experiment::LoadedExperiment asked(const std::string& model, const std::vector<std::string>& overrides = {}) {
  const std::string text = "model: " + model + R"(
cluster: dgx-h100
training: {seq_len: 2048, global_batch: 16, framework: megatron}
strategy: {tp: 1}
)";
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(text, config::Syntax::yaml, "test.yaml", diagnostics);
  diagnostics.raise_if_errors();
  return experiment::read(node, overrides);
}

predict::Prediction predicted(const std::string& model, const std::vector<std::string>& overrides = {}) {
  INFO(model);
  experiment::Job job(asked(model, overrides), shipped());
  const predict::Prediction prediction = job.run(predict::Engine::both).prediction;
  CHECK(prediction.event->makespan.time == prediction.analytic.time);
  CHECK(prediction.breakdown.total() == prediction.time);
  CHECK(prediction.breakdown.other == 0);
  CHECK(*prediction.plan_bounds.best_s() <= core::to_seconds(prediction.time));
  return prediction;
}

// All that is said of an experiment that cannot be read.
std::string refusal(const experiment::LoadedExperiment& loaded) {
  try {
    experiment::Job job(loaded, shipped());
  } catch (const core::ConfigurationError& error) {
    return error.what();
  }
  return {};
}

bool mentions(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// Contractions of a forward pass over one sequence, of the pairs that the model means.
double work(const std::string& model, std::int64_t sequence) {
  experiment::Job job(asked(model, {"training.seq_len=" + std::to_string(sequence)}), shipped());
  return job.model().forward_flops({.batch = 1, .sequence = sequence}, true);
}

}  // namespace

TEST_CASE("one step of every family: both engines agree, and the parts add up", "[families]") {
  for (const char* model :
       {"gemma-2-9b", "gemma-3-27b", "phi-3-mini", "olmo-2-7b", "falcon-7b", "falcon-180b", "gpt-neox-20b",
        "llama-4-scout", "llama-4-maverick", "gpt-oss-20b", "glm-4.5", "kimi-k2", "qwen3-next-80b-a3b"})
    predicted(model);
}

TEST_CASE("one step of every family, with its heads and experts split", "[families]") {
  for (const char* model : {"gemma-2-9b", "phi-3-mini", "olmo-2-7b", "falcon-180b", "gpt-neox-20b"})
    predicted(model, {"strategy.tp=2", "strategy.sequence_parallel=true"});
  for (const char* model : {"llama-4-scout", "gpt-oss-20b", "glm-4.5", "qwen3-next-80b-a3b"}) {
    predicted(model, {"strategy.ep=8"});
    predicted(model, {"strategy.tp=2", "strategy.sequence_parallel=true", "strategy.ep=4", "strategy.etp=2"});
  }
}

TEST_CASE("a window or chunk half as long: fewer pairs, exactly, and less time", "[families]") {
  // Gemma 2: 21 windowed layers of 16 heads of 256. Pairs of a window w in s tokens: w (w + 1) / 2 + (s - w) w.
  const auto pairs = [](double w, double s) { return w * (w + 1) / 2 + (s - w) * w; };
  const auto gemma = [](const char* window) {
    return std::string("{hf: gemma-2-9b, blocks: [{attention: {sliding: ") + window + "}}, {attention: full}]}";
  };
  CHECK(work(gemma("1024"), 4096) - work(gemma("512"), 4096) ==
        21 * 16 * 4.0 * 256 * (pairs(1024, 4096) - pairs(512, 4096)));
  CHECK(predicted(gemma("512"), {"training.seq_len=4096"}).time <
        predicted(gemma("1024"), {"training.seq_len=4096"}).time);

  // Llama 4: 36 layers in chunks, 40 heads of 128; a chunk c holds c (c + 1) / 2 pairs.
  const auto chunked = [](const char* chunk) {
    return std::string("{hf: llama-4-scout, blocks: [{repeat: 3, attention: {chunked: ") + chunk +
           "}}, {attention: nope}]}";
  };
  const auto in_chunks = [](double c, double s) { return s / c * (c * (c + 1) / 2); };
  CHECK(work(chunked("1024"), 4096) - work(chunked("512"), 4096) ==
        36 * 40 * 4.0 * 128 * (in_chunks(1024, 4096) - in_chunks(512, 4096)));
  CHECK(predicted(chunked("512"), {"training.seq_len=4096"}).time <
        predicted(chunked("1024"), {"training.seq_len=4096"}).time);
  // A chunk that holds the sequence is full attention.
  CHECK(work(chunked("4096"), 4096) == work(chunked("8192"), 4096));
  CHECK(work("llama-4-scout", 2048) == work(chunked("2048"), 2048));
  CHECK(mentions(refusal(asked(chunked("1500"))), "do not divide a sequence of 2048"));
}

TEST_CASE("the delta rule's products grow with the tokens, not with their square", "[families]") {
  const std::string model = "{hf: qwen3-next-80b-a3b, layers: 1, blocks: [{attention: delta}]}";
  CHECK(work(model, 8192) == 4 * work(model, 2048));
  const std::string full = "{hf: qwen3-next-80b-a3b, layers: 1, blocks: [{attention: full}]}";
  CHECK(work(full, 8192) > 4 * work(full, 2048));
}

TEST_CASE("what a feature of a family costs has the right sign", "[families]") {
  const auto time = [](const std::string& model) { return predicted(model).time; };
  const auto memory = [](const std::string& model) { return predicted(model).memory.allocated_peak; };
  for (const char* feature : {"logit_cap", "embedding_scale"}) {
    INFO(feature);
    CHECK(time(std::string("{hf: gemma-2-9b, ") + feature + ": false}") < time("gemma-2-9b"));
  }
  CHECK(time("{hf: gemma-2-9b, norm_place: pre}") < time("gemma-2-9b"));
  CHECK(time("{hf: gpt-oss-20b, attention_sinks: false}") < time("gpt-oss-20b"));
  CHECK(time("{hf: gpt-neox-20b, rope_dim: 96}") > time("gpt-neox-20b"));
  CHECK(time("{hf: qwen3-next-80b-a3b, attention_gate: false}") < time("qwen3-next-80b-a3b"));
  CHECK(time("{hf: olmo-2-7b, qk_norm: false}") < time("olmo-2-7b"));
  CHECK(memory("{hf: gpt-oss-20b, attention_sinks: false}") < memory("gpt-oss-20b"));
  CHECK(memory("{hf: gemma-2-9b, norm_place: pre}") < memory("gemma-2-9b"));
}

TEST_CASE("what runs in one kernel only is refused with scores in memory", "[families]") {
  for (const char* model : {"gpt-oss-20b", "{hf: llama-4-scout, blocks: [{attention: {chunked: 1024}}]}"}) {
    CHECK(mentions(refusal(asked(model, {"training.kernels.attention=unfused"})), "one kernel only"));
  }
  predicted("gemma-2-9b", {"training.kernels.attention=unfused"});
}

TEST_CASE("what the description of a family takes for granted is said", "[families]") {
  const auto said = [](const std::string& model, const char* part, const std::vector<std::string>& overrides = {}) {
    experiment::Job job(asked(model, overrides), shipped());
    const std::vector<std::string> all = job.run(predict::Engine::analytic).assumptions;
    return std::any_of(all.begin(), all.end(), [&](const std::string& each) { return mentions(each, part); });
  };
  CHECK(said("gemma-2-9b", "capped scores"));
  CHECK_FALSE(said("gemma-2-9b", "capped scores", {"training.kernels.attention=unfused"}));
  CHECK(said("falcon-7b", "side by side"));
  CHECK(said("kimi-k2", "chooses experts"));
  CHECK(said("qwen3-next-80b-a3b", "a delta rule"));
  CHECK_FALSE(said("olmo-2-7b", "side by side"));
}
