// Hashes of 64-bit words, for tables in memory.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace cairn::core {

// The hash of a sequence, word by word:
//   h' = ( rotate(h, 32) ^ word ) * phi,  phi = 2^64 / the golden ratio, odd
//   value = h ^ h >> 32
// A product carries what differs upwards only; the turn, and the shift at the end, bring it down to the low bits, which
// choose places in tables. Source: multiplicative hashing, Knuth, The Art of Computer Programming 3, section 6.4.
class Hash {
 public:
  template <class Word>
  constexpr Hash& add(Word word) {
    state_ = (std::rotl(state_, 32) ^ bits(word)) * k_phi;
    return *this;
  }
  constexpr std::uint64_t value() const { return state_ ^ state_ >> 32; }

  // Of a few words, numbers or addresses.
  template <class... Words>
  static constexpr std::uint64_t of(Words... words) {
    Hash hash;
    (hash.add(words), ...);
    return hash.value();
  }

 private:
  static constexpr std::uint64_t k_phi = 0x9E3779B97F4A7C15ULL;

  template <class Word>
  static constexpr std::uint64_t bits(Word word) {
    if constexpr (std::is_pointer_v<Word>)
      return std::bit_cast<std::uintptr_t>(word);
    else
      return static_cast<std::uint64_t>(word);
  }

  std::uint64_t state_ = 0;
};

}  // namespace cairn::core
