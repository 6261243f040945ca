#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cairn/program/mesh.h"
#include "cairn/validation/validate.h"

namespace cairn::validation {
namespace {

constexpr double k_percent = 100.0;
constexpr double k_gibibyte = 1024.0 * 1024.0 * 1024.0;

std::string percent(const std::optional<double>& fraction, bool is_signed = false) {
  if (!fraction) return "-";
  return is_signed ? fmt::format("{:+.1f} %", *fraction * k_percent) : fmt::format("{:.1f} %", *fraction * k_percent);
}

template <class Get>
std::string error_cell(const FamilyResult& family, Get get, bool is_signed = false) {
  return family.errors ? percent(get(*family.errors), is_signed) : "-";
}

std::string verdict(const FamilyResult& family) {
  if (!family.passed) return "-";
  return *family.passed ? "passed" : "beyond its band";
}

// Why, and the first lines that it holds for.
void append_reasons(const std::map<std::string, std::vector<int>>& reasons, std::string& out) {
  constexpr std::size_t k_lines_named = 8;
  for (const auto& [reason, lines] : reasons) {
    const std::size_t named = std::min(lines.size(), k_lines_named);
    fmt::format_to(std::back_inserter(out), "  {:>4} rows: {} (line {}{})\n", lines.size(), reason,
                   fmt::join(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(named), ", "),
                   lines.size() > named ? ", ..." : "");
  }
}

constexpr std::string_view k_columns =
    "\ntimed: runs with a measured step time; not run: rows that stand below with the reason. The error is\n"
    "predicted / measured - 1: mean, median, p90 (nine runs in ten come nearer) and largest of its size, bias\n"
    "the mean with its sign, + where predictions are too long. order: whether the runs come in the same order\n"
    "by time, 1 if wholly (Spearman's rank correlation). one rate: the mean error if every GPU did the same\n"
    "FLOP/s, the best for these very runs. wrongly said to fit: runs that ran out of memory; not to fit: runs\n"
    "that ran. memory: the median error of its peak. band: whether the errors lie within what is promised for\n"
    "the family (families.yaml).\n";
constexpr std::string_view k_parts =
    "seconds a step; behind the bar the parts that add up to the predicted ones (tp, dp, pp: waiting for that axis)";

void append_families(const Report& report, std::string& out) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "{:32} {:>5} {:>7} {:^44} {:>6} {:>8} {:^20} {:>8}\n", "", "runs", "rows",
                 "error of the step time", "", "error of", "runs wrongly said", "error of");
  fmt::format_to(to, "{:32} {:>5} {:>7} {:>8} {:>8} {:>8} {:>8} {:>8} {:>6} {:>8} {:>9} {:>10} {:>8}  {}\n", "family",
                 "timed", "not run", "mean", "median", "p90", "largest", "bias", "order", "one rate", "to fit",
                 "not to fit", "memory", "band");
  for (const FamilyResult& family : report.families) {
    fmt::format_to(to, "{:32} {:>5} {:>7} {:>8} {:>8} {:>8} {:>8} {:>8} {:>6} {:>8} {:>9} {:>10} {:>8}  {}\n",
                   family.name, family.timed, family.skipped.size(),
                   error_cell(family, [](const auto& e) { return e.mape; }),
                   error_cell(family, [](const auto& e) { return e.median; }),
                   error_cell(family, [](const auto& e) { return e.p90; }),
                   error_cell(family, [](const auto& e) { return e.max; }),
                   error_cell(
                       family, [](const auto& e) { return e.bias; }, true),
                   family.spearman ? fmt::format("{:.3f}", *family.spearman) : "-",
                   family.baseline ? percent(family.baseline->mape) : "-", family.false_fit, family.false_oom,
                   percent(family.memory_median), verdict(family));
  }
  out += k_columns;
}

std::string cause_words(const FamilyResult& family) {
  constexpr double k_worth_saying = 0.1;
  constexpr std::size_t k_groups_shown = 5;
  if (family.causes.empty() || family.causes.front().explained < k_worth_saying) return "-";
  const ResidualCause& cause = family.causes.front();
  std::string groups;
  for (std::size_t i = 0; i < std::min(cause.groups.size(), k_groups_shown); ++i)
    groups += fmt::format("{}{}: {}", i == 0 ? "" : ", ", cause.groups[i].value, percent(cause.groups[i].median, true));
  return fmt::format("{} {}; {}{}", cause.setting, percent(cause.explained), groups,
                     cause.groups.size() > k_groups_shown ? ", ..." : "");
}

constexpr std::string_view k_judged =
    "8 in 10: share of the runs inside intervals of 8 in 10 that were made without their model (without their number\n"
    "of GPUs where there is one model); width: the median one's, of what is predicted. next: the mean error of a "
    "model\n"
    "that is left out, times scaled by what is best for the others. growth: of the signed error with each doubling of\n"
    "GPUs. most goes with: the setting that explains most of the error's spread, and the median error of its values.\n";

// How far errors can be told beforehand.
void append_judged(const Report& report, std::string& out) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "\n{:32} {:>8} {:>8} {:>8} {:>9}  {}\n", "family", "8 in 10", "width", "next", "growth",
                 "most goes with");
  for (const FamilyResult& family : report.families)
    if (family.errors)
      fmt::format_to(to, "{:32} {:>8} {:>8} {:>8} {:>9}  {}\n", family.name, percent(family.coverage),
                     percent(family.interval_width), family.next ? percent(family.next->mape) : std::string("-"),
                     percent(family.slope, true), cause_words(family));
  out += k_judged;
}

constexpr std::string_view k_layouts =
    "questions: sets of runs that differ in their layout alone. right: of them, those whose fastest layout has the\n"
    "shortest prediction; regret: what the layout so chosen takes longer than the fastest. tau: whether pairs of runs\n"
    "whose measured times differ by over 3 % come in the same order, 1 all of them, -1 none (Kendall).\n";

// Whether the layout that would be chosen is the right one.
void append_layouts(const Report& report, std::string& out) {
  auto to = std::back_inserter(out);
  bool any = false;
  for (const FamilyResult& family : report.families) {
    if (!family.layouts) continue;
    if (!std::exchange(any, true))
      fmt::format_to(to, "\n{:32} {:>9} {:>5} {:>6} {:>12} {:>14} {:>6} {:>6}\n", "which layout is fastest",
                     "questions", "runs", "right", "mean regret", "largest regret", "pairs", "tau");
    const LayoutChoice& choice = *family.layouts;
    fmt::format_to(to, "{:32} {:>9} {:>5} {:>6} {:>12} {:>14} {:>6} {:>6}\n", family.name, choice.questions.size(),
                   choice.rows, choice.right, percent(choice.mean_regret), percent(choice.max_regret), choice.pairs,
                   choice.tau ? fmt::format("{:.2f}", *choice.tau) : "-");
  }
  if (any) out += k_layouts;
}

// Of runs whose ranks share sequences: by how they share their attention.
void append_sharing(const Report& report, std::string& out) {
  if (report.sharing.empty()) return;
  auto to = std::back_inserter(out);
  fmt::format_to(to, "\n{:33} {:>5} {:>8} {:>8} {:>8} {:>8}\n", "error where ranks share sequences", "runs", "mean",
                 "median", "largest", "bias");
  for (const SharingScore& score : report.sharing)
    fmt::format_to(to, "{:33} {:>5} {:>8} {:>8} {:>8} {:>8}\n", score.scheme, score.rows, percent(score.errors.mape),
                   percent(score.errors.median), percent(score.errors.max), percent(score.errors.bias, true));
  out += "by the scheme that shares their attention (cp above 1), all families together; columns as above.\n";
}

void append_scores(const Report& report, std::string& out) {
  if (report.scores.empty()) return;
  auto to = std::back_inserter(out);
  fmt::format_to(to, "\n{:56} {:>5} {:>8} {:>8} {:>8} {:>8}\n", "intervals of 8 in 10, without the row's model", "rows",
                 "inside", "width", "error", "chance");
  for (const IntervalScore& score : report.scores)
    fmt::format_to(to, "{:56} {:>5} {:>8} {:>8} {:>8} {:>8}\n", score.family, score.rows, percent(score.coverage),
                   percent(score.width), percent(score.median_error), percent(score.chance));
  out += "width and error: medians; chance: that intervals which hold 8 in 10 show a share as far off or farther.\n";
}

void append_doubted(const Report& report, const FamilyResult& family, std::string& out) {
  std::map<std::string, std::vector<int>> reasons;
  for (const ValidatedRow& row : report.rows)
    if (row.family == family.name && !row.doubt.empty()) reasons[row.doubt].push_back(row.line);
  if (!reasons.empty()) fmt::format_to(std::back_inserter(out), "\n{}: believed mis-stated\n", family.name);
  append_reasons(reasons, out);
}

void append_corrected(const Report& report, const FamilyResult& family, std::string& out) {
  std::map<std::string, std::vector<int>> corrections;
  for (const ValidatedRow& row : report.rows)
    if (row.family == family.name)
      for (const std::string& correction : row.corrections) corrections[correction].push_back(row.line);
  if (!corrections.empty()) fmt::format_to(std::back_inserter(out), "\n{}: corrected\n", family.name);
  append_reasons(corrections, out);
}

void append_rows(const Report& report, const FamilyResult& family, std::string& out) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "\n{}{}{}\n{}\n", family.name, family.title.empty() ? "" : ", ", family.title, k_parts);
  fmt::format_to(to,
                 "{:>5} {:48} {:>9} {:>9} {:>8} | {:>8} {:>8} {:>7} {:>7} {:>7} {:>7} {:>8} {:>7} {:>7} {:>7} {:>9}\n",
                 "line", "run", "measured", "predicted", "error", "compute", "recomp", "tp", "dp", "pp", "bubble",
                 "optimizer", "host", "launch", "other", "memory");
  for (const ValidatedRow& row : report.rows) {
    if (row.family != family.name) continue;
    const predict::Breakdown& parts = row.breakdown;
    const auto seconds = [](core::Picoseconds time) { return core::to_seconds(time); };
    const auto exposed = [&](program::Axis axis) { return seconds(parts.exposed[static_cast<std::size_t>(axis)]); };
    fmt::format_to(
        to,
        "{:>5} {:48} {:>9} {:>9.4g} {:>8} | {:>8.4g} {:>8.4g} {:>7.3g} {:>7.3g} {:>7.3g} {:>7.3g} {:>8.3g} "
        "{:>7.3g} {:>7.3g} "
        "{:>7.3g} {:>5.1f} GiB{}\n",
        row.line, row.label, row.measured_s ? fmt::format("{:.4g}", *row.measured_s) : std::string(name(row.status)),
        row.predicted_s, percent(row.error, true), seconds(parts.compute), seconds(parts.recompute),
        exposed(program::Axis::tensor), exposed(program::Axis::data), exposed(program::Axis::pipeline),
        seconds(parts.bubble), seconds(parts.optimizer), seconds(parts.host), seconds(parts.launch),
        seconds(parts.other + parts.links) + exposed(program::Axis::context) + exposed(program::Axis::expert),
        row.predicted_bytes / k_gibibyte, row.fits ? "" : ", does not fit");
  }
}

void append_skipped(const FamilyResult& family, std::string& out) {
  if (family.skipped.empty()) return;
  std::map<std::string, std::vector<int>> reasons;
  for (const SkippedRow& row : family.skipped) reasons[row.reason].push_back(row.line);
  fmt::format_to(std::back_inserter(out), "\n{}: not run\n", family.name);
  append_reasons(reasons, out);
}

constexpr std::string_view k_below =
    "\nEvery run as framework ideal has it: the same plan, precision and kernels, no overheads of software, by the\n"
    "fastest of the libraries that its accelerator's calibration knows. bias: the mean of predicted / measured - 1.\n"
    "Measured software is no faster in the mean of every family, though single rows may be: where the mean is not\n"
    "below 0, prices or the table's rows are wrong.\n";

void append_ideal(const Report& report, std::string& out) {
  auto to = std::back_inserter(out);
  std::vector<std::string_view> failed;
  fmt::format_to(to, "{:32} {:>5} {:>7} {:>8}  {}\n", "family", "timed", "not run", "bias", "below 0");
  for (const FamilyResult& family : report.families) {
    const char* verdict = !family.passed ? "-" : *family.passed ? "yes" : "no";
    if (!family.passed.value_or(true)) failed.push_back(family.name);
    fmt::format_to(to, "{:32} {:>5} {:>7} {:>8}  {}\n", family.name, family.timed, family.skipped.size(),
                   error_cell(
                       family, [](const auto& e) { return e.bias; }, true),
                   verdict);
  }
  out += k_below;
  if (!failed.empty()) fmt::format_to(to, "\nnot below 0: {}\n", fmt::join(failed, ", "));
}

std::string ideal_text(const Report& report) {
  std::string out;
  append_ideal(report, out);
  for (const FamilyResult& family : report.families) append_skipped(family, out);
  return out;
}

}  // namespace

std::string text(const Report& report, const TextOptions& options) {
  if (report.ideal) return ideal_text(report);
  std::string out;
  append_families(report, out);
  append_judged(report, out);
  append_layouts(report, out);
  append_sharing(report, out);
  append_scores(report, out);
  for (const FamilyResult& family : report.families)
    if (family.rows > 0 && static_cast<std::size_t>(family.rows) <= options.rows_up_to)
      append_rows(report, family, out);
  for (const FamilyResult& family : report.families) append_corrected(report, family, out);
  for (const FamilyResult& family : report.families) append_doubted(report, family, out);
  for (const FamilyResult& family : report.families) append_skipped(family, out);
  return out;
}

}  // namespace cairn::validation
