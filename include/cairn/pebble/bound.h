// A bound is never a bare number: it carries the games it holds in, how it was found, what it assumes, and the parts it
// adds up from.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cairn/pebble/game.h"

namespace cairn::pebble {

struct Part {
  std::string what;
  Words words;
};

// No play of the graph or operator in any of `games` moves fewer words.
struct LowerBound {
  Words words = 0;
  GameSet games;
  std::string method;
  std::vector<std::string> assumptions;
  std::vector<Part> parts;  // add up to `words`
};

// Some play in each of `games` moves no more words.
struct UpperBound {
  Words words = 0;
  Words loads = 0;
  Words stores = 0;
  GameSet games;
  std::string method;
  std::vector<std::string> assumptions;
  Play play;  // attains `words`; empty where it would be too long to write down
};

struct Bracket {
  LowerBound lower;
  std::optional<UpperBound> upper;
};

// The larger of two bounds on the same thing, taken in isolation from where each holds: the result holds where both do
// (the meet) and assumes what both assume. On equal words the first is named.
LowerBound larger(const LowerBound& a, const LowerBound& b);

// The largest of those that hold in `game`; among equals the first. Errors: none of them holds there
// (core::ConfigurationError).
LowerBound best_for(std::span<const LowerBound> bounds, Game game);

// Bounds on vertex-disjoint parts of one graph add up (decomposition theorem): the sum holds where all do.
// Model: sum_i Q(C_i, S) <= Q(C, S), each part played with the whole fast memory, its boundary values free sources.
// Valid: hong_kung and red_blue_white. A part that is negative counts as zero.
LowerBound sum_of_disjoint_parts(std::span<const LowerBound> parts);

// Bound on the same graph with `inputs` words of its input labels and `outputs` words of its output labels taken away
// (tagging theorem): Q(untagged) >= Q(tagged) - inputs - outputs, at least 0. Valid: red_blue_white only, since an
// untagged source can be made again for ever under hong_kung.
LowerBound untagged(const LowerBound& tagged, Words inputs, Words outputs);

// Every input is loaded once and every output that is no input stored once; under hong_kung only the inputs that an
// output needs.
LowerBound compulsory_bound(const Cdag& graph, Rules rules);

}  // namespace cairn::pebble
