// Cache keys of the parts of a Program that Lowering reuses from plan to plan.
//
// A part is made from its key and never from the strategy: what a key does not list, the part cannot read. Equality
// compares all members; a hash may skip some, which costs look-ups but never returns a wrong part.
#pragma once

#include <cstdint>
#include <vector>

#include "cairn/core/block_deque.h"
#include "cairn/core/hash.h"
#include "vocabulary.h"

namespace cairn::plan {

inline void add(core::Hash& hash, const Group& group) { hash.add(group.size).add(group.stride).add(group.rows); }
inline void add(core::Hash& hash, const PerGroup<Group>& groups) {
  for (const Group& group : groups) add(hash, group);
}
inline void add(core::Hash& hash, double value) { hash.add(std::bit_cast<std::uint64_t>(value)); }
inline void add(core::Hash& hash, const PerGroup<double>& values) {
  for (const double value : values) add(hash, value);
}

struct KeyHash {
  template <class Key>
  std::size_t operator()(const Key& key) const {
    return key.hash();
  }
};

// Numbers distinct keys from 1 on; equal keys have equal numbers. Successive plans often agree in a key, so the last
// one is compared first.
template <class Key>
class Interned {
 public:
  std::int32_t of(const Key& key) {
    if (last_.key != nullptr && *last_.key == key) return last_.number;
    if (2 * (keys_.size() + 1) > slots_.size()) grow();
    const auto hash = static_cast<std::uint32_t>(key.hash());
    Slot& slot = slots_[place(hash, [&](const Key& known) { return known == key; })];
    if (slot.key == nullptr) {
      keys_.push_back(key);
      slot = {.key = &keys_.back(), .hash = hash, .number = static_cast<std::int32_t>(keys_.size())};
    }
    last_ = slot;
    return slot.number;
  }
  const Key& key(std::int32_t number) const { return keys_[static_cast<std::size_t>(number) - 1]; }

 private:
  struct Slot {
    const Key* key = nullptr;  // null: free
    std::uint32_t hash = 0;
    std::int32_t number = 0;
  };

  // The slot of a key with this hash that `is` accepts, or a free one.
  template <class Is>
  std::size_t place(std::uint32_t hash, Is is) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    while (slots_[at].key != nullptr && !(slots_[at].hash == hash && is(*slots_[at].key))) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 16 : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.key != nullptr) slots_[place(slot.hash, [](const Key&) { return false; })] = slot;
  }

  core::BlockDeque<Key> keys_;
  std::vector<Slot> slots_;
  Slot last_;
};

}  // namespace cairn::plan
