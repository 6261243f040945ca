// What every virtual stage holds: as a layout in Megatron-LM's notation, as counts, by a rule; stages without layers.
#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cairn/core/random.h"
#include "cairn/experiment/job.h"
#include "catch.h"
#include "experiment/first_error.h"
#include "support/shipped.h"

using namespace cairn;
using cairn::testing::first_error;
using cairn::testing::shipped;

namespace {

using Counts = std::vector<std::int64_t>;

// 6 layers on 16 accelerators, four stages.
const std::string k_six = R"(
model: {kind: transformer, layers: 6, hidden: 1024, heads: 16, ffn: 4096, gated_mlp: false, vocab: 51200, position: rope,
        tied_embeddings: false}
cluster: {file: dgx-h100, nodes: 2}
training: {seq_len: 1024, global_batch: 32}
strategy: {tp: 2, pp: 4}
)";

experiment::LoadedExperiment six(const std::vector<std::string>& overrides) {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(k_six, config::Syntax::yaml, "six.yaml", diagnostics);
  diagnostics.raise_if_errors();
  return experiment::read(node, overrides);
}

Counts layers_of(const std::vector<std::string>& overrides) {
  return experiment::Job(six(overrides), shipped()).strategy().stage_layers;
}

const std::string k_two_chunks = "strategy.schedule={kind: interleaved-1f1b, chunks: 2}";

std::string listed(const Counts& counts) {
  std::string text;
  for (const std::int64_t count : counts) text += (text.empty() ? "strategy.stages=[" : ", ") + std::to_string(count);
  return text + "]";
}

// The same counts with repetitions and commas at random places.
std::string written(const Counts& counts, core::Random& random) {
  const auto coin = [&random] { return random.below(2) == 0; };
  std::string text = "strategy.stages=E";
  for (std::size_t stage = 0; stage < counts.size(); ++stage) {
    if (stage > 0) text += coin() ? "|" : ",|";
    // Equal stages that follow one another: (t*n|)*k stands for k of them and their borders.
    std::size_t alike = 0;
    while (stage + alike + 1 < counts.size() && counts[stage + alike] == counts[stage]) ++alike;
    if (alike > 1 && coin()) {
      text += fmt::format("(t*{}|)*{}", counts[stage], alike);
      stage += alike;
    }
    if (coin())
      text += fmt::format("t*{}", counts[stage]);
    else
      text.append(static_cast<std::size_t>(counts[stage]), 't');
  }
  return text + (coin() ? "L" : ",L,");
}

Counts random_counts(core::Random& random, std::size_t stages, std::int64_t layers) {
  Counts counts(stages, 0);
  for (; layers > 0; --layers) ++counts[random.below(stages)];
  return counts;
}

}  // namespace

// By hand from what the notation means; "E|(tt|)*2,(t|)*2tL|" is the shape of the example in Megatron-LM's own
// documentation of the option, its last stages cut.
TEST_CASE("A layout is the counts that it denotes") {
  const std::vector<std::pair<std::string, Counts>> plain{
      {"Ett|tt|t|tL", {2, 2, 1, 1}},  {"E|t*3|t*3|L", {0, 3, 3, 0}},
      {"E(t|)*3ttt,L", {1, 1, 1, 3}}, {"E|(ttt|)*2L", {0, 3, 3, 0}},
      {"E||t*6|L", {0, 0, 6, 0}},     {"E|*3t*6L", {0, 0, 0, 6}},
      {"E(t*2)*3|||L", {6, 0, 0, 0}}, {"Et*0|t*1,0|(tt)*0|L", {0, 10, 0, 0}}};
  for (const auto& [layout, counts] : plain) {
    INFO(layout);
    const std::string stages = "strategy.stages=" + layout;
    if (layout.find("1,0") != std::string::npos)
      CHECK(layers_of({stages, "model.layers=10"}) == counts);  // a comma means nothing, in numbers as well
    else
      CHECK(layers_of({stages}) == counts);
  }
  CHECK(layers_of({"strategy.stages=E|(t|)*6L", k_two_chunks}) == Counts{0, 1, 1, 1, 1, 1, 1, 0});
  CHECK(layers_of({"strategy.stages=EttttttL", "strategy.pp=1"}) == Counts{6});
  // Modules for further tokens stand with the head, which counts no layer for them.
  CHECK(layers_of({"strategy.stages=E|t*3|t*3|mmL", "model.mtp={depth: 2}"}) == Counts{0, 3, 3, 0});
}

TEST_CASE("Layout and counts give one answer, on random cuts") {
  core::Random random(5);
  for (int round = 0; round < 60; ++round) {
    const bool chunks = random.below(2) == 0;
    const Counts counts = random_counts(random, chunks ? 8 : 4, 6);
    const std::string layout = written(counts, random);
    INFO(layout);
    const std::string schedule = chunks ? k_two_chunks : "strategy.schedule=1f1b";
    experiment::Job by_layout(six({layout, schedule}), shipped()),
        by_counts(six({listed(counts), schedule}), shipped());
    REQUIRE(by_layout.strategy().stage_layers == counts);
    const predict::Prediction a = by_layout.run(predict::Engine::both).prediction;
    const predict::Prediction b = by_counts.run(predict::Engine::both).prediction;
    CHECK(a.time == b.time);
    CHECK(a.memory.device_peak == b.memory.device_peak);
    CHECK(a.analytic.time == a.event->makespan.time);
    CHECK(*a.plan_bounds.best_s() <= core::to_seconds(a.time));
  }
}

// FLOPs of one micro-batch on the ranks of one pipeline, forward and backward, as its steps execute them.
double executed_flops(const program::Program& program) {
  double flops = 0.0;
  for (std::int32_t stage = 0; stage < static_cast<std::int32_t>(program.stages()); ++stage)
    for (std::int32_t chunk = 0; chunk < program.layout().chunks(); ++chunk)
      for (const program::PassKind kind : {program::PassKind::forward, program::PassKind::backward})
        for (const program::BlockRun& run : program.pass(stage, {.kind = kind, .chunk = chunk}).runs)
          for (const program::Step& step : run.block->steps) {
            if (step.work < 0) continue;
            if (const auto* shard = std::get_if<ir::Shard>(&run.block->works[static_cast<std::size_t>(step.work)]))
              flops += static_cast<double>(run.count) * ir::flops(*shard);
          }
  return flops;
}

// Of the whole model, wherever its layers lie: untied and unsharded, no stage holds a copy of another's parameters.
TEST_CASE("What all stages hold and compute does not depend on the cut") {
  core::Random random(6);
  const auto sums = [](const experiment::Job& job) {
    std::array<double, 3> held{};  // parameters, gradients, optimizer state
    for (std::size_t stage = 0; stage < job.program().stages(); ++stage)
      for (std::size_t category = 0; category < held.size(); ++category)
        held[category] += job.program().stage(stage).resident[category];
    return std::pair{held, executed_flops(job.program())};
  };
  const auto expected = sums(experiment::Job(six({"strategy.pp=1", "strategy.stages=EttttttL"}), shipped()));
  REQUIRE(expected.second > 0.0);
  for (int round = 0; round < 20; ++round) {
    const Counts counts = random_counts(random, 8, 6);
    INFO(listed(counts));
    CHECK(sums(experiment::Job(six({listed(counts), k_two_chunks}), shipped())) == expected);
  }
}

TEST_CASE("Rules place more stages than layers where the ends can stand alone, and say what else there is") {
  // Eight virtual stages for 6 layers: embedding and head alone.
  CHECK(layers_of({"strategy.stages=balanced", k_two_chunks}) == Counts{0, 1, 1, 1, 1, 1, 1, 0});
  // By weight the embedding counts for nothing and shares its stage: seven stages at most.
  const std::vector<std::string> seven{"strategy.pp=7", "strategy.tp=1", "cluster={file: dgx-h100, gpus_per_node: 7}",
                                       "training.global_batch=28"};
  const auto with = [&seven](std::string stages) {
    std::vector<std::string> all = seven;
    all.push_back(std::move(stages));
    return all;
  };
  CHECK(layers_of(with("strategy.stages=by-weight")) == Counts{1, 1, 1, 1, 1, 1, 0});
  const core::Diagnostic even = first_error(six(with("strategy.stages=even")));
  CHECK(even.message == "7 virtual stages for 6 layers");
  CHECK(even.hint.find("list the layers of each stage") != std::string::npos);
  const core::Diagnostic weight = first_error(six({"strategy.stages=by-weight", k_two_chunks}));
  CHECK(weight.key_path == "strategy.stages");
  CHECK(weight.message == "6 layers cannot fill 8 stages");
  const core::Diagnostic balanced = first_error(six({"strategy.stages=balanced", "model.layers=5", k_two_chunks}));
  CHECK(balanced.key_path == "strategy.stages");
  CHECK(balanced.message == "5 layers cannot fill 8 stages");
  CHECK(balanced.hint.find("at most 7 stages") != std::string::npos);
}

TEST_CASE("Partial recomputation counts layers of a virtual stage, of which there may be none") {
  const std::vector<std::string> block{"strategy.stages=[0, 1, 3, 0, 0, 2, 0, 0]", k_two_chunks};
  const auto recompute = [&block](const char* how) {
    std::vector<std::string> overrides = block;
    overrides.push_back(std::string("strategy.recompute=") + how);
    experiment::Job job(six(overrides), shipped());
    const predict::Prediction prediction = job.run(predict::Engine::both).prediction;
    CHECK(prediction.analytic.time == prediction.event->makespan.time);
    return prediction.time;
  };
  // The first of every virtual stage: layers 0, 1 and 4.
  CHECK(recompute("{kind: full, method: block, count: 1}") == recompute("{kind: full, layers: ['0..1', '4']}"));
  CHECK(recompute("{kind: full, method: block, count: 3}") == recompute("full"));
  CHECK(recompute("{kind: full, method: uniform, count: 1}") == recompute("full"));
  CHECK(recompute("{kind: full, method: uniform, count: 2}") > 0);
}

TEST_CASE("What is wrong with a layout is told with its place and a remedy") {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"E|t*6|x|L", "'x' at 7 is no part of a layout"},
      {"E|t*6| |L", "' ' at 7 is no part of a layout"},
      {"E|(t|*6L", "'(' at 3 is not closed"},
      {"E|(t|)L", "')' at 6 is followed by no repetition"},
      {"E|((t|)*3)*2L", "'(' at 4 stands inside those at 3"},
      {"E|()*6L", "'()' at 3 holds nothing"},
      {"E|(,)*6L", "'()' at 3 holds nothing"},
      {"E|t\u00d76|L", "'\u00d7' at 4 is no part of a layout"},
      {"E|t*|L", "'*' at 4 is followed by no number"},
      {"E|t*2*3|L", "'*' at 6 repeats a repetition"},
      {"E|*|L", "'*' at 3 is followed by no number"},
      {"E|t*9999999999999999999|L", "the repetition of 't' at 3 makes more than 1048576 layers and stages"},
      {"t*6|L", "the layout has no E, the embedding"},
      {"E|t*6", "the layout has no L, the head with the loss"},
      {"E|t*6|EL", "a second E, at 7"},
      {"E|t*6|LL", "a second L, at 8"},
      {"tE|t*5|L", "E at 2 stands behind 't' at 1"},
      {"E|t*5|Lt", "L at 7 stands before 't' at 8"},
      {"E|t*6L|", "L at 6 stands before '|' at 7"},
      {"E|t*5|L", "the layout has 5 t, the model has 6 layers"},
      {"E|t*6|mL", "the layout has 1 m, the model has 0 modules for further tokens"}};
  for (const auto& [layout, message] : wrong) {
    INFO(layout);
    const core::Diagnostic error = first_error(six({"strategy.stages='" + layout + "'"}));
    CHECK(error.key_path == "strategy.stages");
    CHECK(error.file == "--set");
    CHECK(error.message == message);
    CHECK_FALSE(error.hint.empty());
  }
  const core::Diagnostic early = first_error(six({"strategy.stages=E|t*6|m|L", "model.mtp={depth: 1}"}));
  CHECK(early.message == "m at 7 stands before '|' at 8");
  CHECK(early.hint.find("in the head's stage") != std::string::npos);
  const core::Diagnostic none = first_error(six({"strategy.stages=E|t*6|L", "model.mtp={depth: 1}"}));
  CHECK(none.message == "the layout has 0 m, the model has 1 modules for further tokens");
  // As many stages as the layout has, and how to have them.
  const core::Diagnostic chunks = first_error(six({"strategy.stages=E|(t|)*6L"}));
  CHECK(chunks.message == "lists 8 virtual stages, but pp x chunks = 4");
  CHECK(chunks.hint.find("schedule: {kind: interleaved-1f1b, chunks: 2}") != std::string::npos);
  // What could be a name is one.
  try {
    (void)six({"strategy.stages=evn"});
    FAIL("accepted");
  } catch (const core::ConfigurationError& error) {
    CHECK(error.diagnostics().front().hint == "did you mean 'even'?");
  }
}
