// Chunks of equal size that take turns in a small memory: which of them to give up when a new one must come in.
//
// The trace names the chunk wanted at every moment; a chunk wanted must be there, so each one that is not is a miss: it
// is loaded, and where the memory is full another makes room. Giving up the chunk whose next use lies farthest ahead is
// optimal (Belady 1966); the trace of a training step is known after its first iteration, so the optimum can be had.
// Example, room for 2, trace 1 2 3 1 2: 3 takes the place of 2, which is wanted after 1; 1 is there, 2 is loaded again:
// 4 misses. Giving up the chunk used least recently, 1, makes 5.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cairn::plan {

enum class Eviction : std::uint8_t { farthest_next_use, least_recently_used, first_in };

struct ChunkTurns {
  std::vector<char> missed;            // by moment of the trace: the chunk had to be loaded
  std::vector<std::int64_t> given_up;  // by moment: the chunk that made room, -1 for none
  std::int64_t misses = 0;
};

// Throws core::ConfigurationError when there is room for no chunk.
ChunkTurns take_turns(std::span<const std::int64_t> trace, std::int64_t room,
                      Eviction eviction = Eviction::farthest_next_use);

}  // namespace cairn::plan
