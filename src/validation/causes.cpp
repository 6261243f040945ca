#include "cairn/validation/causes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "cairn/validation/statistics.h"

namespace cairn::validation {
namespace {

// Numbers in their order, words in that of the alphabet.
struct GroupKey {
  double number = 0.0;
  std::string text;
  friend auto operator<=>(const GroupKey&, const GroupKey&) = default;
};

GroupKey numbered(std::int64_t value) { return {.number = static_cast<double>(value), .text = std::to_string(value)}; }

GroupKey imbalance_of(const RowSetting& setting) {
  constexpr double k_even = 1.02, k_uneven = 1.1;
  if (setting.pipeline == 1) return {.number = 0.0, .text = "one stage"};
  if (setting.imbalance < k_even) return {.number = 1.0, .text = "even"};
  if (setting.imbalance < k_uneven) return {.number = 2.0, .text = "up to 1.1"};
  return {.number = 3.0, .text = "beyond 1.1"};
}

struct Feature {
  const char* name;
  std::function<GroupKey(const RowSetting&)> key;
};

const std::vector<Feature>& features() {
  static const std::vector<Feature> k_all{
      {"micro_batch", [](const RowSetting& of) { return numbered(of.micro_batch); }},
      {"tp", [](const RowSetting& of) { return numbered(of.tensor); }},
      {"pp", [](const RowSetting& of) { return numbered(of.pipeline); }},
      {"span", [](const RowSetting& of) { return GroupKey{.number = 0.0, .text = of.span}; }},
      {"imbalance", imbalance_of},
      {"gpus", [](const RowSetting& of) { return numbered(of.gpus); }}};
  return k_all;
}

double deviation(const std::vector<double>& errors) {
  const double median = quantile(errors, 0.5);
  double sum = 0.0;
  for (const double error : errors) sum += std::abs(error - median);
  return sum;
}

std::optional<ResidualCause> cause(std::span<const JudgedRow> rows, const Feature& feature, double whole) {
  std::map<GroupKey, std::vector<double>> groups;
  for (const JudgedRow& row : rows) groups[feature.key(row.setting)].push_back(row.error());
  if (groups.size() < 2 || groups.size() * k_rows_of_group > rows.size()) return std::nullopt;
  ResidualCause result{.setting = feature.name, .explained = 0.0, .groups = {}};
  double inside = 0.0;
  for (const auto& [key, errors] : groups) {
    inside += deviation(errors);
    result.groups.push_back(
        {.value = key.text, .rows = static_cast<std::int64_t>(errors.size()), .median = quantile(errors, 0.5)});
  }
  result.explained = whole > 0.0 ? 1.0 - inside / whole : 0.0;
  return result;
}

}  // namespace

std::vector<ResidualCause> residual_causes(std::span<const JudgedRow> rows) {
  std::vector<ResidualCause> causes;
  if (rows.empty()) return causes;
  std::vector<double> errors;
  for (const JudgedRow& row : rows) errors.push_back(row.error());
  const double whole = deviation(errors);
  for (const Feature& feature : features())
    if (auto found = cause(rows, feature, whole)) causes.push_back(*std::move(found));
  std::stable_sort(causes.begin(), causes.end(),
                   [](const ResidualCause& a, const ResidualCause& b) { return a.explained > b.explained; });
  return causes;
}

std::optional<NextError> left_out_error(std::span<const JudgedRow> rows) {
  std::set<std::string> models;
  for (const JudgedRow& row : rows) models.insert(row.setting.model);
  const bool by_model = models.size() > 1;
  const auto key = [&](const JudgedRow& row) {
    return by_model ? row.setting.model : std::to_string(row.setting.gpus);
  };
  std::set<std::string> groups;
  for (const JudgedRow& row : rows) groups.insert(key(row));
  if (groups.size() < 2) return std::nullopt;
  double sum = 0.0;
  for (const std::string& group : groups) {
    // The best factor of the others is 1 / the best constant rate of predicted / measured.
    std::vector<double> others;
    for (const JudgedRow& row : rows)
      if (key(row) != group) others.push_back(row.predicted / row.measured);
    const double rate = best_constant_rate(others)->rate;
    for (const JudgedRow& row : rows)
      if (key(row) == group) sum += std::abs(row.predicted / rate / row.measured - 1.0);
  }
  return NextError{.by = by_model ? "model" : "gpus", .mape = sum / static_cast<double>(rows.size())};
}

}  // namespace cairn::validation
