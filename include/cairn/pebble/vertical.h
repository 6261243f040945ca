// Words that cross the links below one memory level of a machine, for any graph (the game of parallel_game.h).
//
// Theorem. Let all units at and below `level` be one fast memory of their total capacity, and everything above it slow
// memory. A play of the parallel game is then one of the red-blue-white game without sliding: up is a load, down a
// store, a value held by several units counts once, get and the moves below or above the link cost nothing. Inputs that
// nothing reads need not come up. So
//   sum over units of words up and down  >=  Q(graph, sum of capacities) - unread inputs
// and the busiest of N units has at least the N-th part of it. The capacities are added, the bound is never divided
// before: a live value may sit in any unit.
//
// Worked example: two processors of 2 registers each under one node; x -> y, y out: x comes up, y goes down, 2 words.
#pragma once

#include <cstddef>
#include <optional>

#include "cairn/pebble/bound.h"
#include "cairn/pebble/parallel_game.h"

namespace cairn::pebble {

// Every lower bound on the words across the links above level `level` (< levels - 1), all units together. Errors
// (core::ConfigurationError): the units together cannot hold one vertex and its operands.
std::vector<LowerBound> vertical_lower_bounds(const Cdag& graph, const Machine& machine, std::size_t level);

// The least such words of any play, by the letter of the rules: Dijkstra over single moves. Vertices times units, plus
// twice the vertices, at most 64; feasible to about 6 vertices. Not set when no play exists or more than `state_budget`
// states were seen.
std::optional<Words> least_vertical_words(const Cdag& graph, const Machine& machine, std::size_t level,
                                          std::size_t state_budget);

}  // namespace cairn::pebble
