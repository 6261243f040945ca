// How evenly one way of sharing loads the links of a cluster, from the messages of all ranks.
//
//   message   goes straight from its source to its destination, whatever algorithm a library runs for the call
//   level     carries the messages that leave one of its units; inside a domain those alone that stay in the domain
//   links     the ports of its units. Accelerator i of the u of a unit uses port i L / u, rounded down, of the
//             L = min(ports, u): where there are more ports than accelerators, its share of them counts as one link
//   busiest   most bytes that any link carries in either direction
//   mean      bytes that the level carries / links
// Levels, units and domains are those of hardware/cluster.h.
//
// Example: a ring of 16 ranks on two nodes of 8 accelerators with an adapter each. Of its 16 hops 14 stay in a node and
// 2 leave one, by one adapter of 8: busiest / mean is 16 / 14 inside and 8 outside. A time that takes all adapters of a
// node for granted is 8 times too short.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cairn/hardware/cluster.h"
#include "cairn/sequence/scheme.h"

namespace cairn::attention {

inline constexpr std::int64_t k_most_linked = 64;  // ranks: lists of all of them are long

struct LinkLoad {
  std::string level = {};
  std::int64_t links = 0;
  std::int64_t busiest = 0;  // [B]
  double mean = 0.0;         // [B]

  // 1 where the level carries nothing.
  double over_mean() const { return mean > 0.0 ? static_cast<double>(busiest) / mean : 1.0; }
};

// Of every level that joins anything, inner to outer, both passes together where both are asked for. The scheme must
// take the problem so; grid.ranks() x tensor_ranks accelerators make up the network, as in Request.
std::vector<LinkLoad> link_loads(const hardware::Network& network, std::int64_t tensor_ranks,
                                 const sequence::Scheme& scheme, const sequence::Problem& problem,
                                 const sequence::Grid& grid, bool backward);

}  // namespace cairn::attention
