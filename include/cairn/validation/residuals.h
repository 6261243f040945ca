// From measured runs beside their predictions to the table of intervals that the project ships (experiment/interval.h).
//
//   ratio_i   measured / predicted of row i
//   quantile  at level p < 0.5 the floor((n + 1) p)-th smallest of n, at p > 0.5 the ceil((n + 1) p)-th: of ten draws of
//             one distribution, eight lie between those at 0.1 and 0.9, whatever it is (split conformal prediction)
//   all runs  rows weighed so that each framework on each architecture weighs the same; the p-quantile is where p of the
//             weight is reached
//   growth    slope of ln ratio over log2 GPUs inside each framework on each architecture; of their sizes the one that
//             four in five stay below
//
// Nothing is fitted to a row, so that a row is left out by leaving it, and all that were measured of its model, out of
// the table that judges it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cairn/experiment/interval.h"

namespace cairn::validation {

struct Residual {
  std::string table;  // that the row is of
  std::string model;
  experiment::RunTraits traits;
  double measured = 0.0;
  double predicted = 0.0;
  bool set_aside = false;  // believed mis-stated: judged by nothing, judges nothing
  double ratio() const { return measured / predicted; }
};

// The quantiles of `ratios`; empty of fewer than experiment::k_least_rows.
std::vector<double> conformal_quantiles(std::vector<double> ratios);

// A run that two tables have, the same measurement of as many GPUs, counts once.
experiment::IntervalTable interval_table(std::span<const Residual> times, std::span<const Residual> memories);

// What intervals from the other rows say of one that is left out.
struct LeftOut {
  bool covered = false;
  double width = 0.0;  // high - low, of the predicted
};
// One for each time; empty for those set aside and those that no other row says anything about. Rows leave with their
// model, wherever it was measured by the framework; where a framework on an architecture has one model, with those of its
// GPUs.
std::vector<std::optional<LeftOut>> left_out_times(std::span<const Residual> times);

// Least-squares slope of `values` over log2 of `gpus`; empty where all run on as many.
std::optional<double> slope_per_doubling(std::span<const double> values, std::span<const std::int64_t> gpus);

// configs/intervals.yaml, ratios to four digits.
std::string intervals_yaml(const experiment::IntervalTable& table);

}  // namespace cairn::validation
