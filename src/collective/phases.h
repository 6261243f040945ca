// Parts that algorithms are put together from: what members of a group do in turn, as seen by one of them.
#pragma once

#include "cairn/collective/message_list.h"

namespace cairn::collective {

// Nodes first, first + stride, ...
struct Members {
  std::int64_t count = 1;
  std::int64_t first = 0;
  std::int64_t stride = 1;
  std::int64_t node(std::int64_t place) const { return first + place * stride; }
};

// Block b is the chunks first + b stride + {0, 1, ... width - 1} width_stride.
struct Blocks {
  std::int64_t first = 0;
  std::int64_t stride = 1;
  std::int64_t width = 1;
  std::int64_t width_stride = 1;
};

enum class RingPhase : std::uint8_t { reduce_scatter, all_gather };

// One block per member in count - 1 steps. reduce_scatter: the member at place p ends with the sum of block p;
// all_gather: it begins with block p and ends with all. The members at the ends of a link to the next place each know
// its messages: `ring` shows those of both links of one member, `ring_link` those of one, to one of its ends.
enum class End : std::uint8_t { sender, receiver };
void ring(RingPhase phase, const Members& members, const Blocks& blocks, std::int64_t place, std::int64_t first_step,
          Port& port);
void ring_link(RingPhase phase, const Members& members, const Blocks& blocks, std::int64_t from,
               std::int64_t first_step, End end, Port& port);

// `pieces` chunks from `chunk` on go from the member at place 0 to the one at the last place, through all between; or
// back, each adding its own.
enum class ChainPhase : std::uint8_t { broadcast, reduce };
void chain(ChainPhase phase, const Members& members, std::int64_t chunk, std::int64_t pieces, std::int64_t place,
           std::int64_t first_step, Port& port);

// Every member has a block for every other: chunks of (from, to) begin at first + from by_source + to by_destination.
// In step s the member at place p sends to place p + s + 1, in a circle.
struct PairBlocks {
  std::int64_t first = 0;
  std::int64_t by_source = 0;
  std::int64_t by_destination = 1;
  std::int64_t width = 1;
  std::int64_t width_stride = 1;
};
void exchange(const Members& members, const PairBlocks& blocks, std::int64_t place, std::int64_t first_step,
              Port& port);

bool power_of_two(std::int64_t n);
std::int64_t ceil_log2(std::int64_t n);  // n >= 1

}  // namespace cairn::collective
