#include "cairn/experiment/job.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <string>

#include <fmt/format.h>

#include "cairn/hardware/running_costs.h"
#include "cairn/predict/evaluate/analytic.h"
#include "cairn/predict/evaluate/reach.h"
#include "catch.h"
#include "experiment/first_error.h"
#include "support/shipped.h"
#include "support/small_experiment.h"

namespace {

using namespace cairn;
using Catch::Matchers::Contains;

using cairn::testing::first_error;
using cairn::testing::shipped;

using cairn::testing::small_experiment;

experiment::LoadedExperiment small(const std::vector<std::string>& overrides = {}) {
  return small_experiment(overrides);
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

TEST_CASE("every shipped experiment: both engines agree, and the parts add up") {
  const config::Loader files = shipped();
  REQUIRE(files.names("experiments").size() >= 2);
  for (const std::string& name : files.names("experiments")) {
    experiment::Job job(experiment::load(files, name), files);
    const experiment::Result result = job.run(predict::Engine::both);
    const predict::Prediction& prediction = result.prediction;
    CHECK(prediction.event->makespan.time == prediction.analytic.time);
    CHECK(prediction.event->makespan.last_stage == prediction.analytic.last_stage);
    CHECK(prediction.breakdown.total() == prediction.time);
    CHECK(prediction.breakdown.other == 0);
    CHECK(*prediction.plan_bounds.best_s() <= core::to_seconds(prediction.time));
    CHECK(*prediction.problem_bounds.best_s() <= core::to_seconds(prediction.time));
    CHECK(prediction.fits == !result.why_not.has_value());
  }
}

TEST_CASE("degrees left out follow from the cluster, the batch from the degrees") {
  const experiment::Job job(small(), shipped());
  CHECK(job.strategy().data == 2);            // 8 / (2 x 2)
  CHECK(job.strategy().micro_batches == 32);  // 64 / (2 x 1)
  CHECK(job.strategy().vocab_parallel);
  const experiment::Job tokens(small({"training.global_batch=0.131072 M tokens"}), shipped());
  CHECK(tokens.global_batch() == 64);  // 131,072 / 2,048
}

TEST_CASE("A degree that an experiment names is taken back, and follows from the cluster again") {
  CHECK(first_error(small({"strategy.dp=2", "cluster.nodes=2"})).message.find("but the cluster has 16") !=
        std::string::npos);
  CHECK(experiment::Job(small({"strategy.dp=2", "cluster.nodes=2", "strategy.dp=null"}), shipped()).strategy().data ==
        4);
}

TEST_CASE("adamw is adam to a step: the fused kernel decays the parameter that it holds") {
  experiment::Job adam(small({"training.optimizer=adam"}), shipped());
  experiment::Job adamw(small({"training.optimizer=adamw"}), shipped());
  const predict::Prediction a = adam.run(predict::Engine::both).prediction;
  const predict::Prediction b = adamw.run(predict::Engine::both).prediction;
  CHECK(a.time == b.time);
  CHECK(a.memory.device_peak == b.memory.device_peak);
  CHECK(adamw.written_out(experiment::Naming::by_name).training.optimizer.kind == experiment::Optimizer::adamw);
}

TEST_CASE("balanced stages give the stage with the head fewer layers than an even split") {
  const experiment::Job job(small({"strategy.stages=balanced", "strategy.pp=4", "strategy.tp=1"}), shipped());
  const std::vector<std::int64_t>& layers = job.strategy().stage_layers;
  REQUIRE(layers.size() == 4);
  CHECK(layers[0] + layers[1] + layers[2] + layers[3] == 24);
  // The head's product is 51,200 x 2,048 per token, that of a layer 12 x 2,048^2: twice a layer.
  CHECK(layers[3] < 6);
}

TEST_CASE("a plan that does not fit says why, and every change that is proposed does what is said of it") {
  // 2 stages x 1.3 B / 2 ranks fit; 64 sequences of unsharded materialised attention scores do not.
  const std::vector<std::string> plan{"strategy.micro_batch=16", "training.kernels.attention=unfused"};
  experiment::Job job(small(plan), shipped());
  const experiment::Result result = job.run(predict::Engine::analytic);
  REQUIRE_FALSE(result.prediction.fits);
  REQUIRE(result.why_not);
  CHECK(result.why_not->term == "activations");
  CHECK(result.why_not->over_by_bytes > 0.0);
  REQUIRE_FALSE(result.why_not->changes->empty());
  double before = 0.0;
  for (const experiment::Remedy& each : *result.why_not->changes) {
    std::vector<std::string> overrides = plan;
    overrides.insert(overrides.end(), each.settings.begin(), each.settings.end());
    experiment::Job changed(small(overrides), shipped());
    const predict::Prediction prediction = changed.run(predict::Engine::analytic).prediction;
    INFO(each.settings.front());
    CHECK(prediction.fits);
    CHECK(core::to_seconds(prediction.time) == each.time_s);
    CHECK(prediction.memory.device_peak == each.memory_bytes);
    CHECK(each.time_s >= before);
    before = each.time_s;
  }
}

TEST_CASE("A step of very many pieces of work is answered without alternatives, or refused in words") {
  const auto of = [](std::int64_t sequences) {
    return small({fmt::format("training.global_batch={}", sequences), "training.seq_len=128"});
  };
  const auto pieces = [&](std::int64_t sequences) {
    return predict::pieces_of_work(experiment::Job(of(sequences), shipped()).program());
  };
  const std::int64_t each = (pieces(128) - pieces(64)) / 64;  // a further sequence's
  REQUIRE(each > 0);
  const experiment::RunOptions with_effects{.advice = experiment::Advice::effects};
  const auto untried = [](const experiment::Job& job) {
    return std::any_of(job.warnings().begin(), job.warnings().end(), [](const std::string& warning) {
      return warning.find("no other settings were tried") != std::string::npos;
    });
  };
  experiment::Job few(of(64), shipped());
  CHECK_FALSE(few.run(predict::Engine::analytic, with_effects).effects.empty());
  CHECK_FALSE(untried(few));
  experiment::Job many(of((experiment::k_most_tried / each + 2) / 2 * 2), shipped());
  CHECK(many.run(predict::Engine::analytic, with_effects).effects.empty());
  CHECK(untried(many));
  experiment::LoadedExperiment sharing = of((predict::k_most_sharing / each + 2) / 2 * 2);
  sharing.experiment.simulation.contention = true;
  CHECK_THROWS_WITH(experiment::Job(sharing, shipped()).run(predict::Engine::event),
                    Contains("simulation.contention") && Contains("pieces of work that share links"));
  CHECK_THROWS_WITH(
      experiment::Job(of((2 * predict::k_most_recorded / each + 2) / 2 * 2), shipped()).run(predict::Engine::analytic),
      Contains("training.global_batch") && Contains("pieces of work of one stage"));
}

TEST_CASE("a slow rank slows the event engine, never the analytic one") {
  const std::vector<std::string> fault{"simulation.faults=[{rank: 3, compute: 0.5}]"};
  experiment::Job healthy(small(), shipped());
  experiment::Job faulty(small(fault), shipped());
  const auto normal = healthy.run(predict::Engine::both).prediction;
  const auto slow = faulty.run(predict::Engine::both).prediction;
  CHECK(slow.analytic.time == normal.analytic.time);
  CHECK(slow.event->makespan.time > normal.event->makespan.time);
  // Half speed on one rank at most doubles the computation of its stage.
  CHECK(slow.event->makespan.time < 2 * normal.event->makespan.time);
}

TEST_CASE("contradictions are errors that name the key and a remedy") {
  const auto check = [](const std::vector<std::string>& overrides, const std::string& key, const std::string& message) {
    const core::Diagnostic error = first_error(small(overrides));
    CHECK_THAT(error.key_path, Contains(key));
    CHECK_THAT(error.message, Contains(message));
    CHECK_FALSE(error.hint.empty());
  };
  check({"strategy.dp=3"}, "strategy.dp", "8 accelerators");
  check({"strategy.tp=3"}, "strategy.tp", "does not divide");
  check({"model.vocab=1001"}, "strategy.tp", "does not divide the vocabulary of 1001");
  check({"strategy.pp=8", "strategy.tp=1", "strategy.stages=[3,3,3,3,3,3,3,2]"}, "strategy.stages", "the model has 24");
  check({"training.global_batch=63"}, "training.global_batch", "do not divide into micro-batches");
  check({"strategy.cp=2", "strategy.attention={scheme: usp, heads: 4}"}, "strategy.attention", "no such grid of 2");
  check({"strategy.zero={stage: 3, shard: 3}"}, "strategy.zero.shard", "does not divide dp");
  check({"strategy.schedule=1f1bb"}, "strategy.schedule", "1f1bb");
  check({"strategy.schedule=modular", "strategy.zero=1"}, "strategy.zero", "of which less is sharded here");
  check({"strategy.schedule={kind: modular, chunks: 3}", "strategy.zero={stage: 3, reshard_after_forward: false}"},
        "strategy.zero.reshard_after_forward", "before every pass");
  check({"strategy.schedule={kind: pipeoffload, chunks: 2}",
         "cluster={name: bare, accelerator: a100-sxm4-80gb, gpus_per_node: 8, intra: {kind: nvswitch, "
         "bandwidth: 300 GB/s, latency: 1 us}}"},
        "strategy.schedule", "to which cluster 'bare' has no link");
  check({"strategy.schedule={kind: zb-h1, vocabulary: vocab-2}"}, "strategy.schedule", "shares the output layer");
  check({"strategy.schedule={kind: zb-h1, continuation: double-forward}"}, "strategy.schedule.continuation",
        "takes no continuation");
  check({"strategy.schedule={kind: chimera, continuation: halve-backward}"}, "strategy.schedule", "cuts micro-batches");
}

TEST_CASE("work beside the computation, by the schedule's own order: both engines agree at real prices") {
  const auto run = [](const std::vector<std::string>& overrides) {
    experiment::Job job(small(overrides), shipped());
    const auto prediction = job.run(predict::Engine::both).prediction;
    CHECK(prediction.event->makespan.time == prediction.analytic.time);
    return prediction.memory.allocated_peak;
  };
  const std::string chunks = ", chunks: 2}";
  const double interleaved = run({"strategy.schedule={kind: interleaved-1f1b" + chunks});
  CHECK(run({"strategy.schedule={kind: pipeoffload" + chunks}) < interleaved);
  const double breadth_first = run({"strategy.schedule={kind: breadth-first" + chunks});
  CHECK(run({"strategy.schedule={kind: modular" + chunks}) < breadth_first);
  run({"strategy.schedule={kind: zeropp" + chunks});
  run({"strategy.schedule={kind: chimera, continuation: double-forward}"});
  run({"strategy.schedule={kind: chimera, pipelines: 4}", "strategy.tp=1", "strategy.pp=4",
       "model.tied_embeddings=false"});
  run({"strategy.schedule={kind: chimera, pipelines: 4}", "strategy.tp=1", "strategy.pp=4"});
}

TEST_CASE("evaluating a plan by algebra is far faster than replaying its steps") {
  experiment::Job job(experiment::load(shipped(), "llama3-405b-2048xdgx-h100"), shipped());
  predict::Analytic analytic(job.prices());
  const program::Program& program = job.program();
  analytic.makespan(program);
  constexpr int k_evaluations = 200;
  const double start = processor_seconds();
  core::Picoseconds sink = 0;
  for (int i = 0; i < k_evaluations; ++i) sink += analytic.makespan(program).time;
  const double algebra = (processor_seconds() - start) / k_evaluations;
  const double middle = processor_seconds();
  for (std::int32_t stage = 0; stage < 16; ++stage) sink += analytic.timeline(program, stage).end;
  const double replay = processor_seconds() - middle;
  CHECK(sink > 0);
  // Measured 100 to 200; a guard against losing the algebra, not a figure.
  CHECK(replay > 10.0 * algebra);
}

TEST_CASE("figures of the accelerator change prices, and the answer says so") {
  const auto result = [](const std::string& accelerator) {
    experiment::Job job(small({"cluster={file: dgx-a100, accelerator: " + accelerator + "}"}), shipped());
    return job.run(predict::Engine::analytic);
  };
  const auto says = [](const experiment::Result& of, const std::string& what) {
    return std::any_of(of.assumptions.begin(), of.assumptions.end(),
                       [&](const std::string& line) { return line.find(what) != std::string::npos; });
  };
  const experiment::Result stated = result("a100-sxm4-80gb");
  CHECK_FALSE(says(stated, "kernels follow"));
  const experiment::Result half =
      result("{file: a100-sxm4-80gb, peak: {tensor: {fp16: 156 TFLOP/s, bf16: 156 TFLOP/s}}}");
  CHECK(half.prediction.time > stated.prediction.time);
  CHECK(says(half, "peak of products in bf16 156 TFLOP/s, calibrated at 312 TFLOP/s"));
  const experiment::Result memory =
      result("{file: a100-sxm4-80gb, memory: [{name: hbm, capacity: 80 GiB, bandwidth: 1 TB/s}]}");
  CHECK(memory.prediction.time > stated.prediction.time);
  CHECK(says(memory, "memory bandwidth 1 TB/s, calibrated at 2.04 TB/s"));
  const experiment::Result slow = result("{file: a100-sxm4-80gb, launch_floor: 100 us}");
  CHECK(slow.prediction.time > stated.prediction.time);
}

TEST_CASE("a calibration of another chip is refused, or said to be carried over") {
  const core::Diagnostic wrong = first_error(small({"calibration=h100-sxm5-80gb"}));
  CHECK(wrong.key_path == "calibration");
  CHECK_THAT(wrong.hint, Contains("calibration: a100-sxm4-80gb"));
  const std::string own = R"(cluster={file: dgx-a100, accelerator: {name: Mine, peak: {tensor: {bf16: 400 TFLOP/s},
      vector: {fp32: 20 TFLOP/s}}, multiprocessors: 108, clock: 1.41 GHz, memory: [{name: hbm, capacity: 80 GiB,
      bandwidth: 3 TB/s}], power: 400 W, launch_floor: 2 us}})";
  CHECK_THAT(first_error(small({own})).hint, Contains("name the nearest one"));
  experiment::Job job(small({own, "calibration=a100-sxm4-80gb"}), shipped());
  const experiment::Result result = job.run(predict::Engine::analytic);
  CHECK(std::any_of(result.assumptions.begin(), result.assumptions.end(), [](const std::string& line) {
    return line.find(
               "kernels and transfers of A100 SXM4 80 GB on Mine, where nothing was measured, by its figures: ") == 0;
  }));
}

TEST_CASE("attention kernels that do not exist are refused") {
  for (const char* recipe : {"fp32", "tf32"}) {
    const auto with = [recipe](const char* kernel) {
      return small(
          {fmt::format("training.precision={}", recipe), fmt::format("training.kernels.attention={}", kernel)});
    };
    experiment::Job none(with("flash2"), shipped());
    try {
      none.run(predict::Engine::analytic);
      FAIL("priced");
    } catch (const core::ConfigurationError& error) {
      CHECK(error.diagnostics().front().key_path == "training.kernels.attention");
      CHECK_THAT(error.diagnostics().front().hint, Contains("unfused"));
    }
    experiment::Job job(with("unfused"), shipped());
    const predict::Prediction prediction = job.run(predict::Engine::analytic).prediction;
    CHECK(*prediction.plan_bounds.best_s() <= core::to_seconds(prediction.time));
  }
}

TEST_CASE("price and power are the accelerator's, latency of the inner links counts") {
  const auto costs = [](const std::string& accelerator) {
    experiment::Job job(
        small({"training.precision=fp16", "cluster={file: dgx-a100, accelerator: " + accelerator + "}"}), shipped());
    return hardware::running_costs(job.machine());
  };
  const hardware::RunningCosts a100 = costs("a100-sxm4-80gb");
  CHECK(a100.accelerator_hour->base() == 1.5);
  CHECK(a100.power.base() == Approx(1.2 * (8 * 400 + 2000)));
  const hardware::RunningCosts h100 = costs("h100-sxm5-80gb");
  CHECK(h100.accelerator_hour->base() == 2.5);
  CHECK(h100.power.base() == Approx(1.2 * (8 * 700 + 2000)));
  CHECK_FALSE(costs("v100-sxm2-32gb").accelerator_hour.has_value());

  const auto time = [](const std::string& latency) {
    experiment::Job job(small({"cluster.intra.latency=" + latency}), shipped());
    return job.run(predict::Engine::analytic).prediction.time;
  };
  CHECK(time("0.3 us") < time("0.6 us"));
  CHECK(time("0.6 us") < time("300 us"));
}
