#include <cmath>
#include <utility>

#include "cairn/experiment/job.h"
#include "cairn/experiment/schedule_file.h"
#include "cairn/experiment/stage_costs.h"
#include "cairn/pipeline/span_bound.h"
#include "cairn/report/schedule.h"
#include "cairn/report/swarm.h"
#include "context.h"
#include "exit_code.h"
#include "schedule_times.h"
#include "swarm_answer.h"

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

// Without what the kind does not take, and with two chunks where it takes chunks and none were named.
pipeline::Settings adapted(const pipeline::Settings& settings, const pipeline::Generator& kind) {
  pipeline::Settings taken = pipeline::settings_taken(kind, settings);
  constexpr std::int32_t k_usual_chunks = 2;
  if ((kind.options & pipeline::takes::k_chunks) != 0 && taken.chunks == pipeline::Settings{}.chunks)
    taken.chunks = k_usual_chunks;
  return taken;
}

// Every kind that takes the settings, as `run` runs it.
template <class Run>
std::vector<report::ScheduleAnswer> compared(const pipeline::Settings& settings, Run run) {
  std::vector<report::ScheduleAnswer> answers;
  for (const pipeline::Generator& kind : pipeline::generators()) {
    try {
      answers.push_back(run(kind.kind, adapted(settings, kind)));
    } catch (const core::ConfigurationError& error) {
      say(std::string(kind.kind) + " is left out: " + error.what());
    }
  }
  return answers;
}

std::vector<report::ScheduleAnswer> compared(const ScheduleArguments& arguments) {
  return compared(settings_of(arguments), [&](std::string_view kind, const pipeline::Settings& settings) {
    Times times;
    report::ScheduleAnswer answer = timed(arguments, times);
    answer.run = pipeline::run_exactly(kind, settings, answer.times);
    return answer;
  });
}

// With the stages of an experiment.
std::vector<report::ScheduleAnswer> compared(const ScheduleArguments& arguments, Context& context) {
  experiment::Job job(experiment::load(context.loader, arguments.experiment, {}), context.loader);
  const pipeline::StageCosts costs = experiment::stage_costs(job);
  pipeline::Settings settings = settings_of(arguments);
  settings.stages = static_cast<std::int32_t>(job.strategy().pipeline);
  settings.micro_batches = static_cast<std::int32_t>(job.strategy().micro_batches);
  return compared(settings, [&](std::string_view kind, const pipeline::Settings& adapted_settings) {
    report::ScheduleAnswer answer;
    answer.unit = "s";
    const auto seconds = [](core::Picoseconds time) { return pipeline::fraction(time, 1'000'000'000'000); };
    answer.times = {.forward = seconds(costs.forward.front()),
                    .input_gradient = seconds(costs.backward.front() / 2),
                    .weight_gradient = seconds(costs.backward.front() - costs.backward.front() / 2),
                    .delay = seconds(costs.delay)};
    answer.assumptions = {"times are those of the first stage; the others differ as the model's do",
                          "half of a backward is its weight gradient"};
    answer.run = pipeline::run_under(kind, adapted_settings, costs);
    return answer;
  });
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

void add_filling(const experiment::FillFile& file, Times& times, report::ScheduleAnswer& answer) {
  const auto ticks = [&](const std::string& text) {
    const Fraction time = times.read(text, "--fill");
    return static_cast<core::Picoseconds>(std::llround(time.value() * static_cast<double>(answer.run.ticks_per_unit)));
  };
  std::vector<pipeline::ExtraWork> work;
  for (const experiment::FillItem& item : file.work)
    work.push_back({.name = item.name, .after = item.after, .duration = ticks(item.time), .parts = item.parts});
  answer.filling = pipeline::fill_bubbles(answer.run.schedule, answer.run.order, answer.run.result, work,
                                          {.margin = file.margin, .exposed = ticks(file.exposed)});
}

template <class Answer>
void write(Output& output, const Answer& answer, const ScheduleArguments& arguments, const Context& context) {
  if (!arguments.svg.empty()) write_file(arguments.svg, report::svg(answer), context.read);
  if (!arguments.result.json) return output.write(report::text(answer, {.color = context.color(output)}));
  report::write_json(answer, context.tool, [&output](std::string_view part) { output.write(part); });
  output.write("\n");
}

}  // namespace

int command(const ScheduleArguments& arguments, Context& context) {
  Output output(arguments.result.output, context.read);
  const report::TextStyle style{.color = context.color(output)};
  const bool json = arguments.result.json;
  if (arguments.list) {
    output.write(json ? report::schedule_kinds_json(context.tool) + "\n" : report::schedule_kinds_text(style));
  } else if (arguments.compare) {
    refuse_swarm_options(arguments);
    const std::vector<report::ScheduleAnswer> answers =
        arguments.experiment.empty() ? compared(arguments) : compared(arguments, context);
    output.write(json ? report::json(answers, context.tool) + "\n" : report::text(answers, style));
  } else if (arguments.kind == swarm::k_kind) {
    write(output, swarm_answer(arguments), arguments, context);
  } else {
    refuse_swarm_options(arguments);
    Times times;
    report::ScheduleAnswer answer = timed(arguments, times);
    answer.run = arguments.file.empty()
                     ? pipeline::run_exactly(arguments.kind, settings_of(arguments), answer.times)
                     : pipeline::run_exactly(experiment::read_schedule(context.loader, arguments.file), answer.times);
    add_bound(arguments, answer);
    if (!arguments.fill.empty()) add_filling(experiment::read_fill(context.loader, arguments.fill), times, answer);
    write(output, answer, arguments, context);
  }
  output.finish();
  return k_ok;
}

}  // namespace cairn::cli
