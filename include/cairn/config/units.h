// Quantities as people write them: a number, an optional space, a unit. "400 Gb/s", "80 GiB", "3.5us", "989 TFLOP/s".
// Prefixes: m u n p (and the micro sign), k M G T P E decimal, Ki Mi Gi Ti Pi binary. b = bit, B = byte = 8 b.
// Gbps = Gb/s, GBps = GB/s, TFLOPS = TFLOP/s, min = 60 s, h = 3600 s, d = 86,400 s.
// A number is rounded once: "2.039 TB/s" is the double nearest to 2.039e12.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cairn/core/quantity.h"

namespace cairn::config {

enum class Dimension : std::uint8_t {
  bytes,
  flops,
  seconds,
  bytes_per_second,
  flops_per_second,
  hertz,
  watts,
  dollars,
  tokens
};

template <class Q>
inline constexpr bool k_has_dimension = false;
template <class Q>
inline constexpr Dimension k_dimension_of = Dimension::bytes;
#define CAIRN_DIMENSION(type, dimension)                    \
  template <>                                               \
  inline constexpr bool k_has_dimension<core::type> = true; \
  template <>                                               \
  inline constexpr Dimension k_dimension_of<core::type> = Dimension::dimension
CAIRN_DIMENSION(Bytes, bytes);
CAIRN_DIMENSION(Flops, flops);
CAIRN_DIMENSION(Seconds, seconds);
CAIRN_DIMENSION(BytesPerSecond, bytes_per_second);
CAIRN_DIMENSION(FlopsPerSecond, flops_per_second);
CAIRN_DIMENSION(Hertz, hertz);
CAIRN_DIMENSION(Watts, watts);
CAIRN_DIMENSION(Dollars, dollars);
#undef CAIRN_DIMENSION

// "a bandwidth", "an amount of data", ...
std::string_view describe_dimension(Dimension dimension);
// "'450 GB/s' or '400 Gb/s'"
std::string_view examples_of(Dimension dimension);

// The outcome of reading one quantity: the value in base units, or what is wrong and how to put it right.
struct ParsedQuantity {
  std::optional<double> base = {};
  std::string message = {};
  std::string hint = {};
};

// Never throws. Any finite sign is accepted; ranges are the field's business.
ParsedQuantity parse_quantity(std::string_view text, Dimension dimension);

// The same for a value that belongs to no file (a command-line option named `what`): throws core::ConfigurationError.
double require_quantity(std::string_view text, Dimension dimension, std::string_view what);
template <class Q>
Q require_quantity(std::string_view text, std::string_view what) {
  static_assert(k_has_dimension<Q>);
  return Q::from_base(require_quantity(text, k_dimension_of<Q>, what));
}

// A short text that parse_quantity reads back as exactly `base`: 5e10 byte/s = "50 GB/s", 85899345920 byte = "80 GiB".
// Of all prefixes the one with the fewest digits, numbers in [1, 1000) preferred.
std::string exact_text(double base, Dimension dimension);

// A decimal number as in JSON, also with a leading '+' or '.': no leading zeros, no hexadecimal, no nan or inf.
// Empty when `text` is not one or does not fit a double.
std::optional<double> parse_number(std::string_view text);
// Digits alone, with a leading '-' or without. Empty when `text` is not that or does not fit.
std::optional<std::int64_t> parse_whole(std::string_view text);

}  // namespace cairn::config
