// Schedules in which a tile of results stays in fast memory while the operands pass by, for factorisations, symmetric
// products and convolutions. Each counts exactly what its play moves.
//
// A tile of h x w results, one operand's h (or w) words of the step at hand, one word of the other operand and, without
// sliding, a place for a new value:  h w + min(h, w) + 1 (+ 1) <= S. Results are loaded once where they have a first
// value, stored once when final.
//
// Factorisations (left-looking): tile (I, J) takes, for every step k before its own blocks, h words of column k and w
// of row k, final and stored by then; for the steps inside them the triangle of the diagonal tile it depends on:
//   LU         right of and below the diagonal: h + w per step; of the diagonal tile, below: w (w + 1) / 2, right:
//              h (h - 1) / 2, on it: none. About 2 n^3 / (3 sqrt S).
//   Cholesky   the lower triangle only; a diagonal tile takes h words per step. About n^3 / (3 sqrt S): sqrt 2 above
//              the bound, which triangular blocks of rows attain (Beaumont et al., arXiv 2202.10217).
//   SYRK       tiles of pairs i > j: h + w per step, on the diagonal h. About n^2 m / sqrt S.
// Convolution: a tile of h' x w' positions and c' channels of one image stays; for each input channel its patch is
// loaded once, then the filter's words one by one:  h' w' c' + patch + 1 (+ 1) <= S,
//   loads = tiles x ci x (patch + r s c'),   patch = words that h' x w' positions touch. About 2 G / sqrt(R S).
#pragma once

#include "cairn/pebble/operation.h"

namespace cairn::pebble {

// Side of the square tile that fits; 0 when none does.
Words stationary_tile(Words fast, Sliding sliding);

std::optional<UpperBound> lu_schedule(Words n, Words fast, Sliding sliding);
std::optional<UpperBound> cholesky_schedule(Words n, Words fast, Sliding sliding);
std::optional<UpperBound> syrk_schedule(Words n, Words m, Words fast, Sliding sliding);
std::optional<UpperBound> conv2d_schedule(const ConvSizes& sizes, Words fast, Sliding sliding);

}  // namespace cairn::pebble
