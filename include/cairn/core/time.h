// Simulated time: int64 picoseconds. One rounding, at pricing; everything after it is exact integer arithmetic,
// so that the analytical and the event evaluation of one Program agree bit for bit.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace cairn::core {

using Picoseconds = std::int64_t;

// The neutral element of max: "never constrained". Far enough from the limits that adding a duration cannot wrap.
inline constexpr Picoseconds k_never = std::numeric_limits<Picoseconds>::min() / 4;
inline constexpr double k_picoseconds_per_second = 1e12;

// Rounds half away from zero. Valid: |seconds| < 2.3e6 (26 days), finite.
inline Picoseconds to_picoseconds(double seconds) {
  return static_cast<Picoseconds>(std::llround(seconds * k_picoseconds_per_second));
}
inline double to_seconds(Picoseconds time) { return static_cast<double>(time) / k_picoseconds_per_second; }

}  // namespace cairn::core
