// Scores of predictions against measurements. Errors are relative: predicted / measured - 1.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "cairn/core/quantile.h"

namespace cairn::validation {

// Summary over rows; absolute errors except bias. All as fractions: 0.05 = 5 %.
struct ErrorSummary {
  double mape = 0.0;  // mean absolute error
  double median = 0.0;
  double p90 = 0.0;
  double max = 0.0;
  double bias = 0.0;  // mean signed error
};

// Empty without errors.
std::optional<ErrorSummary> summarize(std::span<const double> errors);

using core::quantile;

// Spearman's rank correlation: Pearson's over ranks, tied values sharing the mean of theirs. Empty where it is not
// defined: fewer than two pairs, or all values of one side equal.
std::optional<double> spearman(std::span<const double> x, std::span<const double> y);

// The chance that of `trials` independent ones, each a success with `share`, a number comes about that is no likelier
// than `successes`: the exact two-sided binomial test. Valid: 0 < share < 1.
double binomial_chance(std::int64_t successes, std::int64_t trials, double share);

struct ConstantRate {
  double rate = 0.0;  // FLOP/s per device
  double mape = 0.0;
};
// The best prediction that knows the work of every row and nothing else: time = work / (rate x devices), with the rate
// that minimises the mean absolute error over these very rows. With a_i = work / (devices x measured time), the
// achieved rate, the error of row i is |a_i / rate - 1|, so 1 / rate is the median of the 1 / a_i weighted by a_i:
// exact, no search. Empty without rows. Valid: achieved rates positive.
std::optional<ConstantRate> best_constant_rate(std::span<const double> achieved);

}  // namespace cairn::validation
