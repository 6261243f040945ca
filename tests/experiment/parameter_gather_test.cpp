// When the stages of a pipeline begin to gather parameters beside the first forward pass.
//
// A gather needs no input. It is issued by the host, though, and a host that blocks on the first message issues nothing
// before that has come. Megatron-LM (arguments.py, 2026-08: align_param_gather is switched off without the interleaved
// schedule; distributed_data_parallel.py: else the forward pre-hooks dispatch gathers) does so under 1f1b; interleaved,
// all stages dispatch at once.
#include <string>
#include <vector>

#include "cairn/experiment/job.h"
#include "catch.h"
#include "support/shipped.h"

using namespace cairn;

namespace {

using cairn::testing::shipped;

const std::string k_pipeline = R"(
model: {kind: transformer, layers: 8, hidden: 2048, heads: 16, ffn: 8192, gated_mlp: false, vocab: 4096, position: rope,
        tied_embeddings: false, bias: false}
cluster: {file: dgx-h100, nodes: 2}
training: {seq_len: 2048, global_batch: 32}
strategy: {pp: 4, zero: 1, overlap: {dp: {reduce: true, gather: true}}}
)";

struct First {
  core::Picoseconds gather = 0;
  core::Picoseconds arrival = 0;
};
First of_second_stage(const std::vector<std::string>& overrides) {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(k_pipeline, config::Syntax::yaml, "test.yaml", diagnostics);
  diagnostics.raise_if_errors();
  experiment::Job job(experiment::read(node, overrides), shipped());
  const experiment::Result result = job.run(predict::Engine::both, {.all_timelines = true});
  const predict::StageTimeline& timeline = result.prediction.event->timelines.at(1);
  const auto& gathers = timeline.steps[static_cast<std::size_t>(program::Stream::data)];
  REQUIRE_FALSE(gathers.empty());
  return {.gather = gathers.front().start, .arrival = timeline.arrivals.front().end};
}

}  // namespace

TEST_CASE("Later stages gather at once, unless their host waits for the first message") {
  const First free = of_second_stage({"training.framework=ideal"});
  CHECK(free.arrival > 0);
  CHECK(free.gather == 0);
  const First waits = of_second_stage({"training.framework=megatron"});
  CHECK(waits.gather >= waits.arrival);
  const First interleaved =
      of_second_stage({"training.framework=megatron", "strategy.schedule={kind: interleaved-1f1b, chunks: 2}"});
  CHECK(interleaved.gather < interleaved.arrival);
}
