// `cairn diff`: two experiments, or a measured trace of one rank against the prediction of the step.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cairn/contrast/difference.h"
#include "cairn/core/format_units.h"
#include "cairn/core/read_file.h"
#include "cairn/experiment/job.h"
#include "cairn/profile/difference.h"
#include "cairn/profile/kineto.h"
#include "cairn/profile/measured_step.h"
#include "cairn/profile/predicted_step.h"
#include "cairn/report/diff.h"
#include "cairn/report/diff_trace.h"
#include "context.h"
#include "exit_code.h"
#include "progress.h"
#include "result_form.h"

namespace cairn::cli {
namespace {

constexpr double k_same_time = 1e-9;  // relative: step times that differ less are one

std::string in_words(double seconds) { return core::format(core::Seconds::from_base(seconds)); }

// The step time that a result document says; none where `file` is another kind of file.
std::optional<double> time_in_result(const std::string& file) {
  constexpr std::size_t k_limit = std::size_t{64} << 20;
  if (!file.ends_with(".json")) return std::nullopt;
  const auto document = nlohmann::json::parse(core::read_file(file, k_limit, "a result of cairn run"), nullptr, false);
  if (!document.is_object() || document.value("schema", nlohmann::json()) != "cairn.run/1") return std::nullopt;
  const nlohmann::json::json_pointer place("/result/iteration_time_s");
  if (!document.contains(place) || !document[place].is_number()) return std::nullopt;
  return document[place].get<double>();
}

// The stage of the rank that was traced, or what the options say.
std::int32_t stage_of(const DiffArguments& arguments, const profile::Trace& trace, const experiment::Job& job,
                      const predict::Prediction& prediction, std::vector<std::string>& warnings) {
  const auto stages = static_cast<std::int64_t>(job.program().stages());
  if (arguments.stage) {
    if (*arguments.stage >= stages)
      throw core::ConfigurationError("--stage", fmt::format("{} is no stage", *arguments.stage),
                                     fmt::format("stages are 0 to {}", stages - 1));
    return static_cast<std::int32_t>(*arguments.stage);
  }
  if (trace.ranks && *trace.ranks != job.gpus())
    warnings.push_back(
        fmt::format("the trace is of a job of {} ranks, the prediction of {}", *trace.ranks, job.gpus()));
  else if (trace.rank && *trace.rank >= 0 && *trace.rank < job.gpus())
    return static_cast<std::int32_t>(job.program().mesh.coordinate(*trace.rank, program::Axis::pipeline));
  const std::int32_t limiting = prediction.causes.limiting;
  if (stages > 1)
    warnings.push_back(
        fmt::format("which stage was traced is not known: it is compared with stage {}, which holds the "
                    "others up; --stage says another",
                    limiting));
  return limiting;
}

int diff_of_runs(const DiffArguments& arguments, Context& context) {
  const predict::Engine engine = arguments.engine.value_or(predict::Engine::analytic);
  const contrast::Compared a = contrast::read(context.loader, arguments.runs.front(), arguments.overrides);
  const contrast::Compared b = contrast::read(context.loader, arguments.runs.back(), arguments.overrides);
  Output output(arguments.result.output, context.read);
  ProgressLine progress(context.common);
  const contrast::Answer answer = contrast::difference(
      {.loader = context.loader, .a = a, .b = b, .engine = engine, .progress = [&](std::size_t done, std::size_t of) {
         progress.show("experiments in between", done, of);
       }});
  progress.clear();
  const report::Diff diff{.answer = answer, .engine = engine, .tool = context.tool};
  write_answer(diff, arguments.result, arguments.full, output, context);
  return k_ok;
}

int diff_of_trace(const DiffArguments& arguments, Context& context) {
  ProgressLine progress(context.common);
  const profile::Trace trace = profile::read_kineto(
      arguments.trace,
      {.progress = [&](std::size_t done, std::size_t of) { progress.show("MiB of the trace read", done, of); }});
  progress.clear();
  const std::vector<profile::StepTimes> steps = profile::steps_of(trace);
  const std::size_t chosen = profile::chosen_step(steps, arguments.step);
  say(fmt::format("{}: {} kernels of {} names, {} calls, {} steps", trace.file, trace.events.size(),
                  trace.kernels.size(), trace.calls.size(), trace.steps.size()));

  const std::string& run = arguments.runs.front();
  const experiment::LoadedExperiment loaded = experiment::load(context.loader, run, arguments.overrides);
  experiment::Job job(loaded, context.loader);
  const experiment::Result predicted =
      job.run(predict::Engine::event,
              {.all_timelines = true,
               .progress = [&](std::size_t done, std::size_t of) { progress.show("simulated", done, of); },
               .advice = experiment::Advice::none});
  progress.clear();

  std::vector<std::string> warnings;
  for (const core::Diagnostic& each : trace.warnings) warnings.push_back(each.message);
  if (steps[chosen].name.empty())
    warnings.emplace_back("the trace annotates no steps (ProfilerStep): all of it counts as one step");
  if (arguments.overrides.empty())
    if (const std::optional<double> said = time_in_result(run)) {
      const double now = core::to_seconds(predicted.prediction.time);
      if (std::abs(*said - now) > k_same_time * now)
        warnings.push_back(
            fmt::format("{} says {}, this version of cairn and its configurations {}: compared is the latter", run,
                        in_words(*said), in_words(now)));
    }
  const std::int32_t stage = stage_of(arguments, trace, job, predicted.prediction, warnings);
  if (job.program().stages() > 1)
    warnings.emplace_back(
        "a kernel that receives runs while it waits for another stage: measured waits stand under 'all-to-all and "
        "send', "
        "predicted ones under 'idle otherwise'");
  const profile::Difference difference =
      profile::difference(profile::measured_step(trace, steps[chosen]),
                          profile::predicted_step(job.program(), predicted.prediction, stage));

  Output output(arguments.result.output, context.read);
  const report::TraceDifference answer{.trace = trace,
                                       .steps = steps,
                                       .chosen = chosen,
                                       .experiment = job.experiment().name,
                                       .stage = stage,
                                       .stages = job.program().stages(),
                                       .difference = difference,
                                       .warnings = std::move(warnings),
                                       .tool = context.tool};
  write_answer(answer, arguments.result, arguments.full, output, context);
  return k_ok;
}

}  // namespace

int command(const DiffArguments& arguments, Context& context) {
  return arguments.trace.empty() ? diff_of_runs(arguments, context) : diff_of_trace(arguments, context);
}

}  // namespace cairn::cli
