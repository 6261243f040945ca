// The exponents of the projection bound: corners of { s : s_j = 0, s_j = 1, or the accesses of some loop summing to 1
// }.
#pragma once

#include <cstdint>
#include <vector>

namespace cairn::pebble {

// users[i]: bit j set when access j uses loop i. Returns every corner with all s_j in [0, 1], each once, in a fixed
// order. Any non-negative s gives a valid bound; the corners are where the least lies for fixed footprints.
std::vector<std::vector<double>> exponent_corners(std::size_t accesses, const std::vector<std::uint32_t>& users);

// Without the corners that some other one never exceeds, neither in an exponent of an access nor in that of a loop.
std::vector<std::vector<double>> undominated(const std::vector<std::vector<double>>& corners,
                                             const std::vector<std::uint32_t>& users);

}  // namespace cairn::pebble
