// What a reordering of a computation saves in caches of every size.
//
// trace -> CDAG -> convex partition -> order -> addresses -> misses of least-recently-used memories of all sizes in one
// pass. Source: Fauzia, Elango, Ravishankar, Ramanujam, Rastello, Rountree, Pouchet, Sadayappan, "Beyond reuse distance
// analysis", TACO 2013 (arXiv 1401.5024).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cairn/pebble/cdag.h"

namespace cairn::pebble {

// Misses of a fully associative least-recently-used memory of S words, for every S at once.
// Model: the stack distance of a touch is the number of distinct words touched since the last touch of its own word; a
// read misses when S <= distance, and always the first time; a write needs nothing from below. A written word goes back
// below once for every write after which, up to the next write, some distance reaches S, and once at the end. Source:
// Mattson, Gecsei, Slutz, Traiger 1970; positions counted by a Fenwick tree that is renumbered when full, O(log words)
// per touch.
class MissProfiler {
 public:
  enum class Touch : std::uint8_t { read, write };

  explicit MissProfiler(std::size_t words);
  void touch(std::uint32_t word, Touch kind);

  std::int64_t reads_that_miss(Words memory) const;
  std::int64_t write_backs(Words memory) const;
  std::int64_t traffic(Words memory) const { return reads_that_miss(memory) + write_backs(memory); }

 private:
  static constexpr std::uint32_t k_never = 0xffffffff;
  std::int64_t distance_and_move_to_front(std::uint32_t word);
  void renumber();
  void add(std::size_t position, std::int32_t amount);
  std::int64_t up_to(std::size_t position) const;

  std::vector<std::int32_t> tree_;
  std::vector<std::uint32_t> position_, word_at_;
  std::vector<std::int64_t> longest_since_write_;  // -1: clean
  std::vector<std::int64_t> read_distances_, write_back_distances_;
  std::size_t next_ = 0;
  std::int64_t active_ = 0, first_reads_ = 0;
};

// A computation replayed in an order, its values in words that are given to new values once dead (the word freed last
// is taken first).
struct Replay {
  MissProfiler profile;
  std::size_t words;          // of memory used
  std::uint64_t fingerprint;  // of all outputs: each value is a hash of its vertex and of what was read, from the words
                              // where it was read
};
Replay replay(const Cdag& graph, std::span<const Vertex> order);

}  // namespace cairn::pebble
