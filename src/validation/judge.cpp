#include "judge.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cairn::validation {
namespace {

// The innermost groups that reach beyond a node.
std::string span_of(const plan::Strategy& strategy, std::int64_t per_node) {
  std::int64_t ranks = 1;
  for (const auto& [name, size] : {std::pair{"tp", strategy.tensor}, std::pair{"cp", strategy.context},
                                   std::pair{"dp", strategy.data}, std::pair{"pp", strategy.pipeline}}) {
    ranks *= size;
    if (size > 1 && ranks > per_node) return name;
  }
  return "none";
}

Residual residual(const ValidatedRow& row, double measured, double predicted, bool doubted) {
  return {.table = row.family,
          .model = row.setting.model,
          .traits = row.traits,
          .measured = measured,
          .predicted = predicted,
          .set_aside = doubted};
}

void judge_family(const Report& report, FamilyResult& family) {
  std::vector<JudgedRow> rows;
  std::vector<LayoutRow> layouts;
  std::vector<double> errors, widths;
  std::vector<std::int64_t> gpus;
  double covered = 0.0;
  for (const ValidatedRow& row : report.rows) {
    if (row.family != family.name || !row.error || !row.doubt.empty()) continue;
    rows.push_back({.setting = row.setting, .measured = *row.measured_s, .predicted = row.predicted_s});
    layouts.push_back({.question = row.question,
                       .label = row.label,
                       .gpus = row.setting.gpus,
                       .measured = *row.measured_s,
                       .predicted = row.predicted_s});
    errors.push_back(*row.error);
    gpus.push_back(row.setting.gpus);
    if (!row.left_out) continue;
    covered += row.left_out->covered ? 1.0 : 0.0;
    widths.push_back(row.left_out->width);
  }
  if (!widths.empty()) {
    family.coverage = covered / static_cast<double>(widths.size());
    family.interval_width = quantile(widths, 0.5);
  }
  family.next = left_out_error(rows);
  family.slope = slope_per_doubling(errors, gpus);
  family.causes = residual_causes(rows);
  family.layouts = layout_choice(layouts);
}

IntervalScore score_of(const std::string& family, const std::vector<const ValidatedRow*>& rows) {
  std::vector<double> widths, errors;
  std::int64_t inside = 0;
  for (const ValidatedRow* row : rows) {
    inside += row->left_out->covered ? 1 : 0;
    widths.push_back(row->left_out->width);
    errors.push_back(std::abs(*row->error));
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  return {.family = family,
          .rows = count,
          .coverage = static_cast<double>(inside) / static_cast<double>(count),
          .width = quantile(widths, 0.5),
          .median_error = quantile(errors, 0.5),
          .chance = binomial_chance(inside, count, experiment::k_interval_coverage)};
}

std::vector<IntervalScore> interval_scores(const Report& report) {
  std::map<std::string, std::vector<const ValidatedRow*>> families;
  std::vector<const ValidatedRow*> all;
  for (const ValidatedRow& row : report.rows) {
    if (!row.left_out) continue;
    families[fmt::format("{}", fmt::join(row.traits.words, ", "))].push_back(&row);
    all.push_back(&row);
  }
  std::vector<IntervalScore> scores;
  if (!all.empty()) scores.push_back(score_of("all runs", all));
  for (const auto& [family, rows] : families) scores.push_back(score_of(family, rows));
  return scores;
}

}  // namespace

RowSetting row_setting(const experiment::Job& job, const predict::Prediction& prediction) {
  const plan::Strategy& strategy = job.strategy();
  const std::vector<core::Picoseconds>& stages = prediction.causes.stages;
  const double sum = std::accumulate(stages.begin(), stages.end(), 0.0, [](double so_far, core::Picoseconds time) {
    return so_far + core::to_seconds(time);
  });
  RowSetting setting{.model = job.experiment().name,
                     .gpus = job.gpus(),
                     .micro_batch = strategy.micro_batch,
                     .tensor = strategy.tensor,
                     .pipeline = strategy.pipeline,
                     .span = span_of(strategy, job.machine().network.gpus_per_node)};
  if (sum > 0.0)
    setting.imbalance =
        core::to_seconds(*std::max_element(stages.begin(), stages.end())) * static_cast<double>(stages.size()) / sum;
  return setting;
}

void judge(Report& report) {
  std::vector<Residual> times, memories;
  std::vector<ValidatedRow*> timed;
  for (ValidatedRow& row : report.rows) {
    if (row.measured_s && row.error) {
      times.push_back(residual(row, *row.measured_s, row.predicted_s, !row.doubt.empty()));
      timed.push_back(&row);
    }
    if (row.measured_bytes && row.memory_error)
      memories.push_back(residual(row, *row.measured_bytes, row.predicted_bytes, row.memory_doubted));
  }
  report.intervals = interval_table(times, memories);
  const std::vector<std::optional<LeftOut>> left_out = left_out_times(times);
  for (std::size_t i = 0; i < timed.size(); ++i) timed[i]->left_out = left_out[i];
  for (FamilyResult& family : report.families) judge_family(report, family);
  report.scores = interval_scores(report);
}

}  // namespace cairn::validation
