// Memo keys: a few 64-bit words.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "cairn/plan/mesh.h"

namespace cairn::plan {

inline std::size_t hash_words(const std::int64_t* words, std::size_t count) {
  std::uint64_t h = count;
  for (std::size_t i = 0; i < count; ++i) {
    h = (h ^ static_cast<std::uint64_t>(words[i])) * 0x9E3779B97F4A7C15ULL;
    h ^= h >> 32;
  }
  return h;
}

struct WordsHash {
  template <std::size_t N>
  std::size_t operator()(const std::array<std::int64_t, N>& words) const {
    return hash_words(words.data(), N);
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
