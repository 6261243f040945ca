// The cheapest play of a small CDAG, with the play itself.
//
// A* over the states between two firings. A state is (computed, red, blue) as bit masks, so at most 64 vertices. One
// step is "fire v": evict just as much as v and its missing predecessors need, load those, fire. Nothing is lost by
// storing a computed output at once (its store is due in any case), by dropping what is dead at once, by forgetting
// blue on what is dead, or by loading and evicting only when a firing asks for it.
//
// Firing v at once, as the only step considered, is best when it needs no eviction and no load and either v is dead as
// soon as it is stored, or v is the only vertex that still reads some predecessor u, u weighs at least v, and v is an
// output or u is not blue: in any continuation v can stand wherever u stood, at no higher cost.
//
// Estimates, never above the remaining cost and consistent:
//   red_blue_white  blue, not red, still read  +  outputs not stored
//   hong_kung       outputs not stored  +  inputs that such an output needs by a path without red or blue in between
//
// A play in some good order is known first, and under hong_kung the best one without recomputation; only cheaper ones
// are searched. Costs are ordered by (loads + stores, stores): among the cheapest plays one with the fewest stores is
// returned.
//
// Method: Hart, Nilsson, Raphael, "A Formal Basis for the Heuristic Determination of Minimum Cost Paths", 1968.
#pragma once

#include <cstddef>
#include <optional>

#include "cairn/pebble/game.h"

namespace cairn::pebble {

inline constexpr std::size_t k_exact_max_vertices = 64;
inline constexpr std::size_t k_default_state_budget = 20'000'000;  // about 1 GB

struct ExactResult {
  Words lower = 0;               // a valid lower bound always; the optimum when `cost` is set
  std::optional<PlayCost> cost;  // loads and stores of the optimum; not set when the budget ran out
  Play play;                     // attains `cost`
  std::size_t states = 0;        // distinct states seen
};

// Errors (core::ConfigurationError): more than 64 vertices, `fast` below minimum_fast_words.
ExactResult solve_exactly(const Cdag& graph, Game game, Words fast, std::size_t state_budget = k_default_state_budget);

// The same optimum by the letter of the rules: single moves, Dijkstra, no estimate, no reduction but that blue is never
// forgotten. Exists to be compared with; feasible to about 9 vertices. Not set when more than `state_budget` states
// were seen.
std::optional<PlayCost> solve_literally(const Cdag& graph, Game game, Words fast,
                                        std::size_t state_budget = k_default_state_budget);

}  // namespace cairn::pebble
