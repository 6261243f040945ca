// Tables of values whose index is one or several numbers of keys (interned.h).
#pragma once

#include <array>
#include <cstdint>

#include "cairn/core/flat_table.h"
#include "cairn/core/hash.h"

namespace cairn::plan {

// A few numbers that stand for something together; not all of them 0.
class Numbers {
 public:
  Numbers() = default;
  Numbers(std::int32_t a, std::int32_t b, std::int32_t c = 0, std::int32_t d = 0)
      : words_{static_cast<std::uint64_t>(a) << 32 | static_cast<std::uint32_t>(b),
               static_cast<std::uint64_t>(c) << 32 | static_cast<std::uint32_t>(d)} {}
  friend bool operator==(const Numbers& a, const Numbers& b) {
    return ((a.words_[0] ^ b.words_[0]) | (a.words_[1] ^ b.words_[1])) == 0;
  }
  std::size_t hash() const { return core::Hash::of(words_[0], words_[1]); }

 private:
  std::array<std::uint64_t, 2> words_{};
};

struct NumbersHash {
  std::size_t operator()(const Numbers& numbers) const { return numbers.hash(); }
};

// Values remembered by numbers: Value{} where nothing is remembered yet.
template <class Value>
using Remembered = core::FlatTable<Numbers, Value, NumbersHash>;

}  // namespace cairn::plan
