#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "cairn/core/assert.h"

namespace cairn::core {

// The q-quantile by linear interpolation between order statistics: position q (n - 1). Valid: values not empty,
// 0 <= q <= 1.
inline double quantile(std::span<const double> values, double q) {
  CAIRN_ASSERT(!values.empty() && q >= 0.0 && q <= 1.0);
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace cairn::core
