#include "statistics.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace cairn::probe {

namespace {

double quantile_of_sorted(const std::vector<double>& sorted, double q) {
  const double h = q * static_cast<double>(sorted.size() - 1);
  const auto i = static_cast<std::size_t>(std::floor(h));
  if (i + 1 >= sorted.size()) return sorted.back();
  return sorted[i] + (h - static_cast<double>(i)) * (sorted[i + 1] - sorted[i]);
}

}  // namespace

double quantile(std::vector<double> samples, double q) {
  if (samples.empty()) throw std::invalid_argument("a quantile of no samples");
  std::sort(samples.begin(), samples.end());
  return quantile_of_sorted(samples, q);
}

Summary summarise(const std::vector<double>& samples) {
  return {.median = quantile(samples, 0.5),
          .p10 = quantile(samples, 0.1),
          .p90 = quantile(samples, 0.9),
          .n = static_cast<int>(samples.size())};
}

}  // namespace cairn::probe
