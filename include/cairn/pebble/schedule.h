// Upper bounds by playing: a firing order and a replacement rule give a legal play, and its cost is what a program in
// that order pays.
//
// Before v is fired its missing operands are loaded; what must make room is chosen by the rule and stored first when it
// is live and not yet in slow memory; dead values are dropped, outputs stored when made. Nothing is computed twice, so
// the play is legal under both rules, and without slides in the sliding games too.
//   farthest_next_use    Belady 1966: fewest loads for a given order; not fewest transfers, since a victim may have
//                        to be stored
//   least_recently_used  what a cache without foresight does
#pragma once

#include <span>

#include "cairn/pebble/bound.h"

namespace cairn::pebble {

enum class Replacement : std::uint8_t { farthest_next_use, least_recently_used };

struct OrderedPlay {
  std::span<const Vertex>
      order;  // every vertex once, after its predecessors; inputs are loaded when first read, wherever they stand
  Replacement replacement = Replacement::farthest_next_use;
};

// Errors (core::ConfigurationError): `fast` below minimum_fast_words. An order that is none is a bug.
UpperBound play_in_order(const Cdag& graph, Sliding sliding, Words fast, const OrderedPlay& plan);

// Operands right before what reads them: depth first from the sinks, in their order.
std::vector<Vertex> depth_first_order(const Cdag& graph);

// Always the vertex that adds least to the live words, of those the one whose operands were made last.
std::vector<Vertex> greedy_order(const Cdag& graph);

// Convex parts grown along the order as long as their live words fit in `fast`, each then executed on its own: from a
// ready vertex, its successors and the other operands' siblings are preferred to going on in the order. Source of the
// idea: Fauzia et al., "Beyond reuse distance analysis", TACO 2013 (arXiv 1401.5024).
std::vector<Vertex> convex_partition_order(const Cdag& graph, Words fast);

// The cheapest play of all the orders above and the graph's own.
UpperBound best_ordered_play(const Cdag& graph, Sliding sliding, Words fast);

}  // namespace cairn::pebble
