// Bytes that no algorithm can do without, where the network only carries and one copy of the data exists at the start.
#pragma once

#include <cstdint>

#include "cairn/collective/collective.h"

namespace cairn::collective {

// Bytes that some rank sends, or receives, of a buffer of S = `bytes`; all are attained.
//   all_gather, reduce_scatter, all_to_all, gather  (n-1)/n S      all_reduce  2 (n-1)/n S
//   broadcast, reduce, send                         S              over one rank, and `none`: 0
// ranks >= 1.
double least_bytes(Collective collective, std::int64_t ranks, double bytes);

// Bytes that all ranks together receive: of every element each rank that lacks it gets one, a sum of n values takes n-1,
// and a sum that all learn 2 (n-1), as gossip of n in messages from one to one does.
//   all_gather, reduce_scatter, broadcast, reduce, all_to_all  (n-1) S      all_reduce  2 (n-1) S
//   gather  (n-1)/n S      send  S      over one rank, and `none`: 0
// Source of the gossip bound: Harary, Schwenk, "The communication problem on graphs and digraphs", 1974.
double least_total_bytes(Collective collective, std::int64_t ranks, double bytes);

}  // namespace cairn::collective
