#include "cairn/cost/clock.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <boost/math/distributions/normal.hpp>

#include "cairn/core/assert.h"

namespace cairn::cost {

SharedClock::SharedClock(const PowerLaw& power)
    : memory_share_((power.limit_w - power.memory_w) / (power.limit_w - power.idle_w)) {
  CAIRN_ASSERT(power.limit_w > 2.0 * power.idle_w && power.memory_w >= power.idle_w && power.memory_w <= power.limit_w);
}

void SharedClock::add(const KernelTime& time) {
  const FollowsClock& core = time.follows;
  const double waits_s = time.total_s - time.launch_s - time.droop_s - core.seconds - core.slack_s;
  r_ += memory_share_ * waits_s + time.launch_s;
  if (!(core.seconds > 0.0)) return;
  a_ += core.seconds * core.alone * core.alone / core.clock_hz;
  b_ += core.seconds * core.clock_hz;
}

double SharedClock::solve() const {
  if (!(a_ > 0.0)) return std::numeric_limits<double>::infinity();
  return (r_ + std::sqrt(r_ * r_ + 4.0 * a_ * b_)) / (2.0 * a_);
}

double time_at(const KernelTime& time, double clock_hz) {
  const FollowsClock& core = time.follows;
  const double slower = std::max(1.0, core.clock_hz / clock_hz);
  return time.total_s - time.droop_s + std::max(0.0, core.seconds * (slower - 1.0) - core.slack_s);
}

double slowest(const PowerLaw& power, std::int64_t ranks) {
  CAIRN_ASSERT(ranks >= 1);
  const auto n = static_cast<double>(ranks);
  // Blom, 1958: the mean of the largest of n is near the quantile of (n - 3/8)/(n + 1/4).
  constexpr double k_below = 0.375, k_above = 0.25;
  return 1.0 + power.spread * boost::math::quantile(boost::math::normal(), (n - k_below) / (n + k_above));
}

}  // namespace cairn::cost
