// Simulated time: int64 picoseconds. One rounding, at pricing; everything after it is exact integer arithmetic,
// so that the analytical and the event evaluation of one Program agree bit for bit.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "cairn/core/out_of_range.h"

namespace cairn::core {

using Picoseconds = std::int64_t;

// The neutral element of max: "never constrained". Far enough from the limits that adding a duration cannot wrap.
inline constexpr Picoseconds k_never = std::numeric_limits<Picoseconds>::min() / 4;
inline constexpr double k_picoseconds_per_second = 1e12;

// What simulated time reaches, 2.3e6 s or 26 days. Sums up to it can be added to k_never, and to one another three
// times over, without a wrap.
inline constexpr Picoseconds k_reach = -k_never;
std::string reach_text();  // as messages say it

// Rounds half away from zero. Throws OutOfRange unless |seconds| is below what simulated time reaches.
inline Picoseconds to_picoseconds(double seconds) {
  const double picoseconds = seconds * k_picoseconds_per_second;
  if (!(std::abs(picoseconds) < static_cast<double>(k_reach))) raise_beyond_reach(seconds);
  return static_cast<Picoseconds>(std::llround(picoseconds));
}
inline double to_seconds(Picoseconds time) { return static_cast<double>(time) / k_picoseconds_per_second; }

}  // namespace cairn::core
