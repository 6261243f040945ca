// The bracket [lower, upper] of any graph, by every method that applies to it.
//
//   lower   compulsory; in the red-blue-white game also wavefronts (one, or one for each of several stretches) and, for
//           small graphs, the S-partition bound
//   upper   the cheapest play in one of the orders of schedule.h
// Large graphs have their wavefronts sampled, which keeps the bound valid.
#pragma once

#include <vector>

#include "cairn/pebble/bound.h"

namespace cairn::pebble {

// Every lower bound at hand that holds in `game`. Errors (core::ConfigurationError): `fast` below minimum_fast_words.
std::vector<LowerBound> lower_bounds(const Cdag& graph, Words fast, Game game);

Bracket bracket(const Cdag& graph, Words fast, Game game);

}  // namespace cairn::pebble
