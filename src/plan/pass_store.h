// One stored copy of every pass, by content.
#pragma once

#include <boost/container/deque.hpp>

#include "cairn/core/flat_table.h"
#include "cairn/plan/program.h"

namespace cairn::plan {

class PassStore {
 public:
  const Pass* stored(const Pass& draft);

 private:
  // A hash of the content, and how many passes of other content with the same hash come first.
  struct Key {
    std::uint64_t hash = 0;
    std::uint64_t ordinal = 0;  // from 1
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const { return key.hash + key.ordinal; }
  };
  // Close together: evaluation looks at dozens of them for every plan, wherever they lie.
  using Passes = boost::container::deque<Pass, std::allocator<Pass>,
                                         boost::container::deque_options<boost::container::block_size<64>>::type>;

  Passes passes_;
  core::FlatTable<Key, const Pass*, KeyHash> by_content_;
};

}  // namespace cairn::plan
