// Max-plus algebra over the frontiers of a stage's streams: "addition" is max, "multiplication" is +.
//
// A block maps the frontiers x (when each stream becomes free) to new ones by a matrix: x'_i = max_j ( M_ij + x_j ).
// Blocks in a row multiply; n equal ones are a power. Exact in integers, whatever overlaps across their borders.
//   Example, streams (compute, data): a layer that computes for 3 and then sends gradients for 5 beside the next layer:
//   M = [[3, -], [8, 5]]; two layers: M*M = [[6, -], [13, 10]]: the second send waits for the first, 3 + 5 + 5 = 13.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "cairn/core/time.h"
#include "cairn/plan/program.h"

namespace cairn::predict {

using Frontiers = std::array<core::Picoseconds, plan::k_streams>;

// Keeps "never" from drifting below its floor when durations are added to it many times over.
constexpr core::Picoseconds plus(core::Picoseconds a, core::Picoseconds b) { return std::max(a + b, core::k_never); }

// A time as a function of the entry frontiers: max_j ( c_j + x_j ).
struct Form {
  std::array<core::Picoseconds, plan::k_streams> c;

  static Form never() {
    Form form;
    form.c.fill(core::k_never);
    return form;
  }
  static Form unit(std::size_t stream) {
    Form form = never();
    form.c[stream] = 0;
    return form;
  }
};
inline Form latest(const Form& a, const Form& b) {
  Form result;
  for (std::size_t i = 0; i < plan::k_streams; ++i) result.c[i] = std::max(a.c[i], b.c[i]);
  return result;
}
inline Form later(const Form& a, core::Picoseconds by) {
  Form result;
  for (std::size_t i = 0; i < plan::k_streams; ++i) result.c[i] = plus(a.c[i], by);
  return result;
}
inline core::Picoseconds latest(core::Picoseconds a, core::Picoseconds b) { return std::max(a, b); }
inline core::Picoseconds later(core::Picoseconds a, core::Picoseconds by) { return a + by; }

struct Matrix {
  std::array<Form, plan::k_streams> row;

  static Matrix identity();
  Frontiers operator()(const Frontiers& x) const;
};
// The matrix of `first`, then `second`.
Matrix compose(const Matrix& first, const Matrix& second);
Matrix power(const Matrix& matrix, std::int64_t exponent);

}  // namespace cairn::predict
