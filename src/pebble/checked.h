// Products and sums of sizes that refuse to overflow.
#pragma once

#include <initializer_list>
#include <string>

#include "cairn/core/diagnostics.h"
#include "cairn/pebble/cdag.h"

namespace cairn::pebble {

inline constexpr Words k_max_words = Words{1} << 61;

// Errors (core::ConfigurationError): a factor below 1, a product beyond 2^61.
inline Words product(std::initializer_list<Words> factors) {
  Words result = 1;
  for (Words factor : factors) {
    if (factor < 1)
      throw core::ConfigurationError("size", "a size of " + std::to_string(factor), "sizes are at least 1");
    if (result > k_max_words / factor)
      throw core::ConfigurationError("size", "the sizes multiply beyond 2^61", "use smaller sizes");
    result *= factor;
  }
  return result;
}

inline Words ceil_div(Words a, Words b) { return a / b + (a % b > 0 ? 1 : 0); }

}  // namespace cairn::pebble
