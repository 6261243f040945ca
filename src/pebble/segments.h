// T * (ceil(points / U(T)) - 1), the best over T: the step from "a stretch of T transfers computes at most U(T) points"
// to a bound.
#pragma once

#include <functional>

#include "cairn/pebble/cdag.h"

namespace cairn::pebble {

// A proof that loads a first value for every running sum takes these loads off again.
inline constexpr const char* k_beginnings_taken_off = "less the loads of sums that begin, which the proof adds";

struct Segments {
  Words words = 0;      // the bound
  Words transfers = 0;  // the T that gives it
};

// `capacity` must never be below the true most points of a stretch of that many transfers; it need not be an integer.
Segments best_segments(Words points, Words fast, const std::function<long double(Words)>& capacity);

// The same, T being `fast`, 2 and 4 times as much only.
Segments simple_segments(Words points, Words fast, const std::function<long double(Words)>& capacity);

}  // namespace cairn::pebble
