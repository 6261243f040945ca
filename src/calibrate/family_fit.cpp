#include "family_fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "cairn/core/assert.h"
#include "cairn/core/quantile.h"

namespace cairn::calibrate {
namespace {

constexpr double k_ten_percent = 0.1;
constexpr double k_ninety_percent = 0.9;
constexpr std::size_t k_rows_per_parameter = 1;  // a fit without a group needs at least so many
constexpr double k_score_digits = 1e4;           // scores are written to 0.01 %

double score(double x) { return std::round(x * k_score_digits) / k_score_digits; }

std::vector<double> fitted(const FamilyProblem& problem, const std::vector<std::size_t>& rows,
                           std::vector<bool>* at_bound) {
  FitProblem fit{.parameters = problem.parameters, .rows = rows.size()};
  fit.residuals = [&](std::span<const double> values, std::span<double> residuals) {
    problem.price(values, rows, residuals);
    for (std::size_t i = 0; i < rows.size(); ++i) residuals[i] = std::log(residuals[i] / problem.measured_s[rows[i]]);
  };
  FitResult result = robust_fit(fit);
  if (at_bound != nullptr) *at_bound = result.at_bound;
  return std::move(result.values);
}

// predicted / measured - 1
void append_errors(const FamilyProblem& problem, const std::vector<double>& values,
                   const std::vector<std::size_t>& rows, std::vector<double>& errors) {
  std::vector<double> seconds(rows.size());
  problem.price(values, rows, seconds);
  for (std::size_t i = 0; i < rows.size(); ++i) errors.push_back(seconds[i] / problem.measured_s[rows[i]] - 1.0);
}

cost::FitScores scores(const std::vector<double>& errors) {
  std::vector<double> absolute(errors.size());
  std::transform(errors.begin(), errors.end(), absolute.begin(), [](double e) { return std::abs(e); });
  return {.median = score(core::quantile(absolute, 0.5)),
          .p90 = score(core::quantile(absolute, k_ninety_percent)),
          .bias = score(core::quantile(errors, 0.5))};
}

std::vector<double> left_out_errors(const FamilyProblem& problem) {
  std::vector<double> errors;
  for (const std::vector<int>& groups : problem.groupings) {
    CAIRN_ASSERT(groups.size() == problem.measured_s.size());
    for (const int left_out : std::set<int>(groups.begin(), groups.end())) {
      std::vector<std::size_t> seen, unseen;
      for (std::size_t i = 0; i < groups.size(); ++i) (groups[i] == left_out ? unseen : seen).push_back(i);
      if (seen.size() < k_rows_per_parameter * problem.parameters.size()) continue;
      append_errors(problem, fitted(problem, seen, nullptr), unseen, errors);
    }
  }
  return errors;
}

}  // namespace

FamilyFit fit_family(const FamilyProblem& problem) {
  std::vector<std::size_t> all(problem.measured_s.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  FamilyFit result;
  std::vector<bool> at_bound;
  result.values = fitted(problem, all, &at_bound);
  for (double& value : result.values) value = rounded(value);
  for (std::size_t j = 0; j < at_bound.size(); ++j) {
    if (at_bound[j]) result.at_bound.push_back(problem.parameters[j].name);
  }

  std::vector<double> errors;
  append_errors(problem, result.values, all, errors);
  result.record.rows = static_cast<std::int64_t>(all.size());
  result.record.in_sample = scores(errors);
  result.left_out_errors = left_out_errors(problem);
  if (!result.left_out_errors.empty()) {
    result.record.left_out = scores(result.left_out_errors);
    result.record.left_out_by = problem.grouped_by;
    errors = result.left_out_errors;
  }
  std::transform(errors.begin(), errors.end(), errors.begin(), [](double e) { return 1.0 / (1.0 + e) - 1.0; });
  result.record.residual_p10 = score(core::quantile(errors, k_ten_percent));
  result.record.residual_p50 = score(core::quantile(errors, 0.5));
  result.record.residual_p90 = score(core::quantile(errors, k_ninety_percent));
  return result;
}

int decade(double x) { return static_cast<int>(std::floor(std::log10(x) + 1e-12)); }
int octave(double x) { return static_cast<int>(std::floor(std::log2(x) + 1e-12)); }

double rounded(double value) {
  if (value == 0.0 || !std::isfinite(value)) return value;
  return std::stod(fmt::format("{:.4g}", value));
}

void widen(std::vector<std::pair<std::string, cost::MeasuredRange>>& ranges, const std::string& name, double x) {
  const auto found = std::find_if(ranges.begin(), ranges.end(), [&](const auto& each) { return each.first == name; });
  if (found == ranges.end()) {
    ranges.emplace_back(name, cost::MeasuredRange{x, x});
    return;
  }
  found->second.least = std::min(found->second.least, x);
  found->second.largest = std::max(found->second.largest, x);
}

}  // namespace cairn::calibrate
