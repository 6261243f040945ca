#include "cairn/validation/statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "cairn/core/assert.h"

namespace cairn::validation {
namespace {

constexpr double k_ninety_percent = 0.9;

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// 1 for the smallest; equal values share the mean of the places they take.
std::vector<double> ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first + 1;
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    const double shared = static_cast<double>(first + 1 + last) / 2.0;
    for (; first < last; ++first) result[order[first]] = shared;
  }
  return result;
}

}  // namespace

std::optional<ErrorSummary> summarize(std::span<const double> errors) {
  if (errors.empty()) return std::nullopt;
  std::vector<double> absolute(errors.size());
  std::transform(errors.begin(), errors.end(), absolute.begin(), [](double error) { return std::abs(error); });
  return ErrorSummary{.mape = mean(absolute),
                      .median = quantile(absolute, 0.5),
                      .p90 = quantile(absolute, k_ninety_percent),
                      .max = *std::max_element(absolute.begin(), absolute.end()),
                      .bias = mean(errors)};
}

std::optional<double> spearman(std::span<const double> x, std::span<const double> y) {
  CAIRN_ASSERT(x.size() == y.size());
  if (x.size() < 2) return std::nullopt;
  const std::vector<double> rank_x = ranks(x);
  const std::vector<double> rank_y = ranks(y);
  const double middle = static_cast<double>(x.size() + 1) / 2.0;
  double xy = 0.0;
  double xx = 0.0;
  double yy = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (rank_x[i] - middle) * (rank_y[i] - middle);
    xx += (rank_x[i] - middle) * (rank_x[i] - middle);
    yy += (rank_y[i] - middle) * (rank_y[i] - middle);
  }
  if (xx == 0.0 || yy == 0.0) return std::nullopt;
  return xy / std::sqrt(xx * yy);
}

double binomial_chance(std::int64_t successes, std::int64_t trials, double share) {
  CAIRN_ASSERT(0 <= successes && successes <= trials && share > 0.0 && share < 1.0);
  const auto n = static_cast<double>(trials);
  const auto logarithm = [&](std::int64_t k) {
    const auto x = static_cast<double>(k);
    return std::lgamma(n + 1.0) - std::lgamma(x + 1.0) - std::lgamma(n - x + 1.0) + x * std::log(share) +
           (n - x) * std::log1p(-share);
  };
  constexpr double k_alike = 1e-7;  // of two numbers that are equally likely
  const double seen = logarithm(successes) + k_alike;
  double chance = 0.0;
  for (std::int64_t k = 0; k <= trials; ++k)
    if (const double each = logarithm(k); each <= seen) chance += std::exp(each);
  return std::min(1.0, chance);
}

std::optional<ConstantRate> best_constant_rate(std::span<const double> achieved) {
  if (achieved.empty()) return std::nullopt;
  // Ascending 1 / a is descending a; the weighted median is where half the weight has been passed.
  std::vector<double> sorted(achieved.begin(), achieved.end());
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const double half = std::accumulate(sorted.begin(), sorted.end(), 0.0) / 2.0;
  double passed = 0.0;
  ConstantRate best{.rate = sorted.back(), .mape = 0.0};
  for (const double rate : sorted) {
    passed += rate;
    if (passed < half) continue;
    best.rate = rate;
    break;
  }
  for (const double rate : sorted) best.mape += std::abs(rate / best.rate - 1.0);
  best.mape /= static_cast<double>(sorted.size());
  return best;
}

}  // namespace cairn::validation
