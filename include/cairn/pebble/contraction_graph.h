// The CDAG of a contraction at concrete small sizes, its points in a tiled order: one vertex per point, reading its
// operands and the running sum of its result. With play_in_order this is a schedule that can be verified; with the
// exact solver a check of the contraction's bounds.
#pragma once

#include <vector>

#include "cairn/pebble/projection.h"

namespace cairn::pebble {

// Tiles one after the other, the first loop named outermost; inside a tile the points likewise by `inside`. A tile of 0
// is the whole extent.
struct TiledOrder {
  std::vector<loopnest::DimId> tiles, inside;  // every loop once
  std::vector<Words> tile;                     // by loop
};

// Program order: the loops as declared, no tiles.
TiledOrder program_order(const Contraction& contraction);

// Reads: inputs, made when first touched (read_free: sources that are no inputs). Result: outputs (result_free: none);
// update: the first sum reads an input. Errors (core::ConfigurationError): data-dependent loops, more than 10^7 points.
Cdag contraction_graph(const Contraction& contraction, const TiledOrder& order);

}  // namespace cairn::pebble
