#include "cairn/validation/validate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <list>
#include <span>
#include <system_error>

#include <fmt/format.h>

#include "cairn/config/read.h"
#include "cairn/config/yaml.h"
#include "cairn/core/diagnostics.h"
#include "cairn/experiment/experiment.h"
#include "cairn/experiment/job.h"
#include "cairn/sequence/scheme.h"
#include "doubted.h"
#include "ideal.h"
#include "judge.h"

namespace cairn::validation {
namespace {

namespace fs = std::filesystem;

constexpr const char* k_families_file = "families.yaml";
// From a configuration folder, in the source tree and installed alike.
constexpr const char* k_published_beside_configs = "../validate/published/families.yaml";
constexpr std::array<const char*, 2> k_measured_folders{"measured", "measured_more"};
constexpr const char* k_models_folder = "models";

struct Source {
  std::string name;
  fs::path file;
  const Families* families = nullptr;
  fs::path models = {};  // the folder of models that its rows name, beside those of configs
};

fs::path published_folder(const config::Loader& loader, const ValidateOptions& options) {
  if (options.published) return *options.published;
  const fs::path found = loader.find_shipped(k_published_beside_configs, {});
  if (found.empty())
    throw core::ConfigurationError("validate", "the published tables are not beside the configuration folders",
                                   "name their folder");
  return found.parent_path();
}

Families read_families(const config::Loader& loader, const fs::path& folder) {
  core::Diagnostics diagnostics;
  const config::Node node = loader.load(folder / k_families_file, diagnostics, "validate");
  diagnostics.raise_if_errors();
  return config::read<Families>(node);
}

void add_tables(const fs::path& folder, const Families& families, const fs::path& models,
                std::vector<Source>& sources) {
  std::error_code problem;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, problem))
    if (entry.path().extension() == ".csv") files.push_back(entry.path());
  if (problem)
    throw core::ConfigurationError("data", fmt::format("{}: {}", folder.filename().string(), problem.message()),
                                   "name a folder of CSV tables");
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    const std::string name = file.stem().string();
    const auto other = std::find_if(sources.begin(), sources.end(), [&](const Source& s) { return s.name == name; });
    if (other != sources.end())
      throw core::ConfigurationError(
          "data", fmt::format("two tables of the name '{}': {} and {}", name, other->file.string(), file.string()),
          "rename one of them: a family is known by its file's name");
    sources.push_back({.name = name, .file = file, .families = &families, .models = models});
  }
}

// A folder's own words where it has some, else those of the published tables.
Families completed(Families own, const Families& shipped) {
  const auto complete = [](auto& words, const auto& others) {
    if (words.empty()) words = others;
  };
  complete(own.racks, shipped.racks);
  complete(own.words.skip, shipped.words.skip);
  complete(own.words.attention, shipped.words.attention);
  complete(own.words.dispatchers, shipped.words.dispatchers);
  complete(own.words.balance, shipped.words.balance);
  complete(own.words.recompute, shipped.words.recompute);
  return own;
}

std::vector<Source> chosen(std::vector<Source> sources, const std::vector<std::string>& names) {
  if (names.empty()) return sources;
  std::vector<std::string> known;
  for (const Source& source : sources) known.push_back(source.name);
  core::Diagnostics diagnostics;
  std::vector<Source> result;
  for (const std::string& name : names) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found != known.end()) {
      result.push_back(sources[static_cast<std::size_t>(found - known.begin())]);
      continue;
    }
    const std::string near = core::nearest(name, known);
    core::Diagnostic diagnostic;
    diagnostic.message = fmt::format("no measured runs named '{}'", name);
    diagnostic.hint =
        near.empty() ? fmt::format("known: {}", fmt::join(known, ", ")) : fmt::format("did you mean '{}'?", near);
    diagnostics.add(std::move(diagnostic));
  }
  diagnostics.raise_if_errors();
  return result;
}

Family family_of(const Source& source) {
  Family family;
  for (const auto& [name, known] : source.families->families)
    if (name == source.name) family = known;
  family.name = source.name;
  return family;
}

// What is wrong, without the place: the row is named beside it.
std::string short_reason(const core::ConfigurationError& error) {
  const core::Diagnostic& first = error.diagnostics().front();
  const std::string key = first.key_path.empty() ? "" : first.key_path + ": ";
  const std::size_t more = error.diagnostics().size() - 1;
  return key + first.message + (more > 0 ? fmt::format(" (and {} more)", more) : "");
}

// What the row's figure counts.
double memory_like(const MeasuredRun& run, const predict::MemoryReport& memory) {
  const auto counted = [&](const auto& stage) {
    switch (run.memory_kind) {
      case MemoryKind::allocated:
        return stage.allocated_peak;
      case MemoryKind::reserved:
        return stage.reserved_peak;
      case MemoryKind::device:
        return stage.device_peak;
    }
    return stage.allocated_peak;
  };
  if (run.memory_rank == MemoryRank::fullest || memory.stages.empty()) return counted(memory);
  return counted(run.memory_rank == MemoryRank::first ? memory.stages.front() : memory.stages.back());
}

std::string question(config::Node experiment) {
  config::remove_path(experiment, "strategy");
  return config::to_yaml(experiment);
}

ValidatedRow predict_row(const MeasuredRun& run, const config::Node& experiment, const std::string& family,
                         const config::Loader& loader) {
  experiment::Job job(experiment::read(experiment), loader);
  const predict::Prediction prediction =
      job.run(predict::Engine::analytic, {.detail = predict::Detail::breakdown, .advice = experiment::Advice::none})
          .prediction;
  ValidatedRow row;
  row.family = family;
  row.line = run.line;
  row.label = run.label;
  row.status = run.status;
  row.predicted_s = core::to_seconds(prediction.time);
  row.breakdown = prediction.breakdown;
  row.fits = prediction.fits;
  row.predicted_bytes = memory_like(run, prediction.memory);
  row.warnings = run.remarks;
  row.warnings.insert(row.warnings.end(), job.warnings().begin(), job.warnings().end());
  row.corrections = run.corrections;
  row.traits = job.traits();
  row.setting = row_setting(job, prediction);
  if (const plan::Strategy& strategy = job.strategy(); strategy.context > 1 && strategy.attention.scheme != nullptr)
    row.sharing = strategy.attention.scheme->name;
  row.question = question(experiment);
  if (run.time_s && run.status == Status::ok) {
    row.measured_s = run.time_s;
    row.error = row.predicted_s / *run.time_s - 1.0;
    row.achieved_flops = prediction.hardware_flops / (static_cast<double>(run.gpus) * *run.time_s);
  }
  if (run.memory_bytes) {
    row.measured_bytes = run.memory_bytes;
    row.memory_error = row.predicted_bytes / *run.memory_bytes - 1.0;
  }
  return row;
}

// By the libraries that are fastest for it.
ValidatedRow predict_ideal_row(const MeasuredRun& run, const std::string& family, const config::Loader& loader) {
  std::optional<ValidatedRow> fastest;
  for (const IdealExperiment& each : ideal_experiments(run.experiment, loader)) {
    ValidatedRow row = predict_row(run, each.experiment, family, loader);
    if (!each.libraries.empty())
      row.warnings.push_back(
          fmt::format("libraries {}: of those that the calibration knows they are fastest here", each.libraries));
    if (!fastest || row.predicted_s < fastest->predicted_s) fastest = std::move(row);
  }
  return std::move(fastest).value();
}

bool within(const Band& band, const ErrorSummary& errors) {
  return (!band.mean || errors.mape <= *band.mean) && (!band.max || errors.max <= *band.max);
}

void score(FamilyResult& result, std::span<const ValidatedRow> rows) {
  std::vector<double> errors;
  std::vector<double> measured;
  std::vector<double> predicted;
  std::vector<double> achieved;
  std::vector<double> memory;
  for (const ValidatedRow& row : rows) {
    if (row.error) {
      errors.push_back(*row.error);
      measured.push_back(*row.measured_s);
      predicted.push_back(row.predicted_s);
      achieved.push_back(row.achieved_flops);
    }
    if (row.memory_error) memory.push_back(std::abs(*row.memory_error));
    if (row.status == Status::memory_only) continue;
    ++result.outcomes;
    if (row.status == Status::out_of_memory && row.fits) ++result.false_fit;
    if (row.status == Status::ok && !row.fits) ++result.false_oom;
  }
  result.rows = static_cast<std::int64_t>(rows.size());
  result.timed = static_cast<std::int64_t>(errors.size());
  result.errors = summarize(errors);
  result.spearman = spearman(measured, predicted);
  result.baseline = best_constant_rate(achieved);
  if (!memory.empty()) result.memory_median = quantile(memory, 0.5);
  if (result.errors && (result.band.mean || result.band.max)) result.passed = within(result.band, *result.errors);
}

void validate_family(const Source& source, const config::Loader& loader, const ValidateOptions& options,
                     Report& report) {
  Family family = family_of(source);
  if (options.ideal) {
    family.band = {};
    family.framework_cuts = false;
  }
  FamilyResult result;
  result.name = family.name;
  result.title = family.title;
  result.band = family.band;
  const std::size_t first = report.rows.size();
  const measure::CsvTable table = measure::read_csv(source.file);
  const std::vector<MeasuredRun> runs =
      measured_runs(table, family, *source.families, {.loader = loader, .models = source.models});
  check_doubted(table, family);
  for (std::size_t done = 0; done < runs.size(); ++done) {
    const MeasuredRun& run = runs[done];
    if (options.progress) options.progress(family.name, done, runs.size());
    std::string reason = run.reason;
    if (reason.empty()) {
      try {
        ValidatedRow row = options.ideal ? predict_ideal_row(run, family.name, loader)
                                         : predict_row(run, run.experiment, family.name, loader);
        // How far a run is behind its prediction says nothing where overheads are left out.
        const double slower = row.measured_s && !options.ideal ? *row.measured_s / row.predicted_s : 0.0;
        row.doubt = doubt(table, family, run.line, slower);
        row.memory_doubted = !doubt(table, family, run.line, 0.0).empty();
        report.rows.push_back(std::move(row));
      } catch (const core::ConfigurationError& problem) {
        reason = short_reason(problem);
      }
    }
    if (!reason.empty()) result.skipped.push_back({.line = run.line, .reason = std::move(reason)});
  }
  score(result, std::span<const ValidatedRow>(report.rows).subspan(first));
  if (options.ideal && result.errors) result.passed = result.errors->bias < 0.0;
  report.families.push_back(std::move(result));
}

// Every table there is, with what it is held to.
struct Tables {
  Families shipped;
  std::list<Families> own;      // of each folder that has some
  std::vector<Source> sources;  // which point at those

  Tables(const config::Loader& loader, const ValidateOptions& options) {
    const fs::path published = published_folder(loader, options);
    shipped = read_families(loader, published);
    add_tables(published, shipped, {}, sources);
    if (!options.data) return;
    std::error_code unreadable;  // add_tables() says why a folder cannot be read
    std::vector<fs::path> folders;
    for (const char* inner : k_measured_folders)
      if (fs::is_directory(*options.data / inner, unreadable)) folders.push_back(*options.data / inner);
    if (folders.empty()) folders.push_back(*options.data);
    for (const fs::path& folder : folders) {
      const bool describes = fs::exists(folder / k_families_file, unreadable);
      if (describes) own.push_back(completed(read_families(loader, folder), shipped));
      add_tables(folder, describes ? own.back() : shipped, *options.data / k_models_folder, sources);
    }
  }
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;
};

}  // namespace

std::vector<std::string> family_names(const config::Loader& loader, const ValidateOptions& options) {
  const Tables tables(loader, options);
  std::vector<std::string> names;
  for (const Source& source : tables.sources) names.push_back(source.name);
  return names;
}

bool Report::passed() const {
  return std::all_of(families.begin(), families.end(),
                     [](const FamilyResult& family) { return family.passed.value_or(true); });
}

Report validate(const config::Loader& loader, const ValidateOptions& options) {
  Tables tables(loader, options);
  Report report;
  report.ideal = options.ideal;
  for (const Source& source : chosen(std::move(tables.sources), options.names))
    validate_family(source, loader, options, report);
  if (!options.ideal) judge(report);
  report.sharing = sharing_scores(report.rows);
  return report;
}

}  // namespace cairn::validation
