// Exact integer arithmetic: 64-bit operations that throw core::OutOfRange, divisions that round down, sums of rounded
// lines.
#pragma once

#include <cstdint>
#include <limits>

#include "cairn/core/assert.h"
#include "cairn/core/out_of_range.h"

namespace cairn::loopnest {

// Wide enough for the product of any two 64-bit values.
__extension__ typedef __int128 Wide;

inline std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) core::raise_uncountable();
  return sum;
}

inline std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) core::raise_uncountable();
  return product;
}

inline std::int64_t narrow(Wide value) {
  if (value > std::numeric_limits<std::int64_t>::max() || value < std::numeric_limits<std::int64_t>::min())
    core::raise_uncountable();
  return static_cast<std::int64_t>(value);
}

// floor(a / b), b > 0
inline Wide floor_div(Wide a, Wide b) {
  if (b == 1) return a;
  const Wide quotient = a / b;
  return quotient * b > a ? quotient - 1 : quotient;
}

// ceil(a / b), b > 0
inline Wide ceil_div(Wide a, Wide b) { return -floor_div(-a, b); }

// sum over i in [0, count) of floor((slope * i + intercept) / divisor), divisor > 0, in O(log divisor) steps.
Wide floor_sum(std::int64_t count, Wide slope, Wide intercept, Wide divisor);

}  // namespace cairn::loopnest
