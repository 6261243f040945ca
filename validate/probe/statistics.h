// What is kept of the samples of one row.
//
//   quantile(q) of sorted x[0..n-1] = x[i] + (h - i) (x[i+1] - x[i]),  h = q (n - 1),  i = floor(h)
#pragma once

#include <vector>

namespace cairn::probe {

struct Summary {
  double median = 0;  // [s]
  double p10 = 0;     // [s]
  double p90 = 0;     // [s]
  int n = 0;
};

// The quantile of a non-empty set of samples in any order, 0 <= q <= 1.
double quantile(std::vector<double> samples, double q);

Summary summarise(const std::vector<double>& samples);

}  // namespace cairn::probe
