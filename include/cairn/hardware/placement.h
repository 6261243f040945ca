// Where the members of a communication group sit in the hierarchy of a network, in exact integers.
//
// Ranks fill the machine in order: rank r is in domain floor(r/D) of a level with domains of D accelerators. A group is
// the set of ranks that differ only in their coordinates along some mesh axes; an axis of extent n and stride s
// contributes i*s, 0 <= i < n. All groups of the same axes together cover every rank once.
//
// An axis lies evenly on a level when one of these holds; it then puts `inside` of its n coordinates into each domain:
//   n s divides D            inside = n         the whole axis fits
//   D divides s              inside = 1         every coordinate in another domain
//   s divides D, D/s divides n   inside = D/s   the axis fills the domain and goes on
// With several axes the counts multiply. Everything else is counted rank by rank: groups then differ, and the figures
// are the extremes over all groups.
//
//   Example: 4 nodes of 8, order tp = 2, dp = 4, pp = 4 (inner to outer). tp: n = 2, s = 1: inside a node 2, one
//   domain. dp: n = 4, s = 2: 4 inside a node. pp: n = 4, s = 8: 1 inside a node, 4 domains; the 8 groups of a node
//   share its NICs.
#pragma once

#include <cstdint>
#include <vector>

#include "cairn/hardware/cluster.h"

namespace cairn::hardware {

struct Axis {
  std::int64_t size = 1;
  std::int64_t stride = 1;
};

// A group on one level. `fewest`..`most` members per touched domain; equal when even.
struct LevelPlacement {
  std::int64_t domains = 1;  // domains of the level that one group touches (the most, if groups differ)
  std::int64_t fewest = 1;
  std::int64_t most = 1;
  std::int64_t leaving_groups = 0;  // groups with members both inside and outside one domain (the most)

  bool even() const { return fewest == most; }
  friend bool operator==(const LevelPlacement&, const LevelPlacement&) = default;
};

struct GroupPlacement {
  std::int64_t size = 1;
  std::vector<LevelPlacement> levels = {};  // as Network::levels

  // The innermost level one domain of which holds every group; the last level when none does.
  std::size_t enclosing_level() const;
  bool even() const;
  friend bool operator==(const GroupPlacement&, const GroupPlacement&) = default;
};

// The groups of `axes` (disjoint digits of the rank: strides ascend and every stride is a multiple of the extent below
// it) on the first `world` ranks. Time O(levels) when even, O(world) when not. Throws core::ConfigurationError when the
// axes do not tile the world or the world is larger than the network.
GroupPlacement place(const std::vector<Axis>& axes, std::int64_t world, const Network& network);

}  // namespace cairn::hardware
