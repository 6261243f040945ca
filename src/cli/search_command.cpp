#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "cairn/config/units.h"
#include "cairn/experiment/experiment.h"
#include "cairn/hardware/running_costs.h"
#include "cairn/report/search.h"
#include "cairn/search/search.h"
#include "context.h"
#include "exit_code.h"
#include "interruption.h"
#include "progress.h"
#include "result_form.h"

namespace cairn::cli {
namespace {

using Clock = std::chrono::steady_clock;

// Tells the search to end, and lets who interrupted it wait until the result is written.
class Ending {
 public:
  bool asked() const { return asked_; }
  void ask_and_wait() {
    asked_ = true;
    std::unique_lock lock(mutex_);
    over_.wait(lock, [&] { return done_; });
  }
  void done() {
    const std::lock_guard lock(mutex_);
    done_ = true;
    over_.notify_all();
  }

  // Whoever waits may go on when it is gone.
  struct Scope {
    Ending& ending;
    ~Scope() { ending.done(); }
  };

 private:
  std::atomic<bool> asked_ = false;
  bool done_ = false;
  std::mutex mutex_;
  std::condition_variable over_;
};

std::optional<Clock::time_point> deadline_of(const std::string& limit) {
  if (limit.empty()) return std::nullopt;
  const config::ParsedQuantity parsed = config::parse_quantity(limit, config::Dimension::seconds);
  if (!parsed.base) throw core::ConfigurationError("--time-limit", parsed.message, parsed.hint);
  constexpr double k_longest = 1e9;
  if (!(*parsed.base > 0.0 && *parsed.base < k_longest))
    throw core::ConfigurationError("--time-limit", "leaves no time to search, or forever",
                                   "give some seconds, as in 30s");
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*parsed.base));
}

// Sequences of a step; a number of tokens that makes no whole number of them is refused with the first plan.
std::int64_t sequences_of(const experiment::Training& training) {
  if (training.global_batch.sequences > 0) return training.global_batch.sequences;
  constexpr double k_most = 9007199254740992.0;  // 2^53: more are refused with the first plan, too
  const double sequences =
      training.global_batch.tokens / static_cast<double>(std::max<std::int64_t>(1, training.seq_len));
  return std::llround(std::clamp(sequences, 1.0, k_most));
}

search::Space space_of(const SearchArguments& arguments, const experiment::StrategyChoice& fixed,
                       const search::Subject& subject, const Context& context) {
  constexpr const char* k_default = "the default space";
  core::Diagnostics diagnostics;
  const config::Node node = arguments.space.empty() ? config::parse_text(search::default_space(subject),
                                                                         config::Syntax::yaml, k_default, diagnostics)
                                                    : context.loader.load_named(arguments.space, "spaces", diagnostics);
  diagnostics.raise_if_errors();
  return search::read_space(node, fixed, subject);
}

search::Objective objective_of(const SearchArguments& arguments, const search::Space& space,
                               const hardware::Machine& machine) {
  search::Objective objective = space.objective.value_or(search::Objective::step_time);
  for (const auto& [word, each] : search::objectives())
    if (word == arguments.objective) objective = each;
  if (objective == search::Objective::cost && !hardware::running_costs(machine).accelerator_hour)
    throw core::ConfigurationError("cluster.price", "what an accelerator costs is not known",
                                   "set cluster.price.accelerator_hour, as in '2.5 USD'");
  return objective;
}

}  // namespace

int command(const SearchArguments& arguments, Context& context) {
  Ending ending;
  const Interruption interruption([&] { ending.ask_and_wait(); });
  const Ending::Scope scope{ending};
  const std::optional<Clock::time_point> deadline = deadline_of(arguments.time_limit);
  const experiment::LoadedExperiment loaded = experiment::load(context.loader, arguments.file, arguments.overrides);
  const experiment::Parts parts = experiment::load_parts(loaded, context.loader);
  const experiment::Experiment& experiment = loaded.experiment;
  const std::int64_t sequences = sequences_of(experiment.training);
  const search::Subject subject = search::subject_of(parts, sequences);
  Output output(arguments.result.output, context.read);
  if (arguments.print_space) {
    output.write(search::default_space(subject));
    output.finish();
    return k_ok;
  }
  const search::Space space = space_of(arguments, experiment.strategy, subject, context);
  const search::Objective objective = objective_of(arguments, space, parts.machine);
  ProgressLine progress(context.common);
  const search::Answer answer = search::search(
      {.settings = experiment,
       .parts = parts,
       .space = space,
       .subject = subject,
       .top = static_cast<std::size_t>(arguments.top),
       .exhaustive = arguments.exhaustive,
       .stop = [&] { return ending.asked() || (deadline && Clock::now() >= *deadline); },
       .progress = [&](std::size_t done, std::size_t of) { progress.show("boxes of plans", done, of); }});
  progress.clear();
  const report::Search found{
      .experiment = experiment.name,
      .machine = parts.machine,
      .tokens = static_cast<double>(sequences) * static_cast<double>(experiment.training.seq_len),
      .space = space,
      .answer = answer,
      .objective = objective,
      .tool = context.tool};
  output.write(in_form(
      arguments.result, [&] { return report::json(found); },
      [&] { return report::text(found, {.color = context.color(output), .full = arguments.full}); }));
  output.finish();
  if (ending.asked()) return k_interrupted;
  return answer.top.empty() ? k_negative : k_ok;
}

}  // namespace cairn::cli
