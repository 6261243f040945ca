// simulation.contention and simulation.interference of whole experiments.
#include <algorithm>

#include "cairn/config/loader.h"
#include "cairn/core/diagnostics.h"
#include "cairn/experiment/job.h"
#include "catch.h"
#include "support/source_dir.h"

using namespace cairn;

namespace {

const char* const k_shared = R"(
version: 1
model: {kind: transformer, layers: 8, hidden: 1024, heads: 16, ffn: 4096, gated_mlp: false, vocab: 4096,
        tied_embeddings: false, position: rope, bias: false}
cluster: {file: dgx-h100, nodes: 4}
training: {seq_len: 2048, global_batch: 64}
)";

experiment::Result run(std::vector<std::string> overrides) {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(k_shared, config::Syntax::yaml, "test.yaml", diagnostics);
  experiment::Job job(experiment::read(node, overrides), config::Loader({cairn::testing::source_dir() + "/configs"}));
  return job.run(predict::Engine::both);
}

bool assumes(const experiment::Result& result, const std::string& part) {
  return std::any_of(result.assumptions.begin(), result.assumptions.end(),
                     [&](const std::string& each) { return each.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("Off by default: both engines agree, and the result says that nothing is shared", "[sharing]") {
  const experiment::Result result = run({"strategy={tp: 2, pp: 2, dp: 8}"});
  CHECK(result.prediction.event->makespan.time == result.prediction.analytic.time);
  CHECK(result.prediction.event->uses.empty());
  CHECK(assumes(result, "simulation.contention is off"));
  CHECK(assumes(result, "simulation.interference is off"));
}

TEST_CASE("Where nothing overlaps, sharing changes nothing", "[sharing]") {
  // Nothing beside computation, so never two transfers at once, nor a transfer and a kernel.
  for (const char* strategy :
       {"strategy={tp: 8, dp: 4, overlap: {dp: false, tp: false}}", "strategy={tp: 1, dp: 32, overlap: {dp: false}}"}) {
    const experiment::Result result = run({strategy, "simulation={contention: true, interference: true}"});
    INFO(strategy);
    CHECK(result.prediction.event->makespan.time == result.prediction.analytic.time);
    CHECK_FALSE(result.prediction.event->uses.empty());
  }
}

TEST_CASE("Transfers beside computation slow it down, and bounds stay below", "[sharing]") {
  const std::string strategy = "strategy={tp: 2, pp: 2, dp: 8, sequence_parallel: true, zero: 1, overlap: {dp: true}}";
  const experiment::Result shared = run({strategy, "simulation={contention: true, interference: true}"});
  // Shared links alone lengthen the step. A shared device may take less than it is charged for: kernels that wait for
  // memory leave multiprocessors to transfers.
  const experiment::Result links = run({strategy, "simulation={contention: true}"});
  CHECK(links.prediction.event->makespan.time >= links.prediction.analytic.time);
  CHECK(shared.prediction.event->makespan.time != shared.prediction.analytic.time);
  CHECK(shared.prediction.analytic.time == run({strategy}).prediction.analytic.time);
  CHECK(shared.prediction.time == shared.prediction.event->makespan.time);
  CHECK(*shared.prediction.plan_bounds.best_s() <= core::to_seconds(shared.prediction.time));
  CHECK(shared.prediction.breakdown.total() == shared.prediction.time);
  CHECK(assumes(shared, "share their ranks' links"));
  CHECK(assumes(shared, "share multiprocessors and memory"));
  for (const predict::UnitUse& use : shared.prediction.event->uses) CHECK(use.peak <= 1.0);
}

TEST_CASE("Keys of simulation are checked", "[sharing]") {
  const auto refuses = [](const std::string& override, const std::string& message) {
    try {
      run({"strategy={tp: 2}", override});
      FAIL("accepted");
    } catch (const core::ConfigurationError& problem) {
      INFO(problem.what());
      CHECK(std::string(problem.what()).find(message) != std::string::npos);
    }
  };
  refuses("simulation={contentoin: true}", "did you mean 'contention'");
  refuses("simulation.interference=3", "simulation.interference");
}
