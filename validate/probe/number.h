// Number types of the operands, as bits: what the slow references read back from the device.
//
//   IEEE-like:  value = (-1)^s 2^(e - bias) (1 + m / 2^M),  subnormal: (-1)^s 2^(1 - bias) m / 2^M
//
// fp8_e4m3 (OCP 8-bit floating point specification, 2023) has no infinity: S.1111.111 alone is NaN, 448 the largest
// value. All bits set is NaN in every floating type here, so memory filled with 0xFF is poison.
#pragma once

#include <cstdint>
#include <string_view>

namespace cairn::probe {

enum class Type { none, byte, fp32, bf16, fp16, fp8_e4m3 };

constexpr int k_poison_byte = 0xFF;

std::string_view name(Type type);
std::int64_t size_of(Type type);  // [bytes]; 0 for none

// The value of one element whose bits start at `bits`; a byte is its integer.
double decode(Type type, const void* bits);

// Largest relative error of rounding to nearest: half a unit in the last place of 1.
double unit_roundoff(Type type);

}  // namespace cairn::probe
