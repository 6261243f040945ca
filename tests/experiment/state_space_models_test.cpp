// One step of every shipped state-space model.
#include <string>
#include <vector>

#include "cairn/experiment/job.h"
#include "catch.h"
#include "support/shipped.h"

using namespace cairn;

namespace {

const std::string k_step = R"(
cluster: dgx-h100
training: {seq_len: 4096, global_batch: 32, framework: megatron}
strategy: {zero: 1, micro_batch: 1}
)";

predict::Prediction step_of(const std::string& model, const std::vector<std::string>& overrides) {
  core::Diagnostics diagnostics;
  const config::Node node =
      config::parse_text("model: " + model + k_step, config::Syntax::yaml, "test.yaml", diagnostics);
  diagnostics.raise_if_errors();
  experiment::Job job(experiment::read(node, overrides), testing::shipped());
  predict::Prediction result = job.run(predict::Engine::both).prediction;
  CHECK(result.event->makespan.time == result.analytic.time);
  CHECK(result.breakdown.total() == result.time);
  CHECK(*result.plan_bounds.best_s() <= core::to_seconds(result.time));
  return result;
}

}  // namespace

TEST_CASE("One step of every shipped state-space model: both engines agree, and a longer one takes longer") {
  struct Case {
    const char *model, *layout;
  };
  for (const Case& each : {Case{"mamba2-2.7b", "strategy.tp=1"}, Case{"nemotron-h-8b", "strategy.tp=4"},
                           Case{"nemotron-h-56b", "strategy.tp=8"}}) {
    INFO(each.model);
    const predict::Prediction step = step_of(each.model, {each.layout});
    const predict::Prediction longer = step_of(each.model, {each.layout, "training.seq_len=8192"});
    CHECK(longer.time > step.time);
    CHECK(longer.memory.allocated_peak > step.memory.allocated_peak);
  }
}
