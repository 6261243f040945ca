// The wavefront bound: right after x is computed every path from what is done to what is still to do carries a live
// value, and live values beyond the fast memory must move once more.
//
//   Q >= inputs + outputs + max( cut_1(x) - S, cut_2(x) - 2S, 0 )       for every vertex x
//
// cut_a(x): least capacity of a set of values that separates x and its ancestors from its descendants, over all convex
// cuts, a word of an input or output having capacity 1, of any other value a. Reason: a live value outside fast memory
// is loaded again, beyond its first load; if it is neither input nor output it is also stored, which nothing else asks
// for.
//
// Network, solved as a minimum cut: v_in -> v_out (capacity of v), v_out -> c_in and c_in -> v_in (infinite) for every
// edge v -> c, source x_in, every descendant of x joined to the sink. A finite cut is convex: what is done has its
// operands done.
//
// Worked example, softmax of 6 with S = 4: after the last addition 6 exponentials and their sum are alive, 7 interior
// words: 12 + 2 * 7 - 2 * 4 = 18.
//
// Valid: red_blue_white, with and without sliding; false under hong_kung (a ladder graph refutes it).
// Source: Elango, Rastello, Pouchet, Ramanujam, Sadayappan, arXiv 1411.2286 (the lemma without inputs and outputs); the
// form here follows from the reason given. Max-flow: Boykov, Kolmogorov 2004, as implemented in Boost.Graph.
#pragma once

#include <cstddef>

#include "cairn/pebble/bound.h"

namespace cairn::pebble {

struct MinimumCut {
  Words capacity = 0;
  std::vector<Vertex> live;  // the values that cross the cut, increasing; their capacities add up to `capacity`
  std::vector<char> done;    // by vertex: on the side of x; closed under predecessors
};

// cut_a(x) with a = interior_capacity.
MinimumCut wavefront_cut(const Cdag& graph, Vertex x, Words interior_capacity);

inline constexpr std::size_t k_every_vertex = static_cast<std::size_t>(-1);

// The largest of the bounds over x. Vertices whose live values in the graph's own order cannot beat the best so far are
// skipped, which loses nothing. With fewer `samples` than vertices, one x is taken from each of that many stretches of
// the order: the one with most live values there, the last of equals; the bound stays valid.
LowerBound wavefront_bound(const Cdag& graph, Words fast, std::size_t samples = k_every_vertex);

// Several wavefronts: the graph's order is cut into `stretches` of equal length, each an induced part with its own x;
// their bounds add up.
LowerBound wavefront_bound_by_stretches(const Cdag& graph, Words fast, std::size_t stretches,
                                        std::size_t samples_each = k_every_vertex);

}  // namespace cairn::pebble
