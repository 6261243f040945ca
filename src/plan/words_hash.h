// Memo keys: a few 64-bit words.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "cairn/plan/mesh.h"

namespace cairn::plan {

struct WordsHash {
  template <std::size_t N>
  std::size_t operator()(const std::array<std::int64_t, N>& words) const {
    std::uint64_t h = 0x9E3779B97F4A7C15ULL;
    for (const std::int64_t word : words) {
      h ^= static_cast<std::uint64_t>(word) + 0x9E3779B97F4A7C15ULL + (h << 6) + (h >> 2);
      h *= 0xBF58476D1CE4E5B9ULL;
    }
    return h ^ (h >> 31);
  }
};

inline std::int64_t bits(double value) {
  std::int64_t result = 0;
  static_assert(sizeof result == sizeof value);
  std::memcpy(&result, &value, sizeof value);
  return result;
}

inline std::int64_t word(const Group& group) {
  constexpr std::int64_t k_apart = 1'000'003;
  return group.size * k_apart + group.stride;
}

}  // namespace cairn::plan
