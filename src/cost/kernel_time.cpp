#include "cairn/cost/kernel_time.h"

#include <algorithm>
#include <cmath>

namespace cairn::cost {
namespace {
// Time constant of the droop: fixed over all accelerators in the fit of the public GEMM and attention samples.
constexpr double k_droop_time_s = 10e-3;
}  // namespace

double p_norm(double a, double b, double p) {
  const double high = std::max(a, b);
  const double low = std::min(a, b);
  if (low <= 0.0) return high;
  return high * std::pow(1.0 + std::pow(low / high, p), 1.0 / p);
}

double droop_time(double busy_s, double droop, double sustained, double weight) {
  const double slowdown = std::max(droop * busy_s / (busy_s + k_droop_time_s), 1.0 / sustained - 1.0);
  return busy_s * slowdown * weight * weight;
}

}  // namespace cairn::cost
