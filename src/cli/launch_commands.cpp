#include <filesystem>

#include <fmt/format.h>

#include "cairn/core/read_file.h"
#include "cairn/experiment/job.h"
#include "cairn/launch/launch.h"
#include "context.h"
#include "exit_code.h"

namespace cairn::cli {
namespace {

constexpr std::size_t k_largest = std::size_t{1} << 20;  // of a file of arguments

}  // namespace

int command(const LaunchImportArguments& arguments, Context& context) {
  const launch::Given given{.cluster = arguments.cluster,
                            .nodes = arguments.nodes > 0 ? std::optional(arguments.nodes) : std::nullopt,
                            .definitions = arguments.definitions,
                            .overrides = arguments.overrides};
  const std::string text = core::read_file(arguments.file, k_largest, "a file of arguments");
  const launch::Imported imported =
      launch::import_arguments(arguments.framework, text, arguments.file, given, context.loader);
  Output output(arguments.output, context.read);
  output.write(launch::experiment_text(imported));
  output.finish();
  if (!imported.unsaid.empty())
    note(fmt::format("{} arguments have no counterpart or no effect: see the comments", imported.unsaid.size()));
  return k_ok;
}

int command(const LaunchExportArguments& arguments, Context& context) {
  const experiment::Job job(experiment::load(context.loader, arguments.experiment, arguments.overrides),
                            context.loader);
  const launch::Exported exported = launch::export_arguments(arguments.framework, job, context.loader);
  Output output(arguments.output, context.read);
  output.write(exported.text);
  output.finish();
  if (!exported.unsaid.empty())
    warn(fmt::format("{} settings are not said by the arguments: see the comments", exported.unsaid.size()));
  return k_ok;
}

}  // namespace cairn::cli
