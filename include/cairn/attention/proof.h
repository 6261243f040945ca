// An executable proof that a way of sharing attention computes it: its lists run on numbers (sequence/oracle.h), in the
// same grid and with few tokens.
//
// A grid of more than k_most_proven ranks is cut down, its largest side first, by the least prime factor of that side: 32
// x 32 becomes 8 x 8. There is a head of keys and values for each of the ranks that split heads, and of queries one or
// two for each of those, two where several read the same keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cairn/sequence/scheme.h"

namespace cairn::attention {

inline constexpr std::int64_t k_most_proven = 64;  // ranks

struct Proof {
  sequence::Grid grid = {};               // of the ranks that ran
  sequence::Problem problem = {};         // that they shared
  std::int64_t pairs = 0;                 // computed, by all ranks, forward
  double largest_error = 0.0;             // against dense attention, relative; of both passes
  std::optional<std::string> fault = {};  // the first thing that is wrong

  bool holds() const { return !fault; }
};

// Of a problem that the scheme takes in this grid. Time grows with the square of the tokens, of which each rank has a
// few.
Proof prove(const sequence::Scheme& scheme, const sequence::Grid& grid, const sequence::Problem& problem,
            bool backward);

}  // namespace cairn::attention
