// An allocator that keeps what programs free: what it takes from the device for a sequence of requests.
//
// It is the one of PyTorch, c10/cuda/CUDACachingAllocator.cpp (001074d, 2025). With s the size of a request in bytes:
//
//   rounded   r = s, in units of 512 bytes; with d divisions, up to the next of d equal steps between powers of two
//   pool      small where r <= 1 MiB, else large; each stream has its own of both
//   found     the smallest free block of the pool that holds r, the lowest of several
//   not found a segment from the device: 2 MiB for the small pool; 20 MiB where r < 10 MiB; else r in units of 2 MiB
//   split     what a block has beyond r stays free where it is 512 bytes or more (small), more than 1 MiB (large)
//   freed     a block joins the free ones beside it in its segment
//   no room   segments without a live block go back to the device, and the device is asked once more
//
//   requests 3 MiB, 30 MiB, free 30 MiB, 29.5 MiB:   20 [3 | 17 free], 30 [29.5 and 0.5 unused], reserved 50 MiB
//
// With expandable segments each pool has one segment of pages of 2 MiB (small) or 20 MiB (large) that grows at its end, and
// what a block has beyond r always stays free. With a largest size to split, blocks of that size and more are not split,
// serve requests of that size and more alone and up to 20 MiB beyond them, and go back to the device before others.
//
// One thread, no clock: a block that another stream still uses is freed here when that stream has passed it.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "cairn/hardware/free_blocks.h"

namespace cairn::hardware {

class CachingAllocator {
 public:
  static constexpr std::int64_t k_unlimited = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t k_shared_segment = std::int64_t{20} << 20;  // of large requests below 10 MiB

  struct Rules {
    bool expandable_segments = false;
    std::int64_t max_split_size = k_unlimited;  // [bytes], more than k_shared_segment
    std::int64_t power2_divisions = 0;          // 0 and 1: none
    std::int64_t capacity = k_unlimited;        // [bytes] that the device has for it
  };
  using Block = std::int32_t;

  explicit CachingAllocator(const Rules& rules) : rules_(rules) {}

  // Beyond the capacity, too, once nothing can be given back: the peak then says how much would have been enough.
  Block allocate(std::int64_t bytes, std::int32_t stream = 0);
  void free(Block block);
  // What the program may call itself.
  void release_cached();

  // [bytes] of live blocks, each with what it has beyond its request, and of segments; now and at most.
  std::int64_t allocated() const { return allocated_; }
  std::int64_t reserved() const { return reserved_; }
  std::int64_t allocated_peak() const { return allocated_peak_; }
  std::int64_t reserved_peak() const { return reserved_peak_; }
  // Where a block lies: equal sets of places under an equal sum of segments behave alike.
  std::int64_t address(Block block) const { return nodes_[index(block)].address; }
  std::int64_t size(Block block) const { return nodes_[index(block)].size; }

  // r above.
  static std::int64_t rounded(std::int64_t bytes, std::int64_t power2_divisions = 0);

 private:
  enum class State : std::uint8_t { live, free, unmapped };
  struct Node {
    std::int64_t size = 0;
    std::int64_t address = 0;
    Block before = -1;  // in its segment
    Block behind = -1;
    std::int32_t pool = 0;
    State state = State::live;
  };
  struct Pool {
    FreeBlocks free;
    std::vector<Block> unmapped;  // of expandable segments, by address; the last has no end
  };

  static std::size_t index(Block block) { return static_cast<std::size_t>(block); }
  static bool small(std::int32_t pool) { return pool % 2 == 0; }
  Node& node(Block block) { return nodes_[index(block)]; }
  const Node& node(Block block) const { return nodes_[index(block)]; }

  Block found(std::int64_t size, std::int32_t pool);
  Block taken(std::int64_t size, std::int32_t pool);
  Block mapped(std::int64_t size, std::int32_t pool);
  Block place_to_map(std::int64_t size, std::int32_t pool);
  Block map(Block block, std::int64_t size);
  void split(Block block, std::int64_t size);
  Block new_node(const Node& node);
  void insert(Block block);
  void erase(Block block);
  Block merge(Block block);
  void absorb(Block block, Block neighbour);
  bool release_large_enough(std::int64_t size, std::int32_t pool);
  void release(Block block);
  void unmap(Block block);
  void grow(std::int64_t bytes);

  Rules rules_;
  std::vector<Node> nodes_;
  std::vector<Block> spare_;  // nodes that are no block now
  std::vector<Pool> pools_;   // by stream: small, large
  std::int64_t next_address_ = 0;
  std::int64_t allocated_ = 0;
  std::int64_t reserved_ = 0;
  std::int64_t allocated_peak_ = 0;
  std::int64_t reserved_peak_ = 0;
};

}  // namespace cairn::hardware
