#include <optional>

#include <fmt/format.h>

#include "batch.h"
#include "cairn/config/units.h"
#include "cairn/contrast/explanation.h"
#include "cairn/core/format_units.h"
#include "cairn/experiment/job.h"
#include "cairn/report/html.h"
#include "cairn/trace/chrome.h"
#include "context.h"
#include "exit_code.h"
#include "progress.h"
#include "result_form.h"
#include "split_search.h"
#include "stopwatch.h"

namespace cairn::cli {
namespace {

void print_stats(double loading_s, double running_s, const predict::Prediction& prediction) {
  const auto time = [](double s) { return core::format(core::Seconds::from_base(s)); };
  remark(fmt::format("cairn: read and planned in {}, predicted in {}, {} events", time(loading_s), time(running_s),
                     prediction.event ? prediction.event->events : 0));
}

std::optional<core::Picoseconds> measured_step(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const config::ParsedQuantity parsed = config::parse_quantity(text, config::Dimension::seconds);
  if (!parsed.base) throw core::ConfigurationError("--measured", parsed.message, parsed.hint);
  if (!(*parsed.base > 0.0 && *parsed.base * core::k_picoseconds_per_second < static_cast<double>(core::k_reach)))
    throw core::ConfigurationError("--measured", "is no time that a step takes", "give it with its unit, as in 11.2s");
  return core::to_picoseconds(*parsed.base);
}

int run_one(const RunArguments& arguments, Context& context) {
  const std::optional<core::Picoseconds> measured = measured_step(arguments.measured);
  const Stopwatch loading;
  const experiment::LoadedExperiment loaded = experiment::load(context.loader, arguments.file, arguments.overrides);
  experiment::Job job(loaded, context.loader);
  const double loading_s = loading.seconds();
  say(fmt::format("{} stages, {} accelerators, {} micro-batches", job.program().stages(), job.gpus(),
                  job.strategy().micro_batches));
  // Opened before the work that fills them: what cannot be written is known at once.
  std::optional<Output> trace;
  if (!arguments.trace.empty()) trace.emplace(arguments.trace, context.read);
  std::optional<Output> page;
  if (!arguments.html.empty()) page.emplace(arguments.html, context.read);
  Output output(arguments.result.output, context.read);
  const Stopwatch running;
  ProgressLine progress(context.common);
  const bool for_people = page || (!arguments.result.json && !arguments.result.csv);
  const experiment::Result result = job.run(
      arguments.engine, {.all_timelines = !arguments.trace.empty(),
                         .passes = !arguments.html.empty(),
                         .progress = [&](std::size_t done, std::size_t of) { progress.show("simulated", done, of); },
                         .advice = for_people ? experiment::Advice::effects : experiment::Advice::changes});
  progress.clear();
  const double running_s = running.seconds();

  if (trace) {
    trace::write_chrome(job.program(), result.prediction, [&](std::string_view text) { trace->write(text); });
    trace->finish();
    note(fmt::format("written {}, open it at https://ui.perfetto.dev", arguments.trace));
  }
  std::optional<contrast::Explanation> explanation;
  if (measured)
    explanation = contrast::explain(job, context.loader, arguments.engine, result.prediction.time, *measured,
                                    [&](std::size_t done, std::size_t of) { progress.show("facts tried", done, of); });
  progress.clear();
  const report::Run run{
      .job = job, .result = result, .tool = context.tool, .measured = explanation ? &*explanation : nullptr};
  if (!arguments.memory_svg.empty()) write_file(arguments.memory_svg, report::memory_svg(run), context.read);
  if (page) {
    report::Run with_passes = run;
    with_passes.timeline = true;
    page->write(report::html_report(report::json(with_passes, -1)));
    page->finish();
  }
  write_answer(run, arguments.result, arguments.full, output, context);
  if (arguments.result.json || arguments.result.csv)
    for (const std::string& warning : job.warnings()) warn(warning);
  if (context.common.stats) print_stats(loading_s, running_s, result.prediction);
  return result.prediction.fits ? k_ok : k_negative;
}

}  // namespace

int command(const RunArguments& arguments, Context& context) {
  if (!arguments.strategy_file.empty()) return run_strategy(arguments, context);
  return arguments.batch.empty() ? run_one(arguments, context) : run_batch(arguments, context);
}

}  // namespace cairn::cli
