// Distinct values of sums of arithmetic progressions.
#pragma once

#include <cstdint>

#include <boost/container/static_vector.hpp>

namespace cairn::loopnest {

// { 0, stride, 2*stride, ..., (count - 1)*stride }, stride > 0, count > 0
struct Progression {
  std::int64_t stride = 1;
  std::int64_t count = 1;
};

using Progressions = boost::container::static_vector<Progression, 3>;

// True when each value of the sum arises once.
bool one_to_one(Progressions progressions);

// Number of distinct values of the sum of the progressions.
// Two, with strides a, b divided by their gcd and counts X, R: x and r give the same value as x + b and r - a, so the
// pairs with x < X - b and r >= a repeat another: X*R - max(0, X - b) * max(0, R - a).
// Three: two of them whose sum has no gaps are one progression; else the values are marked, at most 2^26 (checked).
std::int64_t distinct_sums(const Progressions& progressions);

// Upper limit of what is enumerated value by value.
inline constexpr std::int64_t k_enumeration_limit = std::int64_t{1} << 26;

}  // namespace cairn::loopnest
