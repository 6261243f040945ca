#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cairn/core/workers.h"
#include "cairn/experiment/experiment.h"
#include "cairn/report/html.h"
#include "cairn/report/search.h"
#include "cairn/search/search.h"
#include "context.h"
#include "ending.h"
#include "exit_code.h"
#include "interruption.h"
#include "journal_file.h"
#include "known_words.h"
#include "layouts_asked.h"
#include "progress.h"
#include "result_form.h"
#include "split_search.h"

namespace cairn::cli {
namespace {

search::Space space_of(const SearchArguments& arguments, const experiment::StrategyChoice& fixed,
                       const search::Subject& subject, const Context& context) {
  core::Diagnostics diagnostics;
  const config::Node node = arguments.space.empty() ? search::default_space_tree(subject)
                                                    : context.loader.load_named(arguments.space, "spaces", diagnostics);
  diagnostics.raise_if_errors();
  return search::read_space(node, fixed, subject);
}

// The size of the experiment where the objective asks for one.
std::optional<sweep::Extent> extent_of(const SearchArguments& arguments, const Context& context,
                                       const std::function<bool()>& stop, ProgressLine& progress) {
  const LayoutsAsked asked =
      layouts_asked(arguments.file, arguments.overrides, arguments.space, arguments.objective, context);
  if (!search::is_extent(asked.objective)) return std::nullopt;
  if (!arguments.resume.empty())
    throw core::ConfigurationError(
        "--resume", fmt::format("a search for {} keeps no journal", search::name(asked.objective)), "leave one out");
  sweep::Extent extent = sweep::extent_that_fits(
      {.loader = context.loader,
       .experiment = arguments.file,
       .overrides = arguments.overrides,
       .layouts = asked.layouts,
       .objective = asked.objective,
       .threads = core::threads(arguments.threads),
       .stop = stop,
       .progress = [&](std::size_t done, std::size_t of) { progress.show("sizes", done, of); }});
  progress.clear();
  return extent;
}

// Of this very program, for another may price plans otherwise: its size and when it was written. Hashing all of it would
// take as long as a search.
std::string identity_of_program() {
  const std::filesystem::path program = "/proc/self/exe";
  std::error_code problem;
  const std::uintmax_t size = std::filesystem::file_size(program, problem);
  const auto written = std::filesystem::last_write_time(program, problem);
  if (problem) return {};  // where programs cannot see themselves
  return fmt::format("{} bytes, {}", size, written.time_since_epoch().count());
}

// All that the answer depends on, as JSON: what a journal is of.
std::string subject_of_journal(const SearchArguments& arguments, const std::vector<std::string>& overrides,
                               const Context& context) {
  std::vector<std::string> files;
  for (const config::SourceFile& each : context.read.all()) files.push_back(each.sha256);
  std::sort(files.begin(), files.end());
  return nlohmann::json{{"program", identity_of_program()},
                        {"experiment", arguments.file},
                        {"set", overrides},
                        {"space", arguments.space},
                        {"top", arguments.top},
                        {"exhaustive", arguments.exhaustive},
                        {"files", files}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

int command(const SearchArguments& arguments, Context& context) {
  if (arguments.method == k_layered_method) return search_layers(arguments, context);
  if (arguments.method == k_degrees_method) return search_degrees(arguments, context);
  if (arguments.method == k_shares_method) return search_shares(arguments, context);
  if (arguments.method == k_stage_method) return search_stages(arguments, context);
  if (arguments.cost_model == k_calibrated_costs) return search_placements(arguments, context);
  if (!arguments.method.empty()) return search_splits(arguments, context);
  Ending ending;
  const Interruption interruption([&] { ending.ask_and_wait(); });
  const Ending::Scope scope{ending};
  const Deadline deadline(arguments.time_limit);
  const auto stop = [&] { return ending.asked() || deadline.passed(); };
  ProgressLine progress(context.common);
  std::vector<std::string> overrides = arguments.overrides;
  std::optional<sweep::Extent> extent;
  if (!arguments.print_space) extent = extent_of(arguments, context, stop, progress);
  if (extent) overrides.insert(overrides.end(), extent->overrides.begin(), extent->overrides.end());
  const experiment::LoadedExperiment loaded = experiment::load(context.loader, arguments.file, overrides);
  const experiment::Parts parts = experiment::load_parts(loaded, context.loader);
  const experiment::Experiment& experiment = loaded.experiment;
  const std::int64_t sequences = search::sequences_of(experiment.training);
  const search::Subject subject = search::subject_of(parts, experiment.training);
  std::optional<Output> page;
  if (!arguments.html.empty()) page.emplace(arguments.html, context.read);
  Output output(arguments.result.output, context.read);
  if (arguments.print_space) {
    output.write(search::default_space(subject));
    output.finish();
    return k_ok;
  }
  const search::Space space = space_of(arguments, experiment.strategy, subject, context);
  const search::Objective objective = search::objective_of(arguments.objective, space.objective, parts.machine);
  std::optional<JournalFile> journal;
  if (!arguments.resume.empty()) journal.emplace(arguments.resume, subject_of_journal(arguments, overrides, context));
  // Of a size that was found before the time was up there is an answer already.
  const bool found_before = extent && extent->size > 0 && stop();
  const search::Answer answer = found_before ? std::move(extent->answer)
                                             : search::search({.settings = experiment,
                                                               .parts = parts,
                                                               .space = space,
                                                               .subject = subject,
                                                               .top = static_cast<std::size_t>(arguments.top),
                                                               .exhaustive = arguments.exhaustive,
                                                               .threads = core::threads(arguments.threads),
                                                               .journal = journal ? &journal->journal() : nullptr,
                                                               .stop = stop,
                                                               .progress = [&](std::size_t done, std::size_t of) {
                                                                 progress.show("boxes of plans", done, of);
                                                               }});
  progress.clear();
  const report::Search found{
      .experiment = experiment.name,
      .machine = parts.machine,
      .tokens = static_cast<double>(sequences) * static_cast<double>(experiment.training.seq_len),
      .space = space,
      .answer = answer,
      .objective = objective,
      .extent = extent ? &*extent : nullptr,
      .tool = context.tool};
  if (page) {
    page->write(report::html_report(report::json(found, -1)));
    page->finish();
  }
  output.write(in_form(
      arguments.result, [&] { return report::json(found); },
      [&] { return report::text(found, {.color = context.color(output), .full = arguments.full}); }));
  output.finish();
  if (ending.asked()) return k_interrupted;
  return answer.top.empty() ? k_negative : k_ok;
}

}  // namespace cairn::cli
