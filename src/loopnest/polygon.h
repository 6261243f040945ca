// Lattice points of a two-dimensional polytope in closed form.
#pragma once

#include <cstdint>

#include "integers.h"
#include "polytope.h"

namespace cairn::loopnest {

// Shrinks the range to where stride * i + offset >= 0, stride not 0.
void clip(Interval& range, Wide stride, Wide offset);

// |P| for a tight P of two live dimensions. With x the outer dimension and y the inner one, every cut a*x + b*y + c >=
// 0 is a line (a*x + c) / |b|, an upper bound of y for b < 0 and of -y for b > 0; the box adds the bounds last_y and
// -first_y.
//
//   |P| = sum over x of ( floor(min of upper bounds of y) + floor(min of upper bounds of -y) + 1 )
//
// over the x where both minima leave room, an interval because P is convex; there no term is negative. Each minimum is
// piecewise linear, so the sum is one floor_sum per piece.
std::int64_t count_polygon(const Polytope& polytope);

}  // namespace cairn::loopnest
