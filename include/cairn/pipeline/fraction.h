// Exact fractions, for times that are written as such: 1, 0.5, 2/3.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cairn::pipeline {

struct Fraction {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;  // > 0, no common divisor with the numerator
  double value() const { return static_cast<double>(numerator) / static_cast<double>(denominator); }
  friend bool operator==(const Fraction&, const Fraction&) = default;
};

// In lowest terms. denominator > 0.
Fraction fraction(std::int64_t numerator, std::int64_t denominator);

// "3", "0.25" or "2/3", not negative, at most nine digits before and after the point. Throws core::ConfigurationError
// about `key`.
Fraction parse_fraction(std::string_view text, const std::string& key);

// "27" or "53/2".
std::string to_string(const Fraction& fraction);

}  // namespace cairn::pipeline
