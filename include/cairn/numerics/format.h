// Number formats as the cost and memory models see them: how many bits an element takes, including its share of a block
// scale. A format is a size here, and a rate of the accelerator (hardware/accelerator.h: PeakRates). Cairn computes no
// tensors in it, so no value is ever rounded to it.
#pragma once

#include <cstdint>
#include <string_view>

namespace cairn::numerics {

enum class Format : std::uint8_t {
  fp64,
  fp32,
  tf32,
  bf16,
  fp16,
  fp8_e4m3,
  fp8_e5m2,
  fp8_block,
  fp8_block_2d,
  mxfp8,
  nvfp4,
  int64,
  int32,
  int8,
  int8_b256,
  int8_b2048,
  mask
};

// Storage bits per element in memory and on the wire. Block formats include their scale: fp8_block 8 + 32/128 (one fp32
// scale per 128 elements in a row), fp8_block_2d 8 + 32/128^2 (per 128 x 128 elements), mxfp8 8 + 8/32 (a power of two
// per 32 elements), nvfp4 4 + 8/16 (an E4M3 scale per 16 elements), int8_b256 and int8_b2048 8 + 32/256 and 8 + 32/2048
// (optimizer state quantised in blocks, one fp32 maximum each). tf32 is stored as fp32. mask is one byte. Source: OCP
// Microscaling Formats (MX) v1.0 section 5; NVIDIA Blackwell NVFP4 (16-element blocks, E4M3 scale); DeepSeek-V3 report
// (arXiv 2412.19437) section 3.3.2: activations in tiles of 1 x 128, weights in blocks of 128 x 128. Block-wise
// optimizer state: Dettmers et al. arXiv 2110.02861 (2048 elements), bitsandbytes 0.44 and later (256).
double bits_per_element(Format format);
// The same without the block's scale: what the matrix units are fed.
double element_bits(Format format);
inline double bytes_per_element(Format format) { return bits_per_element(format) / 8.0; }

std::string_view name(Format format);
// Throws core::ConfigurationError for an unknown name, with the nearest known one.
Format parse_format(std::string_view text);

}  // namespace cairn::numerics
