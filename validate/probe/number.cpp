#include "number.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace cairn::probe {

namespace {

struct Layout {
  int exponent_bits;
  int mantissa_bits;
  bool infinity;  // the largest exponent holds infinity and NaN only
};

Layout layout(Type type) {
  switch (type) {
    case Type::bf16:
      return {8, 7, true};
    case Type::fp16:
      return {5, 10, true};
    case Type::fp8_e4m3:
      return {4, 3, false};
    default:
      return {8, 23, true};
  }
}

double decode_bits(Layout layout, std::uint32_t bits) {
  const std::uint32_t mantissa_mask = (1U << layout.mantissa_bits) - 1;
  const std::uint32_t exponent_mask = (1U << layout.exponent_bits) - 1;
  const std::uint32_t mantissa = bits & mantissa_mask;
  const std::uint32_t exponent = (bits >> layout.mantissa_bits) & exponent_mask;
  const bool negative = (bits >> (layout.mantissa_bits + layout.exponent_bits)) & 1U;
  const int bias = static_cast<int>(exponent_mask >> 1);
  double value = 0;
  if (exponent == exponent_mask && layout.infinity) {
    value = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == exponent_mask && mantissa == mantissa_mask) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    const bool normal = exponent != 0;
    const double significand = std::ldexp(mantissa, -layout.mantissa_bits) + (normal ? 1.0 : 0.0);
    value = std::ldexp(significand, (normal ? static_cast<int>(exponent) : 1) - bias);
  }
  return negative ? -value : value;
}

}  // namespace

std::string_view name(Type type) {
  switch (type) {
    case Type::none:
      return "none";
    case Type::byte:
      return "byte";
    case Type::fp32:
      return "fp32";
    case Type::bf16:
      return "bf16";
    case Type::fp16:
      return "fp16";
    case Type::fp8_e4m3:
      return "fp8_e4m3";
  }
  return "none";
}

std::int64_t size_of(Type type) {
  switch (type) {
    case Type::none:
      return 0;
    case Type::byte:
    case Type::fp8_e4m3:
      return 1;
    case Type::bf16:
    case Type::fp16:
      return 2;
    case Type::fp32:
      return 4;
  }
  return 0;
}

double decode(Type type, const void* bits) {
  std::uint32_t word = 0;  // little-endian, as every host of a CUDA device
  std::memcpy(&word, bits, static_cast<std::size_t>(size_of(type)));
  if (type == Type::none || type == Type::byte) return word;
  return decode_bits(layout(type), word);
}

double unit_roundoff(Type type) {
  if (type == Type::none || type == Type::byte) return 0;
  return std::ldexp(1.0, -layout(type).mantissa_bits - 1);
}

}  // namespace cairn::probe
