// Tables of the numbers of a calibration. All that is to be known of a number besides its formula stands in one row,
// next to its structure. Rows are read by the reader and writer of files and of their schema, by fits (cairn
// calibrate), and by elasticities, which scale what is a time.
//
//   struct KernelLaw { double floor_s = 0.0; double efficiency = 0.0; };
//   inline constexpr auto k_kernel_law_numbers = std::to_array<Number<KernelLaw>>(
//       {{.key = "floor", .member = &KernelLaw::floor_s, .dimension = Dimension::seconds, .rule = {.required = true}},
//        {.key = "efficiency", .member = &KernelLaw::efficiency, .rule = {.required = true, .maximum = 1.0}}});
//
// Files have the order of the rows. A fit takes its free numbers condition by condition (FreeWhen), those of one
// condition in the order of the rows.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "cairn/config/fields.h"

namespace cairn::cost {

using config::Dimension;

inline constexpr double k_us = 1e-6, k_ns = 1e-9;

// When measurements determine a number.
enum class FreeWhen : std::uint8_t {
  never,          // taken from the base
  always,         // by any fit of its structure
  in_calls,       // of kernels timed within their framework's call
  alone,          // of kernels timed by themselves
  quantising,     // of operators that quantise their input within the call
  many_rows,      // few rows do not tell it from the others
  splitting,      // and of products that may split K
  refilling,      // and of kernels that do not stay resident
  protocol_form,  // the two forms of transfers (transfer.h)
  short_form
};

// What start, low and high of a free number are multiplied with: nothing; the rate of the links [B/s]; the square root
// of 450 GB/s over that rate.
enum class RelativeTo : std::uint8_t { nothing, link, root_of_link };

// Where a fit looks for a number, as FitParameter of calibrate/robust_fit.h, in base units.
struct FreeRange {
  FreeWhen when = FreeWhen::never;
  double start = 1.0;
  double low = 0.0;
  double high = 0.0;
  double prior = 1.0;
  RelativeTo relative_to = RelativeTo::nothing;
};

template <class Structure>
struct Number {
  std::string_view key = {};
  double Structure::*member = nullptr;
  std::optional<Dimension> dimension = {};  // none: a plain number
  config::NumberRule rule = {};
  bool zero_is_absent = false;  // in the structure
  bool per_root_byte = false;   // a time per square root of a byte, which files write as a number of ns
  bool fit_only = false;        // says how the member is fitted; its key, if any, is in another row or structure
  FreeRange free = {};
};

// Multiplies the numbers of one dimension.
template <class Structure>
void scale(Structure& of, std::type_identity_t<std::span<const Number<Structure>>> table, Dimension dimension,
           double factor) {
  for (const Number<Structure>& number : table)
    if (number.dimension == dimension) of.*number.member *= factor;
}

}  // namespace cairn::cost
