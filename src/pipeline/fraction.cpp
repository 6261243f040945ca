#include "cairn/pipeline/fraction.h"

#include <charconv>
#include <numeric>
#include <optional>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"

namespace cairn::pipeline {
namespace {

constexpr std::size_t k_most_digits = 9;  // products of two such numbers still fit

std::optional<std::int64_t> digits(std::string_view text) {
  std::int64_t value = 0;
  if (text.empty() || text.size() > k_most_digits) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<Fraction> decimal(std::string_view text) {
  const std::size_t point = text.find('.');
  const std::optional<std::int64_t> whole = point == 0 ? 0 : digits(text.substr(0, point));
  if (point == std::string_view::npos || !whole) return whole ? std::optional(fraction(*whole, 1)) : std::nullopt;
  const std::optional<std::int64_t> part = digits(text.substr(point + 1));
  if (!part) return std::nullopt;
  constexpr std::int64_t k_ten = 10;
  std::int64_t scale = 1;
  for (std::size_t i = point + 1; i < text.size(); ++i) scale *= k_ten;
  return fraction(*whole * scale + *part, scale);
}

}  // namespace

Fraction fraction(std::int64_t numerator, std::int64_t denominator) {
  CAIRN_ASSERT(denominator > 0);
  const std::int64_t common = std::gcd(numerator, denominator);
  return {.numerator = numerator / common, .denominator = denominator / common};
}

Fraction parse_fraction(std::string_view text, const std::string& key) {
  const std::size_t slash = text.find('/');
  std::optional<Fraction> value;
  if (slash == std::string_view::npos) {
    value = decimal(text);
  } else {
    const std::optional<std::int64_t> above = digits(text.substr(0, slash));
    const std::optional<std::int64_t> below = digits(text.substr(slash + 1));
    if (above && below && *below > 0) value = fraction(*above, *below);
  }
  if (value) return *value;
  throw core::ConfigurationError(key, "'" + std::string(text) + "' is no time that can be counted exactly",
                                 "write it as 3, 0.25 or 2/3, not negative, with at most nine digits on either side");
}

std::string to_string(const Fraction& fraction) {
  return std::to_string(fraction.numerator) +
         (fraction.denominator == 1 ? std::string() : "/" + std::to_string(fraction.denominator));
}

}  // namespace cairn::pipeline
