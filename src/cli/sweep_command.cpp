#include <optional>

#include "cairn/core/workers.h"
#include "cairn/report/html.h"
#include "cairn/report/sweep.h"
#include "cairn/search/search.h"
#include "cairn/sweep/sweep.h"
#include "context.h"
#include "ending.h"
#include "exit_code.h"
#include "interruption.h"
#include "layouts_asked.h"
#include "progress.h"

namespace cairn::cli {
namespace {

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
  const LayoutsAsked asked =
      layouts_asked(arguments.file, arguments.overrides, arguments.space, arguments.objective, context);
  std::optional<Output> page;
  if (!arguments.html.empty()) page.emplace(arguments.html, context.read);
  Output output(arguments.result.output, context.read);
  ProgressLine progress(context.common);
  const sweep::Answer answer =
      sweep::sweep({.loader = context.loader,
                    .experiment = arguments.file,
                    .overrides = arguments.overrides,
                    .variations = variations,
                    .layouts = arguments.search ? std::optional(asked.layouts) : std::nullopt,
                    .objective = asked.objective,
                    .threads = core::threads(arguments.threads),
                    .stop = [&] { return ending.asked() || deadline.passed(); },
                    .progress = [&](std::size_t done, std::size_t of) { progress.show("rows", done, of); }});
  progress.clear();
  const report::Sweep swept{.answer = answer, .objective = asked.objective, .tool = context.tool};
  if (!arguments.plot.empty()) write_file(arguments.plot, report::sweep_svg(swept), context.read);
  if (page) {
    page->write(report::html_report(report::json(swept, -1)));
    page->finish();
  }
  output.write(in_form(arguments, swept, context.color(output)));
  output.finish();
  if (ending.asked()) return k_interrupted;
  return answer.best ? k_ok : k_negative;
}

}  // namespace cairn::cli
