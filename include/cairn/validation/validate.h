// Predictions held against published and measured runs.
//
// Every row of a table that can be run is predicted by the analytic engine and scored; every other is listed with the
// reason. Beside the errors of a family stands what the best constant FLOP/s per GPU would have scored on the same rows
// (baseline_mape), so that a model's worth shows. The parts of a row add up to its predicted time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/config/loader.h"
#include "cairn/predict/account/breakdown.h"
#include "cairn/predict/evaluate/timeline.h"
#include "cairn/validation/causes.h"
#include "cairn/validation/family.h"
#include "cairn/validation/layout_choice.h"
#include "cairn/validation/measured_run.h"
#include "cairn/validation/residuals.h"
#include "cairn/validation/statistics.h"

namespace cairn::validation {

struct ValidateOptions {
  // Families to run; empty: all published ones and all of `data`.
  std::vector<std::string> names;
  // A folder of tables, or one that holds such folders named `measured` and `measured_more`; `models` in it holds what
  // their rows name and configs/models lacks.
  std::optional<std::filesystem::path> data;
  // The folder of the published tables; default: validate/published beside the configuration folders.
  std::optional<std::filesystem::path> published;
  // Every row is predicted under framework `ideal`, by the fastest of the libraries that its accelerator's calibration
  // knows. Such a step is faster than any that was measured, but for errors of prices and of rows: a family passes
  // where its bias is below 0. Nothing is judged beside that.
  bool ideal = false;
  // Told before every row: its family, how many of the family's rows are done, and how many there are.
  std::function<void(std::string_view, std::size_t, std::size_t)> progress = {};
};

struct SkippedRow {
  int line = 0;
  std::string reason;
};

// One row that was run. Errors are predicted / measured - 1.
struct ValidatedRow {
  std::string family;
  int line = 0;
  std::string label;
  Status status = Status::ok;
  std::optional<double> measured_s;
  double predicted_s = 0.0;
  std::optional<double> error;
  predict::Breakdown breakdown;  // adds up to the predicted time
  bool fits = true;
  std::optional<double> measured_bytes;
  double predicted_bytes = 0.0;  // allocated at the peak of the fullest stage, or what the measured figure counts
  std::optional<double> memory_error;
  double achieved_flops = 0.0;  // executed work per GPU over the measured time [FLOP/s]; 0 without a time
  std::vector<std::string> warnings;
  experiment::RunTraits traits;  // by which its family of intervals is known
  RowSetting setting;
  std::string sharing = {};     // the scheme by which ranks share its sequences; empty: none do
  std::string question;         // its experiment without the strategy: what several layouts answer
  std::string doubt;            // why it is believed mis-stated; empty: it is not
  bool memory_doubted = false;  // whether its memory is, too
  // Fields of the file or of its family's columns that are read otherwise, and why.
  std::vector<std::string> corrections = {};
  std::optional<LeftOut> left_out;
};

struct FamilyResult {
  std::string name;
  std::string title;
  std::int64_t rows = 0;   // run
  std::int64_t timed = 0;  // of them with a measured time
  std::vector<SkippedRow> skipped;
  std::optional<ErrorSummary> errors;  // over timed rows
  std::optional<double> spearman;
  std::int64_t outcomes = 0;            // rows known to have run or to have run out of memory
  std::int64_t false_fit = 0;           // ran out of memory, predicted to fit
  std::int64_t false_oom = 0;           // ran, predicted not to fit
  std::optional<double> memory_median;  // of absolute memory errors
  std::optional<ConstantRate> baseline;
  // Of timed rows that nobody doubts: the share inside intervals that were made without them, and how wide those are
  // in the middle; the error on what was left out; the change of the signed error with each doubling of GPUs; and what
  // the error goes with.
  std::optional<double> coverage;
  std::optional<double> interval_width;
  std::optional<NextError> next;
  std::optional<double> slope;
  std::vector<ResidualCause> causes;
  std::optional<LayoutChoice> layouts;  // of those same rows; empty: no two of them answer one question
  Band band;
  std::optional<bool> passed;  // empty: no band (but of ideal runs), or no timed row
};

// Intervals of one family of runs (experiment/interval.h), each made without the row's model.
struct IntervalScore {
  std::string family;         // its five traits; "all runs"
  std::int64_t rows = 0;      // judged
  double coverage = 0.0;      // share inside
  double width = 0.0;         // median of p90 - p10 over the predicted time
  double median_error = 0.0;  // of |predicted / measured - 1|
  double chance = 1.0;        // that a coverage of exactly 8 in 10 gives a share as far off or farther (binomial)
};

// Timed rows whose ranks share sequences by one scheme (strategy.attention), of all families.
struct SharingScore {
  std::string scheme;
  std::int64_t rows = 0;
  ErrorSummary errors = {};
};
// By scheme, in the order of the names; empty where no timed row has such ranks.
std::vector<SharingScore> sharing_scores(std::span<const ValidatedRow> rows);

struct Report {
  bool ideal = false;  // as asked for
  std::vector<FamilyResult> families;
  std::vector<ValidatedRow> rows;
  std::vector<SharingScore> sharing;
  experiment::IntervalTable intervals;  // by these rows
  std::vector<IntervalScore> scores;    // of intervals left out: all runs, then by family
  bool passed() const;                  // no family failed
};

// The names of all families, of which `options` may choose some.
std::vector<std::string> family_names(const config::Loader& loader, const ValidateOptions& options);
// Throws core::ConfigurationError for unknown names and tables that cannot be read.
Report validate(const config::Loader& loader, const ValidateOptions& options);

// Of ideal runs: families with their bias, which of them fail, then why rows were skipped. Of others: a table of
// families, then one of rows for each family of at most `rows_up_to` rows, then why rows were skipped.
struct TextOptions {
  std::size_t rows_up_to = 40;
};
std::string text(const Report& report, const TextOptions& options = {});

// cairn.validate/1; shares and errors as fractions, times in seconds, memory in bytes.
std::string json(const Report& report);

}  // namespace cairn::validation
