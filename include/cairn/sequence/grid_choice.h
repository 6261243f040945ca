// Which grid of rows x columns ranks exchanges least when rows gather queries and columns gather keys and values
// (ATTENTION2D).
//
// Per token that a rank owns it receives, with d words of Q and d / g of K over all heads,
//   forward    2 d (columns - 1)  Q, O           2 (d / g) (rows - 1)  K, V
//   backward   3 d (columns - 1)  Q, dO, dQ      4 (d / g) (rows - 1)  K, V, dK, dV
// in elements of one size, without log-sum-exp and delta. Both passes together, a columns + (b / g) rows with rows x
// columns = p is least at
//   columns* = sqrt(b p / (a g))   rows* = sqrt(a g p / b)   a, b = 2, 2 forward and 5, 6 in training
// and rises as cosh(log(columns / columns*)) to both sides, so that of the divisors of p the nearest on a logarithmic
// scale is the best.
//
// Example: p = 64. g = 1 forward 8 x 8; g = 4 forward 16 x 4; in training columns* = 8.76 and 4.38, the same grids.
// Source: V. Elango, ATTENTION2D, arXiv 2503.15758, for the grid; the shapes are derived here.
#pragma once

#include <cstdint>

namespace cairn::sequence {

enum class GridUse : std::uint8_t { forward, training };

struct RealGrid {
  double rows = 1.0;
  double columns = 1.0;
};
struct WholeGrid {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  friend bool operator==(const WholeGrid&, const WholeGrid&) = default;
};

// rows* and columns* of `ranks` ranks; `group` query heads read one key head. Either may lie below 1.
// Errors of both: ConfigurationError for less than one rank or less than one query head to a key head.
RealGrid best_real_grid(std::int64_t ranks, std::int64_t group, GridUse use);

// The grid that exchanges least. Of two that exchange the same it has the fewer columns, since log-sum-exp and delta,
// which are left out, pass along rows.
WholeGrid best_grid(std::int64_t ranks, std::int64_t group, GridUse use);

}  // namespace cairn::sequence
