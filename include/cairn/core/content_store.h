// One stored copy of every value, by content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "cairn/core/block_deque.h"
#include "cairn/core/flat_table.h"
#include "cairn/core/hash.h"

namespace cairn::core {

// Values with the same content are one value at one address. What counts as content is Content's to say:
//   static std::uint64_t hash(const Value&);
//   static bool same(const Value&, const Value&);
template <class Value, class Content>
class ContentStore {
 public:
  // The stored value with the draft's content, and whether it is the draft that has just been stored.
  template <class Draft>
  std::pair<Value*, bool> stored(Draft&& draft) {
    for (Key key{.hash = Content::hash(draft), .ordinal = 1};; ++key.ordinal) {
      Value*& known = by_content_.of(key);
      if (known == nullptr) return {known = &values_.emplace_back(std::forward<Draft>(draft)), true};
      if (Content::same(*known, draft)) return {known, false};
    }
  }
  std::size_t size() const { return values_.size(); }

 private:
  // A hash of the content, and how many values of other content with the same hash come first.
  struct Key {
    std::uint64_t hash = 0;
    std::uint64_t ordinal = 0;  // from 1
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const { return key.hash + key.ordinal; }
  };

  BlockDeque<Value> values_;
  FlatTable<Key, Value*, KeyHash> by_content_;
};

}  // namespace cairn::core
