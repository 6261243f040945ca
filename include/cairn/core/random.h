// Seeded random numbers, the same on every platform: SplitMix64 (Steele, Lea, Flood 2014), passed in, never global.
#pragma once

#include <cstdint>

namespace cairn::core {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound); bound > 0. Unbiased (Lemire 2019 with rejection).
  std::uint64_t below(std::uint64_t bound);
  // Uniform in [0, 1) with 53 bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  // Standard normal (Box-Muller, one value per call).
  double normal();

 private:
  std::uint64_t state_;
};

}  // namespace cairn::core
