#include "cairn/numerics/format.h"

#include <array>
#include <string>
#include <vector>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "cairn/numerics/format_names.h"

namespace cairn::numerics {
namespace {

struct Entry {
  Format format;
  std::string_view name;
  double bits;
  bool floating = true;
};

constexpr std::array k_formats{
    Entry{Format::fp64, "fp64", 64},
    Entry{Format::fp32, "fp32", 32},
    Entry{Format::tf32, "tf32", 32},
    Entry{Format::bf16, "bf16", 16},
    Entry{Format::fp16, "fp16", 16},
    Entry{Format::fp8_e4m3, "fp8_e4m3", 8},
    Entry{Format::fp8_e5m2, "fp8_e5m2", 8},
    Entry{Format::fp8_block, "fp8_block", 8.25},
    Entry{Format::mxfp8, "mxfp8", 8.25},
    Entry{Format::nvfp4, "nvfp4", 4.5},
    Entry{Format::int64, "int64", 64, false},
    Entry{Format::int32, "int32", 32, false},
    Entry{Format::int8, "int8", 8, false},
    Entry{Format::int8_b256, "int8_b256", 8.125, false},
    Entry{Format::int8_b2048, "int8_b2048", 8.015625, false},
    Entry{Format::mask, "mask", 8, false},
    Entry{Format::fp8_block_2d, "fp8_block_2d", 8.0 + 32.0 / (128.0 * 128.0)},
};

const Entry& entry(Format format) {
  for (const Entry& e : k_formats)
    if (e.format == format) return e;
  CAIRN_ASSERT(!"format listed");
  return k_formats.front();
}

}  // namespace

double bits_per_element(Format format) { return entry(format).bits; }
double element_bits(Format format) {
  switch (format) {
    case Format::fp8_block:
    case Format::fp8_block_2d:
    case Format::mxfp8:
      return 8.0;
    case Format::nvfp4:
      return 4.0;
    default:
      return bits_per_element(format);
  }
}

std::string_view name(Format format) { return entry(format).name; }

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Entry& e : k_formats) names.emplace_back(e.name);
  return names;
}

std::vector<std::string> floating_format_names() {
  std::vector<std::string> names;
  for (const Entry& e : k_formats)
    if (e.floating) names.emplace_back(e.name);
  return names;
}

Format parse_format(std::string_view text) {
  for (const Entry& e : k_formats)
    if (e.name == text) return e.format;
  const std::string near = core::nearest(std::string(text), format_names());
  throw core::ConfigurationError(
      "format", "unknown number format '" + std::string(text) + "'",
      near.empty() ? "known: fp32 tf32 bf16 fp16 fp8_e4m3 fp8_e5m2 mxfp8 nvfp4" : "did you mean '" + near + "'?");
}

}  // namespace cairn::numerics
