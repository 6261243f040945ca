// Expectations by hand from the rules in the header.
#include "cairn/hardware/caching_allocator.h"

#include <algorithm>
#include <vector>

#include "cairn/core/random.h"
#include "catch.h"

using cairn::hardware::CachingAllocator;

namespace {

constexpr std::int64_t k_kib = std::int64_t{1} << 10;
constexpr std::int64_t k_mib = std::int64_t{1} << 20;
using Block = CachingAllocator::Block;

}  // namespace

TEST_CASE("Requests are rounded to 512 bytes, or to steps between powers of two") {
  CHECK(CachingAllocator::rounded(1) == 512);
  CHECK(CachingAllocator::rounded(512) == 512);
  CHECK(CachingAllocator::rounded(513) == 1024);
  // Four steps between 1 and 2 MiB: 1.25, 1.5, 1.75.
  CHECK(CachingAllocator::rounded(1200 * k_kib, 4) == 1280 * k_kib);
  CHECK(CachingAllocator::rounded(1280 * k_kib, 4) == 1280 * k_kib);
  CHECK(CachingAllocator::rounded(2047 * k_kib, 4) == 2 * k_mib);
  CHECK(CachingAllocator::rounded(k_mib, 4) == k_mib);
  CHECK(CachingAllocator::rounded(700, 4) == 1024);  // no more than 512 bytes for each step: in units of 512
}

TEST_CASE("A small request takes 2 MiB, and others share it") {
  CachingAllocator a({});
  a.allocate(100);
  CHECK(a.allocated() == 512);
  CHECK(a.reserved() == 2 * k_mib);
  a.allocate(k_mib);
  CHECK(a.reserved() == 2 * k_mib);
  a.allocate(k_mib);  // 1 MiB less 512 bytes are left
  CHECK(a.reserved() == 4 * k_mib);
}

TEST_CASE("Requests of 1 to 10 MiB share segments of 20 MiB, larger ones have their own in units of 2 MiB") {
  CachingAllocator a({});
  a.allocate(k_mib + 1);
  CHECK(a.reserved() == 20 * k_mib);
  a.allocate(9 * k_mib);
  a.allocate(9 * k_mib);  // of 20 MiB, 10 MiB and 512 bytes are taken: 9 MiB more, and less than 1 MiB is left with it
  CHECK(a.reserved() == 20 * k_mib);
  CHECK(a.allocated() == 20 * k_mib);
  a.allocate(10 * k_mib);
  CHECK(a.reserved() == 30 * k_mib);
  a.allocate(11 * k_mib);
  CHECK(a.reserved() == 42 * k_mib);
  CHECK(a.allocated() == 42 * k_mib);  // 1 MiB beyond a large request is not split from it
}

TEST_CASE("The header's example: a block of 30 MiB serves 29.5 MiB whole") {
  CachingAllocator a({});
  a.allocate(3 * k_mib);
  const Block large = a.allocate(30 * k_mib);
  a.free(large);
  CHECK(a.allocated() == 3 * k_mib);
  const Block again = a.allocate(29 * k_mib + 512 * k_kib);
  CHECK(a.address(again) == 20 * k_mib);
  CHECK(a.size(again) == 30 * k_mib);
  CHECK(a.reserved() == 50 * k_mib);
}

TEST_CASE("The smallest free block that is enough, the lowest of several; what is free joins") {
  CachingAllocator a({});
  std::vector<Block> blocks;
  for (const std::int64_t size : {64, 16, 32, 16}) blocks.push_back(a.allocate(size * k_mib));
  for (const Block block : blocks) a.free(block);
  CHECK(a.allocated() == 0);
  CHECK(a.reserved() == 128 * k_mib);
  const Block first = a.allocate(15 * k_mib);
  CHECK(a.address(first) == 64 * k_mib);
  const Block second = a.allocate(16 * k_mib);
  CHECK(a.address(second) == 112 * k_mib);
  const Block third = a.allocate(20 * k_mib);  // 12 of 32 MiB stay free
  CHECK(a.address(third) == 80 * k_mib);
  const Block fourth = a.allocate(12 * k_mib);
  CHECK(a.address(fourth) == 100 * k_mib);
  a.free(third);
  a.free(fourth);
  CHECK(a.address(a.allocate(32 * k_mib)) == 80 * k_mib);
  CHECK(a.reserved() == 128 * k_mib);
  // 16 + 16 + 32 MiB are held elsewhere: 65 MiB fit into no single block.
  a.allocate(65 * k_mib);
  CHECK(a.reserved() == 194 * k_mib);
}

TEST_CASE("Streams share nothing") {
  CachingAllocator a({});
  a.free(a.allocate(40 * k_mib, 0));
  a.allocate(40 * k_mib, 1);
  CHECK(a.reserved() == 80 * k_mib);
  CHECK(a.allocated_peak() == 40 * k_mib);
}

TEST_CASE("Without room, whole free segments go back first") {
  CachingAllocator a({.capacity = 100 * k_mib});
  const Block part = a.allocate(20 * k_mib);
  const Block gone = a.allocate(40 * k_mib);
  const Block split = a.allocate(30 * k_mib);
  a.free(gone);
  a.free(split);
  const Block kept = a.allocate(10 * k_mib);  // of the 30 MiB
  CHECK(a.reserved() == 90 * k_mib);
  a.allocate(50 * k_mib);  // 40 MiB go back: 20 + 30 + 50
  CHECK(a.reserved() == 100 * k_mib);
  CHECK(a.reserved_peak() == 100 * k_mib);
  a.allocate(21 * k_mib);  // nothing can go back any more
  CHECK(a.reserved_peak() == 122 * k_mib);
  a.free(part);
  a.free(kept);
  a.release_cached();
  CHECK(a.reserved() == 72 * k_mib);
}

TEST_CASE("An expandable segment grows at its end by pages of 20 MiB") {
  CachingAllocator a({.expandable_segments = true});
  const Block first = a.allocate(30 * k_mib);
  CHECK(a.reserved() == 40 * k_mib);
  const Block second = a.allocate(15 * k_mib);  // the 10 MiB behind the first, and 5 of another page
  CHECK(a.address(second) == 30 * k_mib);
  CHECK(a.reserved() == 60 * k_mib);
  a.free(first);
  // 15 MiB are free at the end, to which pages can be joined: the 30 MiB before are the better fit.
  CHECK(a.address(a.allocate(14 * k_mib)) == 0);
  CHECK(a.address(a.allocate(20 * k_mib)) == 45 * k_mib);
  CHECK(a.reserved() == 80 * k_mib);
  CHECK(a.allocated() == 49 * k_mib);
}

TEST_CASE("Pages without a tensor are unmapped when there is no room, and their addresses are used again") {
  CachingAllocator a({.expandable_segments = true, .capacity = 120 * k_mib});
  const Block first = a.allocate(50 * k_mib);
  const Block second = a.allocate(10 * k_mib);
  CHECK(a.reserved() == 60 * k_mib);
  a.free(first);
  const Block small = a.allocate(100 * k_kib);
  CHECK(a.reserved() == 62 * k_mib);
  // 70 MiB take 80 more: two whole pages of the first 50 MiB go back.
  const Block third = a.allocate(70 * k_mib);
  CHECK(a.address(third) == 60 * k_mib);
  CHECK(a.reserved() == 102 * k_mib);
  CHECK(a.reserved_peak() == 102 * k_mib);
  a.free(third);
  a.free(second);
  a.free(small);
  a.release_cached();
  CHECK(a.reserved() == 0);
  CHECK(a.address(a.allocate(20 * k_mib)) == 0);
}

TEST_CASE("Blocks of the largest size to split and beyond stay whole and serve large requests alone") {
  CachingAllocator a({.max_split_size = 64 * k_mib, .capacity = 200 * k_mib});
  a.free(a.allocate(100 * k_mib));
  a.allocate(30 * k_mib);  // not of the 100 MiB
  CHECK(a.reserved() == 130 * k_mib);
  a.free(a.allocate(70 * k_mib));  // 100 MiB are 20 MiB too many: 70 more, all the device has
  CHECK(a.reserved() == 200 * k_mib);
  CHECK(a.size(a.allocate(81 * k_mib)) == 100 * k_mib);
  a.allocate(40 * k_mib);  // the 70 MiB go back
  CHECK(a.reserved() == 170 * k_mib);
}

TEST_CASE("Random sequences: between what lives and what was asked for; equal sequences, equal answers") {
  cairn::core::Random random(7);
  for (int sequence = 0; sequence < 300; ++sequence) {
    CachingAllocator::Rules rules{.expandable_segments = random.below(2) == 0,
                                  .power2_divisions = static_cast<std::int64_t>(random.below(3)) * 4};
    if (random.below(3) == 0) rules.max_split_size = 32 * k_mib;
    if (random.below(2) == 0) rules.capacity = static_cast<std::int64_t>(random.below(400)) * k_mib;
    CachingAllocator a(rules);
    CachingAllocator b(rules);
    struct Live {
      Block first;
      Block second;
      std::int64_t bytes;
    };
    std::vector<Live> live;
    std::int64_t held = 0;
    std::int64_t most = 0;
    std::int64_t asked = 0;
    for (int step = 0; step < 200; ++step) {
      if (live.empty() || random.below(5) < 3) {
        const auto bytes = static_cast<std::int64_t>(1 + random.below(std::uint64_t{1} << (10 + random.below(17))));
        const auto stream = static_cast<std::int32_t>(random.below(2));
        live.push_back({a.allocate(bytes, stream), b.allocate(bytes, stream), bytes});
        held += bytes;
        most = std::max(most, held);
        const std::int64_t rounded = CachingAllocator::rounded(bytes, rules.power2_divisions);
        // A page or a segment at most beyond what is asked for.
        asked += rounded + 20 * k_mib;
      } else {
        const auto which = static_cast<std::ptrdiff_t>(random.below(live.size()));
        a.free(live[static_cast<std::size_t>(which)].first);
        b.free(live[static_cast<std::size_t>(which)].second);
        held -= live[static_cast<std::size_t>(which)].bytes;
        live.erase(live.begin() + which);
      }
      REQUIRE(a.allocated() >= held);
      REQUIRE(a.reserved() >= a.allocated());
      REQUIRE(a.reserved() == b.reserved());
      REQUIRE(a.reserved_peak() >= most);
      REQUIRE(a.reserved_peak() <= asked);
      // Live tensors do not overlap.
      std::vector<std::pair<std::int64_t, std::int64_t>> places;
      for (const Live& each : live) places.emplace_back(a.address(each.first), a.size(each.first));
      std::sort(places.begin(), places.end());
      for (std::size_t i = 1; i < places.size(); ++i)
        REQUIRE(places[i - 1].first + places[i - 1].second <= places[i].first);
    }
    for (const Live& each : live) a.free(each.first);
    REQUIRE(a.allocated() == 0);
    a.release_cached();
    REQUIRE(a.reserved() == 0);
  }
}
