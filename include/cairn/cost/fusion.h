// Which consecutive operators of a layer to run as one, and in which tiles: a schedule, so an upper bound on the bytes
// that the layer moves.
//
// A group runs tile by tile over the axes that its operators share, all of them on one tile before the next. An axis is
// shared when each operator has exactly one dimension of it (found by following indices through the tensors), of one
// extent, that no operator of the group sums over. With tiles of t_c of the N_c values of axis c,
// n_c = ceil(N_c / t_c):
//   made and used inside only      never leaves the chip
//   made inside, wanted later      stored once; gradients of parameters that are added to are loaded as well
//   read from outside              loaded prod { n_c : c not an axis of the tensor } times; once for each tile of its
//                                  own axes where it stays on the chip meanwhile
// The chip holds, at the worst operator, the tiles that live then: results of the group, operands that are used again,
// and a slice of what passes by (an operand of a product, one step of its sum long; an element elsewhere). Rows that
// are normalised are held whole. Tiles are powers of two and the whole extent; groups are found by dynamic programming
// over the operators in order: f(j) = min over i of f(i) + bytes(i..j).
//
// This is the composition bound read the other way (pebble/operation.h): what a group saves is the movement of the
// values passed inside it, what it pays are operands read again because tiles have become smaller.
//
// Worked example, two products x W1 W2 of m rows, widths k, n and l, on a chip that holds b (k + n + l) words and no
// weights: m k + m l + (k n + n l) ceil(m / b) words, against (m k + k n + m n) + (m n + n l + m l) one by one.
//
// Source: tile-wise fusion of Ivanov et al., "Data Movement Is All You Need" (MLSys 2021), extended to contractions.
// Valid: one chip whose memories count as one; every value computed once.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cairn/ir/graph.h"

namespace cairn::cost {

struct FusedGroup {
  std::vector<std::size_t> operators;
  double bytes = 0.0;                                       // moved
  double chip_bytes = 0.0;                                  // held at the fullest moment
  std::vector<std::pair<std::string, std::int64_t>> tiles;  // axes that are cut, and the size of a tile
};

// What may be fused: everything, only operators that are no contractions, or nothing (each operator in its best tiles).
enum class Fusion : std::uint8_t { any, without_contractions, none };

// The operators [0, count) of the graph at `sizes`. `kept`, by tensor: wanted after the last of them.
std::vector<FusedGroup> fuse(const ir::Graph& graph, const loopnest::Sizes& sizes, double on_chip_bytes,
                             std::size_t count, const std::vector<char>& kept, Fusion fusion);

double moved_bytes(const std::vector<FusedGroup>& groups);

}  // namespace cairn::cost
