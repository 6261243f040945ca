// Configurations of an operator: into how many parts each dimension of its iteration space is cut.
//
//   split = (c_0, ..., c_n-1),  c_d divides the extent of dimension d,  extent_d / c_d >= the least extent wanted,
//   product of c_d <= devices
//
// Part (i_0, ..., i_n-1) of an operator is one device's work; a device beyond the product has none.
// Source: V. Elango, "PaSE", IPDPS 2021, section II, and its prototype for the least extent.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <boost/container/static_vector.hpp>

#include "cairn/loopnest/affine.h"

namespace cairn::splits {

using Split = boost::container::static_vector<std::int64_t, loopnest::k_max_dims>;

// All splits over at most `devices` devices: those that cut the fewest dimensions first, so that of splits that cost the
// same the simplest is taken; of these the last dimension's parts fastest, each in ascending order. A dimension none of
// whose parts would be as long as `least_extent` stays whole; one of extent 1 always does.
std::vector<Split> configurations(std::span<const std::int64_t> extents, std::int64_t devices,
                                  std::int64_t least_extent);

// Whether each part is a run of consecutive elements in memory: no dimension is cut inside of one that is cut in part.
bool is_contiguous(std::span<const std::int64_t> extents, const Split& split);

std::int64_t parts(const Split& split);

}  // namespace cairn::splits
