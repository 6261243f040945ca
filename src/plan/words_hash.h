// Memo keys: a few 64-bit words.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "cairn/core/hash.h"
#include "cairn/program/mesh.h"
#include "vocabulary.h"

namespace cairn::plan {

inline std::size_t hash_words(const std::int64_t* words, std::size_t count) {
  core::Hash hash;
  for (std::size_t i = 0; i < count; ++i) hash.add(words[i]);
  return hash.value();
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

// Two numbers as one. Valid: `second` below 1,000,003.
inline std::int64_t word(std::int64_t first, std::int64_t second) {
  constexpr std::int64_t k_apart = 1'000'003;
  return first * k_apart + second;
}
// Of a group along an axis; that it has several rows is told by the other.
inline std::int64_t word(const Group& group) { return word(group.size, group.stride); }
inline std::int64_t word_of_rows(const Group& group) { return word(group.rows, group.apart); }

}  // namespace cairn::plan
