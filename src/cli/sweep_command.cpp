#include "cairn/core/workers.h"
#include "cairn/experiment/experiment.h"
#include "cairn/report/sweep.h"
#include "cairn/search/search.h"
#include "cairn/sweep/sweep.h"
#include "context.h"
#include "ending.h"
#include "exit_code.h"
#include "interruption.h"
#include "progress.h"

namespace cairn::cli {
namespace {

// The space as its file says it, found readable for the experiment itself before any row is searched, and the objective.
struct Asked {
  std::optional<sweep::Layouts> layouts = {};
  search::Objective objective = search::Objective::step_time;
};

Asked asked_of(const SweepArguments& arguments, const Context& context) {
  Asked asked;
  if (arguments.search) asked.layouts.emplace();
  if (arguments.space.empty() && arguments.objective.empty()) return asked;
  const experiment::LoadedExperiment loaded = experiment::load(context.loader, arguments.file, arguments.overrides);
  const experiment::Parts parts = experiment::load_parts(loaded, context.loader);
  std::optional<search::Objective> of_space;
  if (!arguments.space.empty()) {
    core::Diagnostics diagnostics;
    asked.layouts->space = context.loader.load_named(arguments.space, "spaces", diagnostics);
    diagnostics.raise_if_errors();
    const std::int64_t sequences = search::sequences_of(loaded.experiment.training);
    of_space =
        search::read_space(*asked.layouts->space, loaded.experiment.strategy, search::subject_of(parts, sequences))
            .objective;
  }
  asked.objective = search::objective_of(arguments.objective, of_space, parts.machine);
  return asked;
}

std::string in_form(const SweepArguments& arguments, const report::Sweep& swept, bool color) {
  if (arguments.result.csv) return report::csv(swept);
  if (arguments.result.json) return report::json(swept);
  return report::text(swept, {.color = color, .full = arguments.full});
}

}  // namespace

int command(const SweepArguments& arguments, Context& context) {
  Ending ending;
  const Interruption interruption([&] { ending.ask_and_wait(); });
  const Ending::Scope scope{ending};
  const Deadline deadline(arguments.time_limit);
  std::vector<sweep::Variation> variations;
  for (const std::string& each : arguments.vary) variations.push_back(sweep::read_variation(each));
  const Asked asked = asked_of(arguments, context);
  Output output(arguments.result.output, context.read);
  ProgressLine progress(context.common);
  const sweep::Answer answer =
      sweep::sweep({.loader = context.loader,
                    .experiment = arguments.file,
                    .overrides = arguments.overrides,
                    .variations = variations,
                    .layouts = asked.layouts,
                    .objective = asked.objective,
                    .threads = core::threads(arguments.threads),
                    .stop = [&] { return ending.asked() || deadline.passed(); },
                    .progress = [&](std::size_t done, std::size_t of) { progress.show("rows", done, of); }});
  progress.clear();
  const report::Sweep swept{.answer = answer, .objective = asked.objective, .tool = context.tool};
  if (!arguments.plot.empty()) write_file(arguments.plot, report::sweep_svg(swept), context.read);
  output.write(in_form(arguments, swept, context.color(output)));
  output.finish();
  if (ending.asked()) return k_interrupted;
  return answer.best ? k_ok : k_negative;
}

}  // namespace cairn::cli
