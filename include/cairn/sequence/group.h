// What one pass is for all ranks of a group at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cairn/sequence/scheme.h"

namespace cairn::sequence {

// Ranks looked at: up to 16 all; of more those in the corners of the grid, where whatever changes along a row or a column
// is least and most, for buffers the first and the last; with packed documents up to 64, evenly spread. Ranks that split
// heads are alike.
//
// Tiles and calls stand for all ranks: at every stage they wait for one another's messages, so these are the tiles of the
// rank that computes most pairs and the calls of the rank that moves most bytes.
struct GroupPass {
  // A call by what it moves.
  struct Moving {
    collective::Collective collective = collective::Collective::send;
    Peers peers = {};
    std::int32_t begins = 0, ends = 0, lane = 0;
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
