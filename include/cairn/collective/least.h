// Lower bounds on a collective's bytes. Valid: no reduction in the network, and one copy of the data at the start.
#pragma once

#include <cstdint>

#include "cairn/collective/collective.h"

namespace cairn::collective {

// The least that the busiest rank sends or receives, of a buffer of S = `bytes`; every value is attained. [B]
//   all_gather, reduce_scatter, all_to_all, gather  (n-1)/n S      all_reduce  2 (n-1)/n S
//   broadcast, reduce, send                         S              over one rank, and `none`: 0
// ranks >= 1.
double least_bytes(Collective collective, std::int64_t ranks, double bytes);

// The least that all ranks together receive [B]. For each element: one message to each rank that lacks it; n-1 messages
// for a sum of n values; 2 (n-1) for a sum that every rank learns, as in one-to-one gossip.
//   all_gather, reduce_scatter, broadcast, reduce, all_to_all  (n-1) S      all_reduce  2 (n-1) S
//   gather  (n-1)/n S      send  S      over one rank, and `none`: 0
// Source of the gossip bound: Harary, Schwenk, "The communication problem on graphs and digraphs", 1974.
double least_total_bytes(Collective collective, std::int64_t ranks, double bytes);

}  // namespace cairn::collective
