// The experiment of a result is the one that ran: run again, it gives the result again.
#include <map>

#include "cairn/config/read.h"
#include "cairn/core/random.h"
#include "cairn/report/run.h"
#include "catch.h"
#include "report/conforms.h"
#include "report/small_run.h"
#include "support/share.h"

using namespace cairn;
using namespace cairn::report_tests;

namespace {

using Document = nlohmann::ordered_json;

// Overrides of one key each; the empty one leaves the key alone.
const std::vector<std::vector<std::string>> k_choices{
    {"strategy.tp=1", "strategy.tp=2", "strategy.tp=4"},
    {"strategy.pp=1", "strategy.pp=2", "strategy.pp=4"},
    {"", "strategy.overlap.tp=true", "strategy.overlap.tp=false", "strategy.overlap.tp={kind: chunked}",
     "strategy.overlap.tp={kind: chunked, chunks: 2, beside: false}", "strategy.overlap.tp={kind: t3}",
     "strategy.overlap.tp={kind: iso}"},
    {"", "strategy.overlap.dp=true", "strategy.overlap.dp=false", "strategy.overlap.dp={reduce: true, bucket: 100 kB}",
     "strategy.overlap.dp={gather: true}"},
    {"", "strategy.overlap.pp=true", "strategy.overlap.pp=false"},
    {"", "strategy.schedule=gpipe", "strategy.schedule={kind: interleaved-1f1b, chunks: 2}", "strategy.schedule=zb-h1",
     "strategy.schedule=zb-auto", "strategy.schedule=modular", "strategy.schedule={kind: v-half, reorder: false}"},
    {"", "strategy.recompute=attention", "strategy.recompute=per-op", "strategy.recompute=full",
     "strategy.recompute={kind: full, method: block, count: 1}", "strategy.recompute={kind: full, layers: ['0..1']}",
     "strategy.recompute={kind: full, share_saved_inputs: true}", "strategy.recompute={operators: [attention]}"},
    {"", "strategy.zero=1", "strategy.zero=2", "strategy.zero=3", "strategy.zero={stage: 3, prefetch: 0}",
     "strategy.zero={stage: 1, replicate: 2}", "strategy.zero={stage: 3, shard: 2, reshard_after_forward: false}",
     "strategy.zero={stage: 0, offload: {policy: zero-offload}}",
     "strategy.zero={stage: 3, offload: {policy: zero-infinity}}",
     "strategy.zero={stage: 0, offload: {policy: patrickstar}}",
     "strategy.zero={stage: 1, offload: {policy: interleaved}}", "strategy.zero={stage: 3, offload: {policy: fuyou}}"},
    {"", "training.kernels={attention: unfused}", "training.kernels={attention: fused-softmax, norm: unfused}",
     "training.kernels={compiled: true}", "training.kernels={pointwise: eager, loss: log-softmax}"},
    {"", "training.precision=fp16", "training.precision=fp8-delayed", "training.precision={gradients: bf16}",
     "training.precision={recipe: fp8-current, reduce: bf16}"},
    {"", "training.optimizer=sgd", "training.optimizer=adamw", "training.optimizer=adafactor",
     "training.optimizer={kind: adam8bit, block: 2048}"},
    {"", "training.framework=torchtitan", "training.framework=fsdp", "training.framework=megatron@2022",
     "training.framework=megatron-deepspeed"},
    {"", "strategy.sequence_parallel=true"},
    {"", "strategy.vocab_parallel=false"},
    {"", "strategy.stages=balanced", "strategy.stages=by-weight", "strategy.stages=E(t|)*3tL", "strategy.stages=E|t*4L",
     "strategy.stages=Et*4L", "strategy.stages=[0, 4, 0, 0]"},
    {"", "strategy.micro_batch=2"},
    {"", "training.global_batch='8192 tokens'"},
    {"", "simulation.contention=true", "simulation={contention: true, interference: true}",
     "simulation={jitter: {distribution: lognormal, sigma: 0.1}, seed: 7}",
     "simulation.faults=[{rank: 1, compute: 0.5, from: 1 us, until: 1 ms}]"},
    {"", "model.residual=ladder", "model.dropout=0.1", "model.kv_heads=4",
     "model.moe={experts: 8, top_k: 2, ffn: 512}"},
    {"", "strategy.overlap.ep=true", "strategy.overlap.ep={kind: two-batch}"},
    {"", "strategy.ep=2"},
    {"cluster={file: dgx-h100, nodes: 1}", "cluster={file: dgx-a100, nodes: 2}",
     "cluster={file: dgx-h100, intra: {bandwidth: 300 GB/s}}"}};

const config::Loader& search_folders() {
  static const config::Loader shared = loader();
  return shared;
}

std::string document(const experiment::LoadedExperiment& loaded) {
  experiment::Job job(loaded, search_folders());
  const experiment::Result result = job.run(predict::Engine::both);
  return report::json({.job = job, .result = result, .tool = k_tool});
}

experiment::LoadedExperiment read(const std::string& text) {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(text, config::Syntax::json, {}, diagnostics);
  diagnostics.raise_if_errors();
  return experiment::read(node);
}

std::vector<std::string> chosen(core::Random& random) {
  std::vector<std::string> overrides;
  for (const std::vector<std::string>& choices : k_choices) {
    // Half of all keys are left alone, or few experiments would be possible.
    const bool alone = choices.front().empty() && random.below(2) == 0;
    const std::string& choice = alone ? choices.front() : choices[random.below(choices.size())];
    if (!choice.empty()) overrides.push_back(choice);
  }
  return overrides;
}

}  // namespace

TEST_CASE("A written-out experiment gives the same document, whatever its settings") {
  core::Random random(11);
  std::map<std::string, int> ran;
  for (std::size_t trial = 0; trial < 1500 / test::k_share; ++trial) {
    std::vector<std::string> overrides = chosen(random);
    std::string first;
    try {
      experiment::LoadedExperiment loaded = small(overrides);
      loaded.experiment.strategy.dp.reset();
      first = document(loaded);
    } catch (const core::ConfigurationError&) {
      continue;  // settings that do not go together
    }
    for (const std::string& each : overrides) ++ran[each];
    std::string words;
    for (const std::string& each : overrides) words += " --set '" + each + "'";
    INFO(words);
    const Document before = Document::parse(first);
    CHECK(document(read(before["experiment"].dump())) == first);
    // The whole result can be run, too.
    if (trial % 10 == 0) CHECK(document(read(first)) == first);
    experiment::LoadedExperiment asked = small(overrides);
    asked.experiment.strategy.dp.reset();
    const experiment::Job job(asked, search_folders());
    const Document in_full =
        Document::parse(document(read(config::to_json(job.written_out(experiment::Naming::in_full)))));
    for (const char* part : {"result", "assumptions", "warnings"}) CHECK(in_full[part] == before[part]);
    for (const Document& source : in_full["sources"])
      // A recipe is written over its base; intervals are no part of an experiment.
      CHECK((source["kind"] == "precision" || source["name"] == "fabrics" || source["kind"] == "intervals"));
  }
  if (test::k_share > 1) return;
  for (const std::vector<std::string>& choices : k_choices)
    for (const std::string& choice : choices) {
      INFO(choice);
      CHECK((choice.empty() || ran[choice] > 0));
    }
}

TEST_CASE("Micro-batches may be said when they agree") {
  CHECK_NOTHROW(document(small({"strategy.micro_batches=8"})));  // 16 sequences over dp 2, one each
  CHECK_THROWS_WITH(document(small({"strategy.micro_batches=7"})),
                    Catch::Contains("16 sequences in micro-batches of 1 on dp 2 ranks are 8, not 7"));
}

TEST_CASE("Every shipped experiment can be run again from its result") {
  for (const std::string& name : search_folders().names("experiments")) {
    INFO(name);
    Document before;
    try {
      before = Document::parse(document(experiment::load(search_folders(), name)));
    } catch (const core::ConfigurationError& error) {
      FAIL_CHECK(error.what());
      continue;
    }
    Document after = Document::parse(document(read(before["experiment"].dump())));
    CHECK(before["sources"][0]["name"] == name);
    // All but the experiment's own file and what it extends.
    while (before["sources"][0]["kind"] == "experiments") before["sources"].erase(0);
    CHECK(after == before);
  }
}
