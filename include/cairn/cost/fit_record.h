// How well a fitted set of parameters describes the measurements it comes from, and where it may be trusted.
// Errors are predicted / measured - 1, as fractions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cairn::cost {

struct FitScores {
  double median = 0.0;  // of absolute errors
  double p90 = 0.0;     // of absolute errors
  double bias = 0.0;    // median of signed errors
};

struct MeasuredRange {
  double least = 0.0;
  double largest = 0.0;
};

struct FitRecord {
  std::int64_t rows = 0;
  FitScores in_sample = {};
  // Every row predicted by a fit that saw no row of its family; `by` names the families.
  std::optional<FitScores> left_out = {};
  std::string left_out_by = {};
  // Quantiles of measured / predicted - 1, of the left-out predictions where there are any.
  double residual_p10 = 0.0;
  double residual_p50 = 0.0;
  double residual_p90 = 0.0;
  // What was measured: dimension -> least and largest. A shape outside is extrapolated.
  std::vector<std::pair<std::string, MeasuredRange>> ranges = {};
};

}  // namespace cairn::cost
