// What one pass is for all ranks of a group at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cairn/sequence/scheme.h"

namespace cairn::sequence {

// Ranks looked at: up to 16 all; of more those in the corners of the grid and, of ranks in a line, the one in the
// middle; with packed documents also up to 64, evenly spread. Among ranks that split heads they are the first. Pairs
// and bytes are least and most at the ends of rows and columns. Buffers do not depend on documents, and are the same
// for all ranks but for what a causal mask makes of them:
//   contiguous ring      rank p - 1 alone has a tile for every block, and so holds each part of dK, dV for two stages.
//   zigzag, split heads  What came of the first chunk's Q or dO is held until the last earlier rank's keys were there:
//                        in rank p - 1 to the end. Other windows than the last have the larger parts of dK, dV once
//                        they have let go of it, and window 0 holds the larger parts in every turn: rank 0.
//   token-ring           While whole parts leave for later ranks, others come from earlier ones. Rank 0 has no earlier
//                        rank, rank p - 1 no later one; of 7 or more ranks the one in the middle holds both at once.
//   2-d                  Ranks off the diagonal (mesh.h) hold the keys that moved. Where some rank lies off it,
//                        (0, c - 1) does.
//
// Tiles and calls stand for all ranks: at every stage these wait for one another's messages, so they are the tiles of
// the rank that computes most pairs, of equal ones that joins most of what tiles leave, and the calls of the rank that
// moves most bytes. Zigzag, causal: a tile of all queries and half of the keys has as many pairs as one of half of the
// queries and all keys, but forward twice as much to join. The last rank's are all of that kind.
struct GroupPass {
  // A call by what it moves.
  struct Moving {
    collective::Collective collective = collective::Collective::send;
    Peers peers = {};
    std::int32_t begins = 0, ends = 0, lane = 0;
    std::int64_t reach = 0;
    std::int64_t sent = 0, received = 0;  // [B]
  };

  std::int32_t stages = 0;
  std::vector<Tile> tiles = {};
  std::vector<Moving> calls = {};

  // The most of any rank.
  std::int64_t pairs = 0;
  std::int64_t sent = 0;
  std::int64_t received = 0;
  std::int64_t messages = 0;  // that it sends
  std::int64_t buffer_bytes = 0;
  bool whole_heads = true;  // every tile of every rank is of all heads
};

// The last answers are remembered: so many, with so many tiles and calls in all (some 30 MB); the last two always.
inline constexpr std::size_t k_remembered_passes = 32;
inline constexpr std::size_t k_remembered_steps = std::size_t{1} << 18;
// The scheme must take the problem so. May be called by several threads at once.
std::shared_ptr<const GroupPass> group_pass(const Scheme& scheme, const Problem& problem, const Grid& grid, Pass pass);

}  // namespace cairn::sequence
