// Layers of an experiment that are shared in ways of their own: the best ways, and given ones.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "cairn/core/diagnostics.h"
#include "cairn/division/five_degrees.h"
#include "cairn/division/layered_search.h"
#include "cairn/division/mixed_cluster.h"
#include "cairn/experiment/experiment.h"
#include "cairn/report/five_degrees.h"
#include "cairn/report/layered.h"
#include "cairn/report/mixed_shares.h"
#include "exit_code.h"
#include "placed.h"
#include "progress.h"
#include "result_form.h"
#include "split_search.h"

namespace cairn::cli {
namespace {

// An experiment of which the command makes or is given the plan: that of its own strategy is not asked for.
struct Planless {
  experiment::LoadedExperiment loaded = {};
  std::vector<std::string> remarks = {};
  experiment::Parts parts = {};
};

Planless planless(experiment::LoadedExperiment loaded, const config::Loader& loader) {
  Planless of{.loaded = std::move(loaded)};
  of.parts = experiment::load_parts(of.loaded, loader, of.remarks);
  return of;
}

// `priced`: what the strategy takes; none where nothing fits. `search`: what found it; none where it was given.
int answer_layers(const ResultArguments& asked, bool full, const Planless& of, const division::LayeredModel& model,
                  const division::LayeredStrategy& strategy, const division::PricedPlan* priced,
                  const division::LayeredSearch* search, Output& output, Context& context) {
  division::Basis basis = priced != nullptr ? model.basis(strategy.plan) : model.basis();
  std::vector<std::string> warnings = of.remarks;
  for (std::string& each : basis.warnings)
    if (std::find(warnings.begin(), warnings.end(), each) == warnings.end()) warnings.push_back(std::move(each));
  const report::Layered found{.experiment = of.loaded.experiment.name,
                              .accelerator = of.parts.machine.accelerator.value.name,
                              .accelerators = model.accelerators(),
                              .sequences = model.sequences(),
                              .strategy = strategy,
                              .layers = model.layers(),
                              .answer = priced,
                              .search = search,
                              .capacity = model.memory(),
                              .assumptions = std::move(basis.assumptions),
                              .warnings = std::move(warnings),
                              .tool = context.tool};
  write_answer(found, asked, full, output, context);
  return found.fits() ? k_ok : k_negative;
}

experiment::LoadedExperiment experiment_of(const division::LayeredStrategy& strategy, const config::Loader& loader) {
  const config::Node& node = strategy.experiment;
  return node.is_scalar() ? experiment::load(loader, node.text) : experiment::read(loader, node);
}

}  // namespace

int search_layers(const SearchArguments& arguments, Context& context) {
  const Planless of = planless(experiment::load(context.loader, arguments.file, arguments.overrides), context.loader);
  Output output(arguments.result.output, context.read);
  return placed(of.loaded.origins, [&] {
    division::LayeredModel model(of.loaded.experiment, of.parts);
    ProgressLine progress(context.common);
    const division::LayeredSearch found = division::search_layers(
        model, [&](std::size_t done, std::size_t all) { progress.show("pipelines", done, all); });
    progress.clear();
    division::LayeredStrategy strategy;
    strategy.experiment = config::to_node(experiment::portable(of.loaded, context.loader));
    if (!found.best)
      return answer_layers(arguments.result, arguments.full, of, model, strategy, nullptr, &found, output, context);
    strategy.plan = found.best->plan;
    return answer_layers(arguments.result, arguments.full, of, model, strategy, &found.best->priced, &found, output,
                         context);
  });
}

int search_degrees(const SearchArguments& arguments, Context& context) {
  const Planless of = planless(experiment::load(context.loader, arguments.file, arguments.overrides), context.loader);
  Output output(arguments.result.output, context.read);
  ProgressLine progress(context.common);
  const division::FiveDegrees answer = placed(of.loaded.origins, [&] {
    return division::fastest_degrees(of.loaded.experiment, of.parts,
                                     [&](std::size_t done) { progress.show("plans", done, 0); });
  });
  progress.clear();
  std::vector<std::string> warnings = of.remarks;
  warnings.insert(warnings.end(), answer.warnings.begin(), answer.warnings.end());
  const report::Degrees found{.experiment = of.loaded.experiment.name,
                              .file = arguments.file,
                              .overrides = arguments.overrides,
                              .accelerators = of.parts.machine.network.gpus(),
                              .layers = of.parts.model.layers,
                              .answer = answer,
                              .warnings = std::move(warnings),
                              .tool = context.tool};
  write_answer(found, arguments.result, arguments.full, output, context);
  return answer.found.best ? k_ok : k_negative;
}

int search_shares(const SearchArguments& arguments, Context& context) {
  const experiment::LoadedExperiment loaded = experiment::load(context.loader, arguments.file, arguments.overrides);
  Output output(arguments.result.output, context.read);
  const std::vector<division::AcceleratorGroup> groups =
      placed(loaded.origins, [&] { return division::accelerator_groups(loaded, context.loader); });
  const division::MixedShares answer =
      placed(loaded.origins, [&] { return division::best_mixed_shares(loaded.experiment, groups); });
  const report::MixedSharesReport found{
      .experiment = loaded.experiment.name, .groups = groups, .answer = answer, .tool = context.tool};
  write_answer(found, arguments.result, arguments.full, output, context);
  return answer.best ? k_ok : k_negative;
}

int run_layers(const RunArguments& arguments, const config::Node& file, Context& context) {
  const config::Loaded<division::LayeredStrategy> asked = division::read_layered(file);
  const Planless of = planless(experiment_of(asked.value, context.loader), context.loader);
  Output output(arguments.result.output, context.read);
  division::LayeredStrategy strategy = asked.value;
  strategy.experiment = config::to_node(experiment::portable(of.loaded, context.loader));
  const auto model = placed(of.loaded.origins,
                            [&] { return std::make_unique<division::LayeredModel>(of.loaded.experiment, of.parts); });
  const division::PricedPlan priced = placed(asked.origins, [&] { return model->priced(strategy.plan); });
  return answer_layers(arguments.result, arguments.full, of, *model, strategy, &priced, nullptr, output, context);
}

int run_strategy(const RunArguments& arguments, Context& context) {
  core::Diagnostics diagnostics;
  const config::Node file = context.loader.load_named(arguments.strategy_file, "placements", diagnostics);
  diagnostics.raise_if_errors();
  return division::holds_layers(file) ? run_layers(arguments, file, context) : run_placements(arguments, file, context);
}

}  // namespace cairn::cli
