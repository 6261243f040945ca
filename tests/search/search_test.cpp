// The search against trying everything, its bounds against times, its plans against runs.
#include "cairn/search/search.h"

#include "catch.h"

#include <algorithm>
#include <limits>

#include "cairn/config/loader.h"
#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "cairn/experiment/job.h"
#include "cairn/experiment/trials.h"
#include "cairn/pipeline/generators.h"
#include "cairn/search/window_bound.h"
#include "support/asked.h"
#include "support/shipped.h"

using namespace cairn;
using core::Picoseconds;
using testing::shipped;

namespace {

struct Case {
  experiment::LoadedExperiment loaded;
  experiment::Parts parts;
  search::Subject subject;
  search::Space space;

  search::Answer answer(bool exhaustive, std::size_t top = 3) const {
    return search::search({.settings = loaded.experiment,
                           .parts = parts,
                           .space = space,
                           .subject = subject,
                           .top = top,
                           .exhaustive = exhaustive,
                           .contention = false});
  }
  experiment::StrategyChoice choice(std::uint64_t point) const {
    experiment::StrategyChoice choice = space.fixed;
    for (std::size_t axis = 0; axis < space.axes.size(); ++axis) {
      const auto digit = point / space.below(axis + 1) % space.axes[axis].values.size();
      space.axes[axis].copy(space.axes[axis].values[digit].choice, choice);
    }
    return choice;
  }
};

search::Space space_of(const Case& of, const std::string& text) {
  core::Diagnostics problems;
  const config::Node node = config::parse_text(text, config::Syntax::yaml, "space.yaml", problems);
  problems.raise_if_errors();
  return search::read_space(node, of.loaded.experiment.strategy, of.subject);
}

// Llama 3.1 8B, 64 sequences, on so many nodes of eight devices.
Case small_case(const std::string& space, int nodes = 2, const std::vector<std::string>& more = {}) {
  const config::Loader files = shipped();
  std::vector<std::string> settings{"model=llama-3.1-8b", "cluster.nodes=" + std::to_string(nodes),
                                    "training.global_batch=64"};
  settings.insert(settings.end(), more.begin(), more.end());
  Case result{
      .loaded = experiment::load(files, "llama3-70b-64xdgx-h100", settings), .parts = {}, .subject = {}, .space = {}};
  result.parts = experiment::load_parts(result.loaded, files);
  result.subject = search::subject_of(result.parts, result.loaded.experiment.training);
  result.space = space_of(result, space.empty() ? search::default_space(result.subject) : space);
  return result;
}

constexpr const char* k_space =
    "space: {tp: [1, 2, 8], pp: [1, 2, 4], micro_batch: [1, 2], sequence_parallel: [true, false],\n"
    "        schedule: [1f1b, {kind: interleaved-1f1b, chunks: 2..4}], stages: [even, balanced],\n"
    "        recompute: [none, attention, full], zero: [0, 1], overlap.dp: [true, false]}";

}  // namespace

TEST_CASE("branch and bound finds what trying everything finds, of any part of a space") {
  core::Random random(3);
  for (int trial = 0; trial < 4; ++trial) {
    Case part = small_case(k_space);
    if (trial > 0)  // leaves values out at random
      for (search::Axis& axis : part.space.axes)
        while (axis.values.size() > 1 && random.below(2) == 0)
          axis.values.erase(axis.values.begin() + static_cast<std::ptrdiff_t>(random.below(axis.values.size())));
    const search::Answer fast = part.answer(false);
    const search::Answer all = part.answer(true);
    CAPTURE(trial, part.space.points());
    REQUIRE(fast.verdict.defect.empty());
    REQUIRE(all.verdict.defect.empty());
    CHECK(fast.complete);
    REQUIRE(fast.top.size() == all.top.size());
    for (std::size_t i = 0; i < fast.top.size(); ++i) {
      CHECK(fast.top[i].time == all.top[i].time);
      CHECK(fast.top[i].point == all.top[i].point);
    }
    CHECK(fast.evaluated <= all.evaluated);
    CHECK(all.counts[static_cast<std::size_t>(search::CellKind::pruned)] == 0);
    if (fast.top.empty()) continue;
    CHECK(fast.verdict.lower_bound == fast.top.front().time);
  }
}

TEST_CASE("any number of threads gives the same answer") {
  const Case asked = small_case(k_space);
  for (const bool exhaustive : {false, true}) {
    search::Request request{.settings = asked.loaded.experiment,
                            .parts = asked.parts,
                            .space = asked.space,
                            .subject = asked.subject,
                            .exhaustive = exhaustive,
                            .contention = false};
    const search::Answer one = search::search(request);
    request.threads = 3;
    const search::Answer three = search::search(request);
    CHECK(one.evaluated == three.evaluated);
    CHECK(one.collapsed == three.collapsed);
    CHECK(one.certificate == three.certificate);
    REQUIRE(one.top.size() == three.top.size());
    for (std::size_t i = 0; i < one.top.size(); ++i) CHECK(one.top[i].point == three.top[i].point);
    REQUIRE(one.pareto.size() == three.pareto.size());
    for (std::size_t i = 0; i < one.pareto.size(); ++i) CHECK(one.pareto[i].point == three.pareto[i].point);
    REQUIRE(one.refusals.size() == three.refusals.size());
    for (std::size_t i = 0; i < one.refusals.size(); ++i) {
      CHECK(one.refusals[i].reason == three.refusals[i].reason);
      CHECK(one.refusals[i].count == three.refusals[i].count);
      CHECK(one.refusals[i].settings == three.refusals[i].settings);
    }
  }
}

TEST_CASE("the layouts of the Frontier study are plans that fit, and a search finds none that is slower") {
  for (const char* name : {"gpt3-175b-128xfrontier", "gpt-1t-384xfrontier"}) {
    CAPTURE(name);
    Case asked{.loaded = experiment::load(shipped(), name, {}), .parts = {}, .subject = {}, .space = {}};
    asked.parts = experiment::load_parts(asked.loaded, shipped());
    asked.subject = search::subject_of(asked.parts, asked.loaded.experiment.training);
    // Around the published one, for the sanitizers' sake; `cairn search` tries all.
    asked.space = space_of(asked,
                           "space: {tp: [4, 8], pp: [8, 16, 32, 64], micro_batch: [1, 2], recompute: [none, full], "
                           "zero: [0, 1]}");
    experiment::Trials published(asked.loaded.experiment, asked.parts);
    published.make(asked.loaded.experiment.strategy);
    CHECK(predict::fits(published.memory()));
    const search::Answer answer = asked.answer(false);
    REQUIRE_FALSE(answer.top.empty());
    CHECK(answer.top.front().time <= published.time());
    CHECK(answer.verdict.lower_bound == answer.top.front().time);
  }
}

TEST_CASE("some of a space is pruned") {
  const search::Answer answer = small_case(k_space).answer(false);
  CHECK(answer.counts[static_cast<std::size_t>(search::CellKind::pruned)] > answer.points / 10);
}

TEST_CASE("plans take what cairn run says, to the picosecond and the byte") {
  const Case asked = small_case(k_space);
  experiment::Trials trials(asked.loaded.experiment, asked.parts);
  core::Random random(11);
  int compared = 0;
  for (int tried = 0; compared < 24 && tried < 2000; ++tried) {
    const experiment::StrategyChoice choice = asked.choice(random.below(asked.space.points()));
    try {
      trials.make(choice);
    } catch (const core::ConfigurationError&) {
      continue;
    }
    experiment::Settings settings = asked.loaded.experiment;
    settings.strategy = choice;
    experiment::Job job(settings, asked.parts);
    const predict::Prediction run = job.run(predict::Engine::analytic, {.advice = experiment::Advice::none}).prediction;
    CHECK(trials.time() == run.time);
    CHECK(trials.memory().device_peak == run.memory.device_peak);
    CHECK(trials.least_memory() <= run.memory.device_peak * (1.0 + 1e-12));
    CHECK(trials.memory_floor() <= trials.least_memory());
    ++compared;
  }
  CHECK(compared == 24);
}

TEST_CASE("plans that do not fit are counted, and the nearest is the one that lacks the least") {
  for (const int nodes : {1, 2}) {
    const Case asked = small_case(k_space, nodes, {"training.global_batch=512"});
    experiment::Trials trials(asked.loaded.experiment, asked.parts);
    std::uint64_t unfit = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::uint64_t point = 0; point < asked.space.points(); ++point) {
      try {
        trials.make(asked.choice(point));
        const double lacking = trials.least_memory() - trials.capacity();
        if (lacking <= 0.0) continue;
        ++unfit;
        least = std::min(least, lacking);
      } catch (const core::ConfigurationError&) {
      }
    }
    REQUIRE(unfit > 0);
    const search::Answer answer = asked.answer(true);
    const auto refusal = std::find_if(answer.refusals.begin(), answer.refusals.end(),
                                      [](const search::Refusal& each) { return each.kind == search::CellKind::unfit; });
    REQUIRE(refusal != answer.refusals.end());
    CAPTURE(nodes, unfit, answer.collapsed);
    CHECK(refusal->lacking_bytes == least);
    // Points that are the same plan as another are in its cell, and not counted again.
    CHECK(answer.counts[static_cast<std::size_t>(search::CellKind::unfit)] == unfit);
    CHECK(refusal->count <= unfit);
    CHECK(refusal->count + answer.collapsed >= unfit);
  }
}

TEST_CASE("no plan is faster than the bound of its box") {
  // Every schedule, recomputation of every kind and part, and a mixture of experts.
  const std::string any =
      "space: {tp: [1, 2, 4], pp: [1, 2, 4, 8], micro_batch: [1, 2, 4], sequence_parallel: [true, false],\n"
      "  schedule: [1f1b, gpipe, zb-h1, breadth-first, {kind: interleaved-1f1b, chunks: 2..4}, {kind: chimera, "
      "pipelines: 2}],\n"
      "  stages: [even, balanced, by-weight], overlap.tp: [true, false], overlap.pp: [true, false],\n"
      "  recompute: [none, attention, per-op, full, {kind: full, method: block, count: 1..3}, {kind: full, method: "
      "uniform, count: 2}],\n"
      "  zero: [0, 1, 3], overlap.dp: [true, false]}";
  const std::vector<std::vector<std::string>> variants{
      {}, {"training.framework=torchtitan"}, {"model=mixtral-8x7b", "strategy.ep=2"}};
  for (const std::vector<std::string>& more : variants) {
    const Case asked = small_case(any, 2, more);
    experiment::Trials trials(asked.loaded.experiment, asked.parts);
    core::Random random(5);
    const auto wanted = static_cast<std::int64_t>(test::asked("CAIRN_BOUNDED", 120));
    std::int64_t bounded = 0;
    for (std::int64_t tried = 0; bounded < wanted && tried < 170 * wanted; ++tried) {
      const std::uint64_t point = random.below(asked.space.points());
      try {
        trials.make(asked.choice(point));
        const Picoseconds bound = search::window_bound(trials.model(), trials.layer_floors(), trials.schedule(),
                                                       trials.strategy().stage_layers);
        const Picoseconds time = trials.time();  // a plan that lowering refuses has none
        CAPTURE(point, more);
        CHECK(bound <= time);
        CHECK(search::work_bound(trials.model(), trials.layer_floors(), trials.schedule().kind,
                                 trials.strategy().micro_batches, trials.strategy().pipeline) <= time);
        bounded += bound > 0 ? 1 : 0;
      } catch (const core::ConfigurationError&) {
        continue;
      }
    }
    CHECK(bounded == wanted);
  }
}

TEST_CASE("the bound of a window, by hand") {
  models::TransformerConfig config = small_case("space: {tp: [1]}").parts.model;
  config.layers = 4;
  const ir::Model model = models::build_transformer(config, {});
  std::vector<experiment::LayerFloor> floors;
  for (const ir::LayerClass& layer : model.classes)
    floors.push_back(layer.position == ir::Position::body ? experiment::LayerFloor{.forward = 1, .backward = 1}
                                                          : experiment::LayerFloor{});
  const std::vector<std::int64_t> two{2, 2};
  const auto schedule = pipeline::generate("1f1b", {.stages = 2, .micro_batches = 3});
  CHECK(search::window_bound(model, floors, schedule, two) == 1 + 3 * 4 + 1);
  // Chunks of one layer: nothing of what passes before is certain, and the work is 3 x 2 x 2.
  const std::vector<std::int64_t> four{1, 1, 1, 1};
  const auto looped = pipeline::generate("interleaved-1f1b", {.stages = 2, .micro_batches = 4, .chunks = 2});
  CHECK(search::window_bound(model, floors, looped, four) == 4 * 4);
  // However they are divided: 3 x 4 x 2 on two devices.
  CHECK(search::work_bound(model, floors, "1f1b", 3, 2) == 12);
  CHECK(search::work_bound(model, floors, "zb-h1", 3, 2) == 0);
  // Split backward passes: nothing is proved.
  CHECK(search::window_bound(model, floors, pipeline::generate("zb-h1", {.stages = 2, .micro_batches = 4}), two) == 0);
  // Layers that add up to more than simulated time reaches.
  for (experiment::LayerFloor& each : floors) each = {.forward = core::k_reach - 1, .backward = core::k_reach - 1};
  CHECK(search::window_bound(model, floors, schedule, two) == core::k_reach);
  CHECK(search::work_bound(model, floors, "1f1b", 3, 2) == core::k_reach);
}

TEST_CASE("a plan with more work than can be simulated has no time under contention") {
  const Case many = small_case("space: {tp: [8], pp: [1], micro_batch: [1]}", 1, {"training.global_batch=65536"});
  const search::Answer answer = search::search(
      {.settings = many.loaded.experiment, .parts = many.parts, .space = many.space, .subject = many.subject});
  REQUIRE(answer.top.size() == 1);
  CHECK(answer.top.front().time > 0);
  CHECK_FALSE(answer.top.front().contended.has_value());
}

TEST_CASE("the front has less memory for more time, and no evaluated plan beats it") {
  const Case asked = small_case(k_space);
  const search::Answer answer = asked.answer(true);
  REQUIRE(answer.pareto.size() > 1);
  CHECK(answer.pareto.front().time == answer.top.front().time);
  for (std::size_t i = 1; i < answer.pareto.size(); ++i) {
    CHECK(answer.pareto[i].time >= answer.pareto[i - 1].time);
    CHECK(answer.pareto[i].memory_bytes < answer.pareto[i - 1].memory_bytes);
  }
}

TEST_CASE("a space in which nothing fits names the nearest plan and what it lacks") {
  const search::Answer answer =
      small_case("space: {tp: [1], micro_batch: [1, 2], zero: [0, 1]}", 1, {"model=llama-3.1-70b"}).answer(false);
  CHECK(answer.top.empty());
  CHECK(answer.verdict.defect.empty());
  CHECK_FALSE(answer.verdict.lower_bound.has_value());
  CHECK(answer.counts[static_cast<std::size_t>(search::CellKind::unfit)] == 4);
  REQUIRE(answer.refusals.size() == 1);
  CHECK(answer.refusals.front().lacking_bytes > 0.0);
  // Sharding the optimizer's state, and less at once, leave the least lacking.
  const auto& nearest = answer.refusals.front().settings;
  CHECK(std::find(nearest.begin(), nearest.end(), std::pair<std::string, std::string>{"zero", "1"}) != nearest.end());
  CHECK(std::find(nearest.begin(), nearest.end(), std::pair<std::string, std::string>{"micro_batch", "1"}) !=
        nearest.end());
}

TEST_CASE("conditions that leave nothing are named") {
  const search::Answer answer =
      small_case("space: {tp: [1, 2], pp: [1, 2]}\nconstraints: [\"tp > 2\", \"pp > 2\"]").answer(false);
  CHECK(answer.top.empty());
  CHECK(answer.counts[static_cast<std::size_t>(search::CellKind::excluded)] == 4);
  REQUIRE(answer.refusals.size() == 1);
  CHECK(answer.refusals.front().reason == "tp > 2");
  CHECK(answer.refusals.front().count == 4);
}

TEST_CASE("a search that is stopped says what it has not proven") {
  const Case asked = small_case(k_space);
  int left = 600;  // times that it may go on
  const search::Answer answer = search::search({.settings = asked.loaded.experiment,
                                                .parts = asked.parts,
                                                .space = asked.space,
                                                .subject = asked.subject,
                                                .exhaustive = true,
                                                .contention = false,
                                                .stop = [&] { return --left < 0; }});
  CHECK_FALSE(answer.complete);
  CHECK(answer.verdict.defect.empty());
  CHECK(answer.counts[static_cast<std::size_t>(search::CellKind::pruned)] > 0);
  const search::Answer whole = asked.answer(true);
  CHECK(answer.verdict.lower_bound <= whole.top.front().time);
}
