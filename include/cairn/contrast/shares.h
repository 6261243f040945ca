// What of a difference each of several changes makes, where their effects depend on one another.
//
// Changes 0 ... n-1 lead from v(none) to v(all); v(S) is the value when those in S are made. The share of a change is the
// mean, over orders in which all are made one after another, of what it changes when its turn comes:
//
//   all orders    s_i = 1/n! sum_{S without i} |S|! (n - 1 - |S|)! ( v(S + i) - v(S) )     Shapley value, 2^n values
//   two orders    s_i = 1/2 ( v(0..i) - v(0..i-1)  +  v(i..n-1) - v(i+1..n-1) )             2n values
//
// Shapley, "A value for n-person games", Contributions to the Theory of Games II, 1953: the one division that adds up to
// the whole, treats equal changes alike, gives nothing to one that changes nothing, and is additive in v.
//   Example: two changes that together save 8, one alone 2, the other alone nothing: 5 and 3.
//
// Shares are whole picoseconds and add up to v(all) - v(none) exactly: each is rounded down from its exact numerator, and
// what is then left is given out one by one to the largest remainders, ties to the first.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cairn/core/time.h"

namespace cairn::contrast {

// A set of changes: bit i is change i.
using Coalition = std::uint64_t;
inline constexpr std::size_t k_most_changes = 63;

// All orders are taken up to so many changes, two beyond.
inline constexpr std::size_t k_all_orders = 6;

// `values`: by coalition, 2^n of them with n <= k_all_orders. [ps]
std::vector<core::Picoseconds> shapley(std::span<const core::Picoseconds> values);

// `forward`: v(none), v(0), v(0..1), ..., v(all). `backward`: v(none), v(n-1), v(n-2..n-1), ..., v(all). [ps]
std::vector<core::Picoseconds> two_orders(std::span<const core::Picoseconds> forward,
                                          std::span<const core::Picoseconds> backward);

// Changes that are made together, since some of them without others cannot be.
struct Group {
  std::vector<std::size_t> changes = {};  // sorted
  std::vector<std::string> reasons = {};  // why, one for each time that something was joined to it
  core::Picoseconds share = 0;
};

struct Attribution {
  std::vector<Group> groups = {};  // by their first change
  bool all_orders = true;          // over the groups; false: two orders
  std::size_t evaluated = 0;       // coalitions that were asked for
};

// The value with a coalition's changes made, or why they cannot be made alone.
struct Outcome {
  core::Picoseconds value = 0;
  std::string obstacle = {};  // empty: `value` holds
};

// Shares of n changes of which not every coalition is possible; that none and all are possible is taken for granted.
//
// As long as a coalition that the orders pass through is impossible, the smallest such S (of equal size the one with the
// first changes) is done away with: let x be the last group of S without which S is possible (the last of S where there
// is none), and C the fewest groups beyond S, the first of these, with which it is; x and C become one group. So a group
// holds what was seen to need one another, every coalition that is averaged over is possible, and the result depends on
// the order of the changes and on the values alone. Beyond k_all_orders groups C is searched among ones and pairs; where none of
// these is enough, groups are added in order until it is possible, and then each that it does not take is left out again.
Attribution attribute(std::size_t changes, const std::function<Outcome(Coalition)>& value);

}  // namespace cairn::contrast
