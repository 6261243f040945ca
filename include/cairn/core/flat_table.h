// Values by key where look-ups are what counts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace cairn::core {

// An open-addressed table with linear probing, half full at most: search asks such tables dozens of times for every
// plan, and what it pays for is the cache lines it touches. Key{} stands for a free place; the hash has to spread over
// its low bits.
template <class Key, class Value, class Hash>
class FlatTable {
 public:
  // The value of a key other than Key{}; Value{} when it is new. Valid until the next call.
  Value& of(const Key& key) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[find(key)];
    if (slot.key == key) return slot.value;
    slot.key = key;
    ++used_;
    return slot.value;
  }
  std::size_t size() const { return used_; }
  // Fetches what of(key) will look at.
  void prefetch(const Key& key) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[Hash()(key) & (slots_.size() - 1)]);
  }

 private:
  struct Slot {
    Key key{};
    Value value{};
  };

  std::size_t find(const Key& key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = Hash()(key) & mask;
    while (!(slots_[at].key == key) && !(slots_[at].key == Key{})) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(16, 2 * slots_.size()));
    old.swap(slots_);
    for (Slot& slot : old)
      if (!(slot.key == Key{})) slots_[find(slot.key)] = std::move(slot);
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace cairn::core
