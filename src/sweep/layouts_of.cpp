#include "layouts_of.h"

#include <fmt/format.h>

#include "cairn/core/format_units.h"

namespace cairn::sweep {

search::Answer best_layout(const Layouts& layouts, const experiment::Settings& settings, const experiment::Parts& parts,
                           std::size_t threads, const std::function<bool()>& stop) {
  const search::Subject subject = search::subject_of(parts, settings.training);
  const search::Space space = search::read_space(layouts.space ? *layouts.space : search::default_space_tree(subject),
                                                 settings.strategy, subject);
  return search::search({.settings = settings,
                         .parts = parts,
                         .space = space,
                         .subject = subject,
                         .top = 1,
                         .contention = false,
                         .threads = threads,
                         .stop = stop,
                         .progress = {}});
}

core::Diagnostic no_layout(const search::Answer& answer) {
  core::Diagnostic problem;
  problem.key_path = "strategy";
  problem.message =
      fmt::format("no layout of {} fits{}", answer.points, answer.complete ? "" : ", as far as was searched");
  for (const search::Refusal& each : answer.refusals)
    if (each.kind == search::CellKind::unfit && problem.hint.empty())
      problem.hint =
          fmt::format("the nearest lacks {} of memory", core::format(core::Bytes::from_base(each.lacking_bytes)));
  for (const search::Refusal& each : answer.refusals)
    if (each.kind == search::CellKind::illegal && problem.hint.empty()) problem.hint = each.nearest;
  if (problem.hint.empty() && !answer.refusals.empty())
    problem.hint = fmt::format("they break {}", answer.refusals.front().reason);
  return problem;
}

}  // namespace cairn::sweep
