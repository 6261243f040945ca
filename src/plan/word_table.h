// Numbers for tuples of 64-bit words, what depends on the same words being found by the same number; and values
// remembered by such numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "words_hash.h"

namespace cairn::plan {

// An open-addressed table with linear probing, half full at most: search asks such tables dozens of times for every
// plan, and what it pays for is the cache lines it touches. Key{} stands for a free place.
template <class Key, class Value>
class FlatTable {
 public:
  // The value of a key other than Key{}; Value{} when it is new. Valid until the next call.
  Value& of(const Key& key, std::size_t hash) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[find(key, hash)];
    if (slot.key == key) return slot.value;
    slot.key = key;
    slot.hash = hash;
    ++used_;
    return slot.value;
  }
  std::size_t size() const { return used_; }
  // Fetches what of(key, hash) will look at.
  void prefetch(std::size_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]);
  }

 private:
  struct Slot {
    Key key{};
    std::size_t hash = 0;
    Value value{};
  };

  std::size_t find(const Key& key, std::size_t hash) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    while (!(slots_[at].key == key) && !(slots_[at].key == Key{})) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(64, 2 * slots_.size()));
    old.swap(slots_);
    for (Slot& slot : old)
      if (!(slot.key == Key{})) slots_[find(slot.key, slot.hash)] = std::move(slot);
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

template <std::size_t N>
class WordTable {
 public:
  using Words = std::array<std::int64_t, N>;
  // Words must not all be 0.
  std::int32_t of(const Words& words) {
    std::int32_t& number = numbers_.of(words, hash_words(words.data(), N));
    if (number == 0) number = static_cast<std::int32_t>(numbers_.size());
    return number;
  }

 private:
  FlatTable<Words, std::int32_t> numbers_;  // from 1
};

// Values remembered by two numbers.
template <class Value>
class Remembered {
 public:
  // Value{} where nothing is remembered yet. Valid until the next call.
  Value& of(std::int32_t first, std::int32_t second) {
    const std::uint64_t key = key_of(first, second);
    return values_.of(key, hash_of(key));
  }
  // Fetches what of(first, second) will look at.
  void prefetch(std::int32_t first, std::int32_t second) const { values_.prefetch(hash_of(key_of(first, second))); }

 private:
  static std::uint64_t key_of(std::int32_t first, std::int32_t second) {
    return (static_cast<std::uint64_t>(first) << 32 | static_cast<std::uint32_t>(second)) + 1;
  }
  static std::size_t hash_of(std::uint64_t key) { return key * 0x9E3779B97F4A7C15ULL >> 32; }

  FlatTable<std::uint64_t, Value> values_;
};

}  // namespace cairn::plan
