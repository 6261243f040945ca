#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "cairn/core/assert.h"
#include "cairn/experiment/job.h"
#include "cairn/experiment/schedule_file.h"
#include "cairn/pipeline/span_bound.h"
#include "cairn/pipeline/traits.h"
#include "cairn/report/schedule.h"
#include "cairn/report/swarm.h"
#include "context.h"
#include "exit_code.h"
#include "progress.h"
#include "result_form.h"
#include "schedule_times.h"
#include "swarm_request.h"

namespace cairn::cli {
namespace {

using pipeline::Fraction;

pipeline::Settings settings_of(const ScheduleArguments& arguments) {
  pipeline::Settings settings{.stages = arguments.stages, .micro_batches = arguments.micro_batches};
  if (arguments.chunks > 0) settings.chunks = arguments.chunks;
  if (arguments.waves > 0) settings.waves = arguments.waves;
  if (arguments.pipelines > 0) settings.pipelines = arguments.pipelines;
  settings.group = arguments.group;
  settings.memory_limit = arguments.memory_limit;
  if (arguments.weight_gradients == "fill") settings.weight_gradients = pipeline::WeightGradients::fill;
  if (arguments.continuation == "double-forward") settings.continuation = pipeline::Continuation::double_forward;
  if (arguments.continuation == "halve-backward") settings.continuation = pipeline::Continuation::halve_backward;
  settings.reorder = !arguments.no_reorder;
  if (arguments.vocabulary == "vocab-1") settings.vocabulary = pipeline::Vocabulary::one;
  if (arguments.vocabulary == "vocab-2") settings.vocabulary = pipeline::Vocabulary::two;
  if (arguments.vocabulary == "interlaced") settings.vocabulary = pipeline::Vocabulary::interlaced;
  return settings;
}

constexpr std::int32_t k_usual_chunks = 2;

// With two chunks where the kind takes chunks and none were named.
pipeline::Settings with_chunks(pipeline::Settings settings, std::string_view kind, const ScheduleArguments& arguments) {
  for (const pipeline::Generator& each : pipeline::generators())
    if (each.kind == kind && (each.options & pipeline::takes::k_chunks) != 0 && arguments.chunks == 0)
      settings.chunks = k_usual_chunks;
  return settings;
}
void say_chunks(const ScheduleArguments& arguments, report::ScheduleAnswer& answer) {
  if (arguments.chunks == 0)
    answer.assumptions.push_back(fmt::format(
        "{} chunks on each device where the kind takes chunks; --chunks sets another number", k_usual_chunks));
}

report::ScheduleAnswer timed(const ScheduleArguments& arguments, pipeline::WrittenTimes& times) {
  report::ScheduleAnswer answer{.times = given_times(arguments, times)};
  answer.unit = times.unit();
  return answer;
}

// What one more micro-batch takes where pipelines are never emptied: the makespan grows by so much from m to 2 m.
// `rerun` runs the kind under other settings.
template <class Rerun>
void add_steady(report::ScheduleAnswer& answer, pipeline::Settings settings, Rerun rerun) {
  const std::vector<std::int32_t> delays = pipeline::gradient_delays(answer.run.schedule);
  if (*std::max_element(delays.begin(), delays.end()) == 0) return;
  const std::int32_t micro_batches = settings.micro_batches;
  settings.micro_batches *= 2;
  const pipeline::ExactRun longer = rerun(settings);
  CAIRN_ASSERT(longer.ticks_per_unit == answer.run.ticks_per_unit);
  const std::int64_t more = longer.result.makespan - answer.run.result.makespan;
  const Fraction each = answer.run.in_units(more);
  answer.steady = pipeline::fraction(each.numerator, each.denominator * micro_batches);
}

// Every kind that takes the settings, as `run` runs it, the shortest makespan first.
template <class Run>
std::vector<report::ScheduleAnswer> compared(const pipeline::Settings& settings, const ScheduleArguments& arguments,
                                             Run run) {
  pipeline::require_comparable(settings);
  std::vector<report::ScheduleAnswer> answers;
  for (const pipeline::Generator& kind : pipeline::generators()) {
    try {
      const pipeline::Settings taken = with_chunks(pipeline::settings_taken(kind, settings), kind.kind, arguments);
      report::ScheduleAnswer answer = run(kind.kind, taken);
      say_chunks(arguments, answer);
      answers.push_back(std::move(answer));
    } catch (const core::ConfigurationError& error) {
      say(std::string(kind.kind) + " is left out: " + error.what());
    }
  }
  const auto makespan = [](const report::ScheduleAnswer& answer) {
    return answer.run.in_units(answer.run.result.makespan).value();
  };
  std::stable_sort(answers.begin(), answers.end(),
                   [&](const auto& a, const auto& b) { return makespan(a) < makespan(b); });
  return answers;
}

std::vector<report::ScheduleAnswer> compared(const ScheduleArguments& arguments) {
  return compared(settings_of(arguments), arguments, [&](std::string_view kind, const pipeline::Settings& settings) {
    pipeline::WrittenTimes times;
    report::ScheduleAnswer answer = timed(arguments, times);
    const auto run = [&](const pipeline::Settings& with) { return pipeline::run_exactly(kind, with, answer.times); };
    answer.run = run(settings);
    add_steady(answer, settings, run);
    return answer;
  });
}

// With the stages of an experiment.
std::vector<report::ScheduleAnswer> compared(const ScheduleArguments& arguments, Context& context) {
  experiment::Job job(experiment::load(context.loader, arguments.experiment, {}), context.loader);
  const pipeline::StageCosts costs = job.stage_costs();
  pipeline::Settings settings = settings_of(arguments);
  const pipeline::Settings planned = plan::schedule_settings(job.strategy());
  settings.stages = planned.stages;
  settings.micro_batches = planned.micro_batches;
  return compared(settings, arguments, [&](std::string_view kind, const pipeline::Settings& taken) {
    report::ScheduleAnswer answer;
    answer.unit = core::k_second;
    const auto seconds = [](core::Picoseconds time) { return pipeline::fraction(time, 1'000'000'000'000); };
    answer.times = {.forward = seconds(costs.forward.front()),
                    .input_gradient = seconds(costs.backward.front() / 2),
                    .weight_gradient = seconds(costs.backward.front() - costs.backward.front() / 2),
                    .delay = seconds(costs.delay)};
    for (std::size_t stage = 0; stage < costs.forward.size(); ++stage)
      answer.stage_times.push_back(
          {.forward_s = core::to_seconds(costs.forward[stage]), .backward_s = core::to_seconds(costs.backward[stage])});
    answer.assumptions = {"half of a backward is its weight gradient"};
    const auto run = [&](const pipeline::Settings& with) { return pipeline::run_under(kind, with, costs); };
    answer.run = run(taken);
    add_steady(answer, taken, run);
    return answer;
  });
}

void run_kind(const ScheduleArguments& arguments, report::ScheduleAnswer& answer) {
  const pipeline::Settings settings = with_chunks(settings_of(arguments), arguments.kind, arguments);
  const auto run = [&](const pipeline::Settings& with) {
    return pipeline::run_exactly(arguments.kind, with, answer.times);
  };
  answer.run = run(settings);
  add_steady(answer, settings, run);
  if (settings.chunks != settings_of(arguments).chunks) say_chunks(arguments, answer);
}

// What the search of zb-auto is measured by.
void add_bound(const ScheduleArguments& arguments, report::ScheduleAnswer& answer) {
  if (arguments.kind != "zb-auto") return;
  pipeline::Settings settings = settings_of(arguments);
  const auto ticks = [&](const Fraction& time) {
    return time.numerator * (answer.run.ticks_per_unit / time.denominator);
  };
  settings.durations = {.forward = ticks(answer.times.forward),
                        .input_gradient = ticks(answer.times.input_gradient),
                        .weight_gradient = ticks(answer.times.weight_gradient),
                        .delay = ticks(answer.times.delay)};
  answer.span_lower_bound = answer.run.in_units(pipeline::span_lower_bound(settings));
}

// A time of a file, wrong at its place there.
Fraction read_time(const experiment::LoadedFill& fill, const std::string& key_path, const std::string& text,
                   pipeline::WrittenTimes& times) {
  try {
    return times.read(text, "--fill");
  } catch (const core::ConfigurationError& error) {
    const core::Diagnostic& found = error.diagnostics().front();
    throw core::ConfigurationError({fill.origins.error(key_path, found.message, found.hint)});
  }
}

void add_filling(const experiment::LoadedFill& fill, pipeline::WrittenTimes& times, report::ScheduleAnswer& answer) {
  const experiment::FillFile& file = fill.file;
  const auto ticks = [&](const std::string& key_path, const std::string& text) {
    const Fraction time = read_time(fill, key_path, text, times);
    return static_cast<core::Picoseconds>(std::llround(time.value() * static_cast<double>(answer.run.ticks_per_unit)));
  };
  std::vector<pipeline::ExtraWork> work;
  for (const experiment::FillItem& item : file.work)
    work.push_back({.name = item.name,
                    .after = item.after,
                    .duration = ticks("work[" + std::to_string(work.size()) + "].time", item.time),
                    .parts = item.parts});
  answer.filling = pipeline::fill_bubbles(answer.run.schedule, answer.run.order, answer.run.result, work,
                                          {.margin = file.margin, .exposed = ticks("exposed", file.exposed)});
}

std::size_t operations_of(const report::ScheduleAnswer& answer) { return answer.run.order.steps.size(); }
std::size_t operations_of(const swarm::Answer& answer) { return answer.outcome.runs.size(); }

template <class Answer>
void write(Output& output, const Answer& answer, const ScheduleArguments& arguments, const Context& context) {
  if (!arguments.svg.empty()) write_file(arguments.svg, report::svg(answer), context.read);
  if (!arguments.result.json)
    return output.write(in_form(
        arguments.result,
        [&] {
          std::string document;
          report::write_json(answer, context.tool, [&](std::string_view part) { document += part; });
          return document;
        },
        [&] { return report::text(answer, {.color = context.color(output)}); }));
  ProgressLine progress(context.common);
  const std::size_t operations = operations_of(answer);
  std::size_t written = 0;
  report::write_json(answer, context.tool, [&](std::string_view part) {
    output.write(part);
    written += static_cast<std::size_t>(std::count(part.begin(), part.end(), '}'));  // an operation is one object
    progress.show("written", std::min(written, operations), operations);
  });
  output.write("\n");
}

}  // namespace

int command(const ScheduleArguments& arguments, Context& context) {
  Output output(arguments.result.output, context.read);
  const report::TextStyle style{.color = context.color(output)};
  if (arguments.list) {
    output.write(in_form(
        arguments.result, [&] { return report::schedule_kinds_json(context.tool); },
        [&] { return report::schedule_kinds_text(style); }));
  } else if (arguments.compare) {
    refuse_swarm_options(arguments);
    const std::vector<report::ScheduleAnswer> answers =
        arguments.experiment.empty() ? compared(arguments) : compared(arguments, context);
    output.write(in_form(
        arguments.result, [&] { return report::json(answers, context.tool); },
        [&] { return report::text(answers, style); }));
  } else if (arguments.kind == swarm::k_kind) {
    write(output, swarm::answer(swarm_request(arguments)), arguments, context);
  } else {
    refuse_swarm_options(arguments);
    pipeline::WrittenTimes times;
    report::ScheduleAnswer answer = timed(arguments, times);
    if (arguments.file.empty())
      run_kind(arguments, answer);
    else
      answer.run = pipeline::run_exactly(experiment::read_schedule(context.loader, arguments.file), answer.times);
    add_bound(arguments, answer);
    if (!arguments.fill.empty()) add_filling(experiment::read_fill(context.loader, arguments.fill), times, answer);
    write(output, answer, arguments, context);
  }
  output.finish();
  return k_ok;
}

}  // namespace cairn::cli
