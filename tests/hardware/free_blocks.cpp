#include "cairn/hardware/free_blocks.h"

#include <set>
#include <tuple>

#include "cairn/core/random.h"
#include "catch.h"

using cairn::hardware::FreeBlocks;

// Against a tree, with so many entries that runs are divided and emptied.
TEST_CASE("Free blocks are found, put in and taken out as in a sorted set") {
  using Key = std::tuple<std::int64_t, std::int64_t, std::int32_t>;
  cairn::core::Random random(3);
  FreeBlocks blocks;
  std::set<Key> tree;
  std::int32_t next = 0;
  for (const int share_of_insertions : {9, 5, 1, 8, 0}) {
    for (int step = 0; step < 4000; ++step) {
      if (random.below(10) < static_cast<std::uint64_t>(share_of_insertions)) {
        const auto size = static_cast<std::int64_t>(512 * (1 + random.below(40)));
        blocks.insert({.size = size, .address = next * 7919 % 10007, .block = next});
        tree.insert({size, next * 7919 % 10007, next});
        ++next;
      }
      const FreeBlocks::Entry wanted{.size = static_cast<std::int64_t>(random.below(22000)),
                                     .address = static_cast<std::int64_t>(random.below(10007)) - 1};
      const auto expected = tree.lower_bound({wanted.size, wanted.address, -1});
      const FreeBlocks::Place found = blocks.lower_bound(wanted);
      REQUIRE((found == blocks.end()) == (expected == tree.end()));
      if (expected == tree.end()) continue;
      REQUIRE(blocks.at(found).block == std::get<2>(*expected));
      if (random.below(10) < static_cast<std::uint64_t>(share_of_insertions)) continue;
      blocks.erase(found);
      tree.erase(expected);
    }
    REQUIRE(blocks.empty() == tree.empty());
    if (!tree.empty()) CHECK(blocks.largest().block == std::get<2>(*tree.rbegin()));
    auto expected = tree.begin();
    for (FreeBlocks::Place place; place != blocks.end(); place = blocks.next(place), ++expected) {
      REQUIRE(expected != tree.end());
      REQUIRE(blocks.at(place).block == std::get<2>(*expected));
    }
    REQUIRE(expected == tree.end());
  }
  while (!blocks.empty()) blocks.erase({});
  CHECK(blocks.lower_bound({}) == blocks.end());
}
