// Which plans need a link between a node's host and its accelerators.
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

experiment::LoadedExperiment without_host(const std::vector<std::string>& overrides) {
  const std::string text = R"(
model: llama-2-7b
cluster: {name: c, accelerator: h100-sxm5-80gb, gpus_per_node: 8,
          intra: {kind: nvswitch, bandwidth: 450 GB/s, latency: 0.6 us}}
training: {seq_len: 4096, global_batch: 32}
strategy: {schedule: pipeoffload}
)";
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(text, config::Syntax::yaml, "test.yaml", diagnostics);
  diagnostics.raise_if_errors();
  return experiment::read(node, overrides);
}

core::Picoseconds time_of(const experiment::LoadedExperiment& loaded) {
  return experiment::Job(loaded, shipped()).run(predict::Engine::both).prediction.time;
}

}  // namespace

TEST_CASE("A schedule that copies nothing to the host needs no link to it") {
  // On one stage no activations wait for long: none leave, as under the schedule that it extends.
  CHECK(time_of(without_host({})) == time_of(without_host({"strategy.schedule=1f1b"})));
  const core::Diagnostic refused =
      first_error(without_host({"strategy={pp: 4, schedule: {kind: pipeoffload, chunks: 2}}"}));
  CHECK(refused.key_path == "strategy.schedule");
  CHECK(refused.hint.find("cluster.host") != std::string::npos);
}
