// A predicted step as a measured one is seen, and how the two are told apart.
#include "cairn/report/diff_trace.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "cairn/predict/bounds/class_floors.h"
#include "cairn/profile/predicted_step.h"
#include "catch.h"
#include "report/conforms.h"
#include "report/small_run.h"

using namespace cairn;
using namespace cairn::report_tests;
using profile::KernelClass;

namespace {

struct Simulated {
  explicit Simulated(const std::vector<std::string>& overrides)
      : loaded(small(overrides)),
        job(loaded, loader()),
        result(job.run(predict::Engine::event, {.all_timelines = true})) {}
  profile::Step step(std::int32_t stage) const {
    return profile::predicted_step(job.program(), result.prediction, stage);
  }

  experiment::LoadedExperiment loaded;
  experiment::Job job;
  experiment::Result result;
};

core::Picoseconds counted(const profile::Summary& summary, KernelClass kind) {
  return summary.classes[static_cast<std::size_t>(kind)].time;
}

profile::Trace a_trace() {
  profile::Trace trace;
  trace.file = "rank0.json";
  trace.rank = 0;
  trace.ranks = 8;
  return trace;
}

}  // namespace

TEST_CASE("a predicted step has the kernels of its stage, on its streams") {
  const std::vector<std::vector<std::string>> all{{},
                                                  {"strategy.recompute=full"},
                                                  {"strategy.pp=1", "strategy.dp=4", "strategy.zero=1"},
                                                  {"strategy.sequence_parallel=true"}};
  for (const std::vector<std::string>& overrides : all) {
    Simulated simulated(overrides);
    predict::ShardFloors floors(simulated.job.pricer().shards(), 0.0);
    for (std::int32_t stage = 0; stage < static_cast<std::int32_t>(simulated.job.program().stages()); ++stage) {
      const profile::Summary summary = profile::summary(simulated.step(stage));
      CHECK(summary.span == simulated.result.prediction.time);
      // Kernels take their prices: all of a stage's are here.
      double kernels_s = 0.0;
      for (const predict::ClassFloor& each : predict::class_floors(simulated.job.program(), simulated.job.pricer(),
                                                                   simulated.job.prices(), stage, floors))
        if (each.label == "contraction" || each.label == "normalization" || each.label == "elementwise" ||
            each.label == "lookup")
          kernels_s += each.time_s;
      double seen_s = 0.0;
      for (std::size_t i = 0; i < profile::k_classes; ++i)
        if (profile::group_of(static_cast<KernelClass>(i)) == profile::Group::computation)
          seen_s += core::to_seconds(summary.classes[i].time);
      CHECK(seen_s == Approx(kernels_s).epsilon(1e-9));
      CHECK(counted(summary, KernelClass::matmul) > 0);
      CHECK(counted(summary, KernelClass::attention) > 0);
      CHECK(counted(summary, KernelClass::optimizer) > 0);
      CHECK(counted(summary, KernelClass::other) == 0);
      REQUIRE_FALSE(summary.streams.empty());
      CHECK(summary.streams[0].busy <= summary.span);
    }
  }
}

// The step as a profiler would have written it, and what is read of that.
TEST_CASE("a predicted step that is written as a trace is read as itself") {
  const auto kernel_name = [](KernelClass kind) -> std::string {
    switch (kind) {
      case KernelClass::matmul:
        return "nvjet_tst_128x256";
      case KernelClass::attention:
        return "flash_fwd_kernel";
      case KernelClass::norm:
        return "rmsnorm_fwd_tuned_kernel";
      case KernelClass::softmax:
        return "cross_entropy_kernel";
      case KernelClass::elementwise:
        return "vectorized_elementwise_kernel";
      case KernelClass::reduction:
        return "reduce_kernel";
      case KernelClass::embedding:
        return "indexSelectLargeIndex";
      case KernelClass::optimizer:
        return "multi_tensor_apply_kernel";
      case KernelClass::all_reduce:
        return "ncclDevKernel_AllReduce_Sum_bf16_RING_LL";
      case KernelClass::all_gather:
        return "ncclDevKernel_AllGather_RING_LL";
      case KernelClass::reduce_scatter:
        return "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL";
      case KernelClass::exchange:
        return "ncclDevKernel_SendRecv";
      default:
        return "unforeseen";
    }
  };
  const Simulated simulated({});
  const profile::Step predicted = simulated.step(0);
  const auto microseconds = [](core::Picoseconds time) {
    return fmt::format("{:.3f}", static_cast<double>(time) * 1e-6);
  };
  std::string text =
      fmt::format(R"([{{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 0, "dur": {}}})",
                  microseconds(predicted.span));
  for (const profile::Work& each : predicted.work)
    text +=
        fmt::format(R"(,{{"ph": "X", "cat": "kernel", "name": "{}", "ts": {}, "dur": {}, "args": {{"stream": {}}}}})",
                    kernel_name(predicted.kernels[each.kernel].kind), microseconds(each.start),
                    microseconds(each.end - each.start), each.stream);
  const std::string file =
      (std::filesystem::temp_directory_path() / fmt::format("cairn-step-{}.json", getpid())).string();
  std::ofstream(file) << text << "]";
  const profile::Trace trace = profile::read_kineto(file);
  std::filesystem::remove(file);
  const profile::Summary measured = profile::summary(profile::measured_step(trace, profile::steps_of(trace).front()));
  const profile::Summary expected = profile::summary(predicted);
  // Times are written to the nanosecond.
  const auto near = static_cast<core::Picoseconds>(1000 * (predicted.work.size() + 1));
  CHECK(std::abs(measured.span - expected.span) <= near);
  CHECK(std::abs(measured.idle() - expected.idle()) <= near);
  for (std::size_t i = 0; i < profile::k_classes; ++i) {
    INFO(profile::id(static_cast<KernelClass>(i)));
    CHECK(std::abs(measured.classes[i].time - expected.classes[i].time) <= near);
    CHECK(std::abs(measured.classes[i].counted - expected.classes[i].counted) <= near);
  }
}

TEST_CASE("a step differs from itself in nothing, and from a longer one in what is longer") {
  const Simulated simulated({});
  profile::Step predicted = simulated.step(0);
  predicted.next_issued = predicted.span;
  const profile::Difference none = profile::difference(predicted, predicted);
  for (const profile::Part& part : none.parts) CHECK(part.difference() == 0);

  // The host issues the next step a millisecond late.
  constexpr core::Picoseconds k_late = 1'000'000'000;
  profile::Step measured = predicted;
  measured.span += k_late;
  measured.next_issued = measured.span;
  const profile::Difference late = profile::difference(measured, predicted);
  CHECK(late.difference() == k_late);
  CHECK(late.parts.front().id == "host");
  CHECK(late.parts.front().difference() == k_late);

  const profile::Trace trace = a_trace();
  const std::vector<profile::StepTimes> steps{{.name = "ProfilerStep#1", .start = 0, .end = measured.span / 1000}};
  const report::TraceDifference answer{.trace = trace,
                                       .steps = steps,
                                       .experiment = "small",
                                       .stages = 2,
                                       .difference = late,
                                       .warnings = {"one", "two", "three", "four"},
                                       .tool = k_tool};
  CHECK(report::sentence(answer).find("idle until the host issues: 1 ms more of the step than predicted") !=
        std::string::npos);
  CHECK(report::sentence(answer).find(" % low") != std::string::npos);

  const auto document = nlohmann::json::parse(report::json(answer));
  conforms(nlohmann::json::parse(report::diff_trace_schema()), document, "");
  CHECK(document["result"]["difference_s"].get<double>() == Approx(1e-3));
  double sum = 0.0;
  for (const auto& part : document["result"]["parts"]) sum += part["difference_s"].get<double>();
  CHECK(sum == Approx(1e-3));

  for (const bool full : {false, true}) {
    std::istringstream lines(report::text(answer, {.full = full}));
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      INFO(line);
      CHECK(columns(line) <= 100);
    }
    if (!full) CHECK(count <= 32);
  }
}
