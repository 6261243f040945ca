// Link loads of a network counted route by route, over all pairs of endpoints: an independent check of its closed-form
// limits, and a measure of what routing by destination or hash loses against even spreading.
//
//   alltoall_fraction = ((P - 1) / injection) / max over links (pairs / bandwidth)
#pragma once

#include <cstdint>

#include "cairn/topology/topology.h"

namespace cairn::topology {

struct Survey {
  std::int64_t longest = 0;    // links of a route
  double mean_links = 0.0;     // over all ordered pairs
  double alltoall_load = 0.0;  // [s per byte and pair]
};

// P^2 x diameter, and links, up to which a survey takes about a second.
inline constexpr std::int64_t k_survey_limit = std::int64_t{1} << 27;
bool is_surveyed(const Topology& topology, std::int64_t diameter);

// Time O(P^2 route length), memory O(links). Valid: P >= 2, is_surveyed().
Survey survey(const Topology& topology);

}  // namespace cairn::topology
