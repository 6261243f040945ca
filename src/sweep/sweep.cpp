#include "cairn/sweep/sweep.h"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>

#include "cairn/core/format_units.h"
#include "cairn/core/workers.h"
#include "cairn/models/transformer.h"
#include "cairn/sweep/scaling_law.h"
#include "layouts_of.h"

namespace cairn::sweep {
namespace {

using experiment::LoadedExperiment;

constexpr std::string_view k_override = "--set";  // where a reader places what an override says
constexpr std::string_view k_varied = "--vary";

struct Read {
  LoadedExperiment loaded;
  experiment::Parts parts;
};

class Sweeping {
 public:
  explicit Sweeping(const Request& request) : request_(request) {}

  Answer run() {
    const std::size_t rows = count_rows(request_.variations);
    found_.resize(rows);
    core::work_on_all(rows, request_.threads, request_.stop, [&](std::size_t row) {
      Found found = evaluate(row);
      const std::lock_guard lock(mutex_);
      found_[row] = std::move(found);
      if (request_.progress) request_.progress(++done_, rows);
    });
    refuse_unreadable();
    Answer answer{.variations = request_.variations};
    for (std::optional<Found>& each : found_)
      if (each) answer.rows.push_back(std::move(each->row));
    answer.complete = answer.rows.size() == rows && !(request_.stop && request_.stop());
    answer.best = best_of(answer.rows);
    add_elasticities(answer);
    return answer;
  }

 private:
  struct Found {
    Row row = {};
    bool readable = false;
  };

  // Readers keep what they have read, and note it: one at a time.
  Read read(const std::vector<std::string>& overrides) {
    const std::lock_guard lock(reading_);
    Read result{.loaded = experiment::load(request_.loader, request_.experiment, overrides), .parts = {}};
    result.parts = experiment::load_parts(result.loaded, request_.loader);
    return result;
  }

  Found evaluate(std::size_t row) {
    Found found{.row = {.values = values_of(request_.variations, row)}};
    std::vector<std::string> overrides = request_.overrides;
    for (std::size_t i = 0; i < request_.variations.size(); ++i)
      overrides.push_back(fmt::format("{}={}", request_.variations[i].key, found.row.values[i]));
    try {
      Read read = this->read(overrides);
      found.readable = true;
      try {
        plan(read, found.row);
      } catch (const core::ConfigurationError& error) {
        found.row.errors = placed(error.diagnostics(), read.loaded.origins);
      }
    } catch (const core::ConfigurationError& error) {
      found.row.errors = error.diagnostics();
    }
    for (core::Diagnostic& each : found.row.errors) explain(each);
    return found;
  }

  void plan(Read& read, Row& row) const {
    experiment::Settings settings = read.loaded.experiment;
    if (request_.layouts && !find_layout(settings, read.parts, row)) return;
    experiment::Job job(settings, read.parts, read.loaded.experiment.name);
    experiment::Result result =
        job.run(predict::Engine::analytic, {.progress = {}, .advice = experiment::Advice::none});
    predict::Prediction& prediction = result.prediction;
    prediction.prices.clear();
    prediction.class_floors.clear();
    prediction.memory.stages.clear();
    const double tokens = static_cast<double>(job.global_batch()) * static_cast<double>(settings.training.seq_len);
    std::vector<std::string> warnings = job.warnings();
    if (request_.objective == search::Objective::time_to_train) add_doubts_of_scaling(job, warnings);
    row.point = Point{.prediction = std::move(prediction),
                      .gpus = job.gpus(),
                      .seq_len = settings.training.seq_len,
                      .tokens = tokens,
                      .training_tokens = training_tokens(job, tokens),
                      .peak_flops = job.peak().rate.base(),
                      .costs = hardware::running_costs(read.parts.machine),
                      .warnings = std::move(warnings)};
  }

  static double parameters_of(const experiment::Job& job) {
    return static_cast<double>(models::count_parameters(job.transformer(), job.model()).active);
  }
  static void add_doubts_of_scaling(const experiment::Job& job, std::vector<std::string>& warnings) {
    if (parameters_of(job) > k_most_parameters)
      warnings.push_back(
          fmt::format("tokens of the training: the scaling laws were fitted to models of up to {} parameters; "
                      "this one has {}",
                      core::format_count(k_most_parameters), core::format_count(parameters_of(job))));
    if (!job.transformer().causal)
      warnings.emplace_back("tokens of the training: the scaling laws are of models that predict the next token");
  }
  static double training_tokens(const experiment::Job& job, double batch_tokens) {
    const double parameters = parameters_of(job);
    const auto& said = job.experiment().training.tokens;
    return tokens_in_batches(parameters, said ? said->tokens : compute_optimal_tokens(parameters), batch_tokens);
  }

  // Whether there is a layout that fits; it becomes the strategy of `settings`.
  bool find_layout(experiment::Settings& settings, const experiment::Parts& parts, Row& row) const {
    const search::Answer answer = best_layout(*request_.layouts, settings, parts, 1, request_.stop);
    row.searched = Searched{.settings = {},
                            .points = answer.points,
                            .evaluated = answer.evaluated,
                            .lower_bound = answer.verdict.lower_bound,
                            .complete = answer.complete};
    if (answer.top.empty()) {
      row.errors.push_back(no_layout(answer));
      return false;
    }
    row.searched->settings = answer.top.front().settings;
    settings.strategy = answer.top.front().strategy;
    return true;
  }

  static std::vector<core::Diagnostic> placed(std::vector<core::Diagnostic> all, const config::Origins& origins) {
    for (core::Diagnostic& each : all)
      if (each.file.empty() && !each.key_path.empty()) each = origins.error(each.key_path, each.message, each.hint);
    return all;
  }

  bool varies(std::string_view key) const {
    return std::any_of(request_.variations.begin(), request_.variations.end(), [&](const Variation& each) {
      return key == each.key || key.starts_with(each.key + ".") || each.key.starts_with(std::string(key) + ".");
    });
  }

  // What is said of a key that varies, and of one that has to.
  void explain(core::Diagnostic& problem) const {
    if (problem.file == k_override && varies(problem.key_path)) problem.file = k_varied;
    constexpr std::string_view k_data = "strategy.dp";
    if (problem.key_path == k_data && !problem.file.empty() && !varies(k_data) && varies("cluster"))
      problem.hint = "it is fixed while the cluster varies: leave it out, --set strategy.dp=null, and it follows";
  }

  void refuse_unreadable() const {
    for (const std::optional<Found>& each : found_)
      if (!each || each->readable) return;
    throw core::ConfigurationError(found_.front()->row.errors);
  }

  std::optional<std::size_t> best_of(const std::vector<Row>& rows) const {
    std::optional<std::size_t> best;
    std::pair<double, core::Picoseconds> least;  // of equals the fastest
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!rows[i].point || !rows[i].point->prediction.fits) continue;
      const std::optional<double> worth = rows[i].point->worth(request_.objective);
      if (!worth) continue;
      const std::pair each{*worth, rows[i].point->prediction.time};
      if (best && each >= least) continue;
      least = each;
      best = i;
    }
    return best;
  }

  void add_elasticities(Answer& answer) {
    try {
      const Read base = read(request_.overrides);
      answer.experiment = base.loaded.experiment.name;
      if (!answer.complete) return;
      try {
        experiment::Job job(base.loaded.experiment, base.parts, answer.experiment);
        answer.elasticities = sweep::elasticities(job, request_.threads, request_.stop);
      } catch (const core::ConfigurationError& error) {
        answer.no_elasticities = placed(error.diagnostics(), base.loaded.origins);
      }
    } catch (const core::ConfigurationError& error) {
      answer.no_elasticities = error.diagnostics();
    }
    if (request_.stop && request_.stop()) {
      answer.elasticities.reset();  // some figures would be missing
      answer.complete = false;
    }
  }

  const Request& request_;
  std::vector<std::optional<Found>> found_;
  std::mutex mutex_, reading_;
  std::size_t done_ = 0;
};

}  // namespace

std::optional<double> Point::worth(search::Objective objective) const {
  const double time_s = core::to_seconds(prediction.time);
  switch (objective) {
    case search::Objective::step_time:
      return time_s;
    case search::Objective::tokens_per_gpu:
      return time_s * static_cast<double>(gpus) / tokens;
    case search::Objective::cost:
      if (!costs.accelerator_hour) return std::nullopt;
      return time_s * static_cast<double>(gpus) * costs.accelerator_hour->base() / tokens;
    case search::Objective::energy:
      return costs.power.base() * time_s / tokens;
    case search::Objective::time_to_train:
      return time_s * training_tokens / tokens;
    case search::Objective::fewest_gpus:
      return static_cast<double>(gpus);
    case search::Objective::longest_sequence:
      return -static_cast<double>(seq_len);
  }
  return std::nullopt;
}

Answer sweep(const Request& request) { return Sweeping(request).run(); }

}  // namespace cairn::sweep
