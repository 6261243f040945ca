// Dense numbers for tuples of 64-bit words: what depends on the same words is found by the same number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "words_hash.h"

namespace cairn::plan {

template <std::size_t N>
class WordTable {
 public:
  using Words = std::array<std::int64_t, N>;
  std::int32_t of(const Words& words) {
    return numbers_.try_emplace(words, static_cast<std::int32_t>(numbers_.size())).first->second;
  }

 private:
  std::unordered_map<Words, std::int32_t, WordsHash> numbers_;
};

// Values remembered by two dense numbers: open addressing with linear probing, half full at most, for look-ups that
// search makes dozens of for every plan.
template <class Value>
class Remembered {
 public:
  // Value{} where nothing is remembered yet. Valid until the next call.
  Value& of(std::int32_t first, std::int32_t second) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    const std::uint64_t key = (static_cast<std::uint64_t>(first) << 32 | static_cast<std::uint32_t>(second)) + 1;
    Slot& slot = slots_[find(key)];
    used_ += slot.key == k_free;
    slot.key = key;
    return slot.value;
  }

 private:
  static constexpr std::uint64_t k_free = 0;
  struct Slot {
    std::uint64_t key = k_free;
    Value value{};
  };

  std::size_t find(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (key * 0x9E3779B97F4A7C15ULL >> 32) & mask;
    while (slots_[at].key != k_free && slots_[at].key != key) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(64, 2 * slots_.size()));
    old.swap(slots_);
    for (Slot& slot : old)
      if (slot.key != k_free) slots_[find(slot.key)] = std::move(slot);
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace cairn::plan
