#include "layouts_asked.h"

#include <optional>

#include "cairn/experiment/experiment.h"
#include "cairn/search/search.h"

namespace cairn::cli {

LayoutsAsked layouts_asked(const std::string& experiment, const std::vector<std::string>& overrides,
                           const std::string& space, const std::string& objective, const Context& context) {
  LayoutsAsked asked;
  if (space.empty() && objective.empty()) return asked;
  const experiment::LoadedExperiment loaded = experiment::load(context.loader, experiment, overrides);
  const experiment::Parts parts = experiment::load_parts(loaded, context.loader);
  std::optional<search::Objective> of_space;
  if (!space.empty()) {
    core::Diagnostics diagnostics;
    asked.layouts.space = context.loader.load_named(space, "spaces", diagnostics);
    diagnostics.raise_if_errors();
    const search::Subject subject = search::subject_of(parts, loaded.experiment.training);
    of_space = search::read_space(*asked.layouts.space, loaded.experiment.strategy, subject).objective;
  }
  asked.objective = search::objective_of(objective, of_space, parts.machine);
  return asked;
}

}  // namespace cairn::cli
