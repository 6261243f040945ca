// A robust fit with its scores in sample and left out.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cairn/calibrate/robust_fit.h"
#include "cairn/cost/fit_record.h"

namespace cairn::calibrate {

struct FamilyProblem {
  std::vector<FitParameter> parameters = {};
  std::vector<double> measured_s = {};
  // Predicted seconds of the rows named, in their order, under `values`.
  std::function<void(std::span<const double> values, std::span<const std::size_t> rows, std::span<double> seconds)>
      price = {};
  // Ways of grouping the rows; in each, every row's group.
  std::vector<std::vector<int>> groupings = {};
  std::string grouped_by = {};
};

struct FamilyFit {
  std::vector<double> values = {};  // to four digits, as they are written
  std::vector<std::string> at_bound = {};
  cost::FitRecord record = {};  // without ranges
  std::vector<double> left_out_errors = {};
};

FamilyFit fit_family(const FamilyProblem& problem);

// floor(log10 x), floor(log2 x): the groups that are left out. x >= 1.
int decade(double x);
int octave(double x);

// To four significant digits.
double rounded(double value);

// Widens the range of `name` to hold x.
void widen(std::vector<std::pair<std::string, cost::MeasuredRange>>& ranges, const std::string& name, double x);

}  // namespace cairn::calibrate
