#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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
#include "processes.h"
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
                                       const Processes& processes, const std::function<bool()>& stop,
                                       ProgressLine& progress) {
  const LayoutsAsked asked =
      layouts_asked(arguments.file, arguments.overrides, arguments.space, arguments.objective, context);
  if (!search::is_extent(asked.objective)) return std::nullopt;
  refuse_several(fmt::format("--objective {}", search::name(asked.objective)));
  if (!arguments.resume.empty())
    throw core::ConfigurationError(
        "--resume", fmt::format("a search for {} keeps no journal", search::name(asked.objective)), "leave one out");
  sweep::Extent extent = sweep::extent_that_fits(
      {.loader = context.loader,
       .experiment = arguments.file,
       .overrides = arguments.overrides,
       .layouts = asked.layouts,
       .objective = asked.objective,
       .threads = processes.threads(arguments.threads),
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

// All that the answer depends on, as JSON: what a journal is of, and what all processes of a search have in common.
std::string all_it_depends_on(const SearchArguments& arguments, const std::vector<std::string>& overrides,
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

// What becomes of a search by several processes when one of them ends.
void say_what_a_death_means(const SearchArguments& arguments, const Processes& processes) {
  if (processes.count() == 1) return;
  note(fmt::format(
      "{} processes search together. Where one of them dies the others are ended, too, and {}", processes.count(),
      arguments.resume.empty() ? std::string("what was found is lost: --resume FILE would keep it")
                               : fmt::format("the same command goes on from what --resume {} has", arguments.resume)));
}

int search_layouts(const SearchArguments& arguments, Context& context, Ending& ending, const Processes& processes) {
  const Deadline deadline(arguments.time_limit);
  const auto stop = [&] { return ending.asked() || deadline.passed(); };
  ProgressLine progress(context.common);
  std::vector<std::string> overrides = arguments.overrides;
  std::optional<sweep::Extent> extent;
  if (!arguments.print_space) extent = extent_of(arguments, context, processes, stop, progress);
  if (extent) overrides.insert(overrides.end(), extent->overrides.begin(), extent->overrides.end());
  const experiment::LoadedExperiment loaded = experiment::load(context.loader, arguments.file, overrides);
  const experiment::Parts parts = experiment::load_parts(loaded, context.loader);
  const experiment::Experiment& experiment = loaded.experiment;
  const std::int64_t sequences = search::sequences_of(experiment.training);
  const search::Subject subject = search::subject_of(parts, experiment.training);
  std::optional<Output> page;
  if (processes.first() && !arguments.html.empty()) page.emplace(arguments.html, context.read);
  Output output(processes.first() ? arguments.result.output : std::string(), context.read);
  if (arguments.print_space) {
    output.write(search::default_space(subject));
    output.finish();
    return k_ok;
  }
  const search::Space space = space_of(arguments, experiment.strategy, subject, context);
  const search::Objective objective = search::objective_of(arguments.objective, space.objective, parts.machine);
  search::Request request{
      .settings = experiment,
      .parts = parts,
      .space = space,
      .subject = subject,
      .top = static_cast<std::size_t>(arguments.top),
      .exhaustive = arguments.exhaustive,
      .threads = processes.threads(arguments.threads),
      .wire = processes.wire(),
      .of = all_it_depends_on(arguments, overrides, context),
      .stop = stop,
      .progress = [&](std::size_t done, std::size_t of) { progress.show("boxes of plans", done, of); }};
  if (!processes.first()) {
    search::serve(request);
    return k_ok;
  }
  std::optional<JournalFile> journal;
  if (!arguments.resume.empty()) request.journal = &journal.emplace(arguments.resume, request.of).journal();
  say_what_a_death_means(arguments, processes);
  // Of a size that was found before the time was up there is an answer already.
  const bool found_before = extent && extent->size > 0 && stop();
  const search::Answer answer = found_before ? std::move(extent->answer) : search::search(request);
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
  ending.begin_writing();
  if (page) {
    page->write(report::html_report(report::json(found, -1)));
    page->finish();
  }
  write_answer(found, arguments.result, arguments.full, output, context);
  if (ending.asked()) return k_interrupted;
  return answer.top.empty() ? k_negative : k_ok;
}

}  // namespace

int command(const SearchArguments& arguments, Context& context) {
  if (!arguments.method.empty()) refuse_several("--method " + arguments.method);
  if (!arguments.cost_model.empty()) refuse_several("--cost-model " + arguments.cost_model);
  if (arguments.print_space) refuse_several("--print-space");
  if (arguments.method == k_layered_method) return search_layers(arguments, context);
  if (arguments.method == k_degrees_method) return search_degrees(arguments, context);
  if (arguments.method == k_shares_method) return search_shares(arguments, context);
  if (arguments.method == k_stage_method) return search_stages(arguments, context);
  if (arguments.cost_model == k_calibrated_costs) return search_placements(arguments, context);
  if (!arguments.method.empty()) return search_splits(arguments, context);
  Ending ending;
  // Half a report would look like one.
  const Interruption interruption([&] {
    if (!launcher_gives_no_time() || !ending.cut_off()) ending.ask_and_wait();
  });
  const Ending::Scope scope{ending};
  const Processes processes;
  if (processes.first()) return search_layouts(arguments, context, ending, processes);
  // The first tells for all of them what there is to tell.
  context.common.quiet = true;
  context.common.stats = false;
  set_verbosity(context.common);
  try {
    search_layouts(arguments, context, ending, processes);
  } catch (const std::exception&) {
    search::decline(*processes.wire(), std::current_exception());
  }
  return k_ok;  // another exit code would make the launcher end the first before it has told why
}

}  // namespace cairn::cli
