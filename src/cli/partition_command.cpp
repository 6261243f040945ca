// `cairn partition`: work shared out before it runs.
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cairn/config/units.h"
#include "cairn/core/printable.h"
#include "cairn/division/module_stages.h"
#include "cairn/division/tasks.h"
#include "cairn/experiment/job.h"
#include "cairn/report/module_stages.h"
#include "cairn/report/tasks.h"
#include "context.h"
#include "exit_code.h"
#include "placed.h"
#include "result_form.h"

namespace cairn::cli {
namespace {

// Errors name the options that gave what is wrong.
core::ConfigurationError in_partition_options(const core::ConfigurationError& error) {
  constexpr std::pair<std::string_view, const char*> k_options[] = {
      {"ranks", "--ranks"}, {"costs", "--tasks"}, {"devices", "--devices"}, {"memory_weight", "--memory-weight"}};
  std::vector<core::Diagnostic> all = error.diagnostics();
  for (core::Diagnostic& each : all)
    for (const auto& [key, option] : k_options)
      if (each.file.empty() && each.key_path == key) each.key_path = option;
  return core::ConfigurationError(std::move(all));
}

int share_out_tasks(const PartitionArguments& arguments, Context& context) {
  const division::TaskList list = division::read_tasks(arguments.tasks);
  const std::optional<division::TaskRule> one = division::task_rule_of(arguments.rule);
  Output output(arguments.result.output, context.read);
  report::Tasks found{.list = list, .ranks = arguments.ranks, .tool = context.tool};
  try {
    found.rules =
        division::share_tasks(list.costs, arguments.ranks, one ? std::span(&*one, 1) : division::task_rules());
  } catch (const core::ConfigurationError& error) {
    throw in_partition_options(error);
  }
  write_answer(found, arguments.result, arguments.full, output, context);
  return k_ok;
}

double memory_weight_of(const std::string& text) {
  if (text.empty()) return division::k_usual_memory_weight;
  const std::optional<double> weight = config::parse_number(text);
  if (!weight || !(*weight >= 0.0 && *weight <= 1.0))
    throw core::ConfigurationError("--memory-weight", fmt::format("{} is no number from 0 to 1", core::quoted(text)),
                                   "0.2 for speed, 0.8 where memory is short");
  return *weight;
}

int share_out_modules(const PartitionArguments& arguments, Context& context) {
  const double memory_weight = memory_weight_of(arguments.memory_weight);
  const experiment::LoadedExperiment loaded = experiment::load(context.loader, arguments.file, arguments.overrides);
  const experiment::Job job(loaded, context.loader);
  const division::StagesRequest asked{.devices = arguments.devices > 0 ? arguments.devices : job.strategy().pipeline,
                                      .memory_weight = memory_weight};
  Output output(arguments.result.output, context.read);
  const division::ModuleStages answer = placed(loaded.origins, [&] {
    try {
      return division::module_stages(job.experiment(), job.parts(), asked);
    } catch (const core::ConfigurationError& error) {
      throw in_partition_options(error);
    }
  });
  std::vector<std::string> warnings = job.warnings();
  warnings.insert(warnings.end(), answer.warnings.begin(), answer.warnings.end());
  const report::Partition found{.experiment = job.experiment().name,
                                .asked = asked,
                                .answer = answer,
                                .warnings = std::move(warnings),
                                .tool = context.tool};
  write_answer(found, arguments.result, arguments.full, output, context);
  return k_ok;
}

}  // namespace

int command(const PartitionArguments& arguments, Context& context) {
  return arguments.tasks.empty() ? share_out_modules(arguments, context) : share_out_tasks(arguments, context);
}

}  // namespace cairn::cli
