// The iteration domain of an operator: named dimensions, guards, and exact integer counts over boxes of it.
//
//   D = { i in box : guard_g(i) >= 0 for every g }            points = |D|
//   footprint(P) = |{ P(i) : i in D }|                         distinct tensor elements touched through projection P
//
// This is the only source of FLOPs (points x FLOPs per point), bytes (footprint x bytes per element), causal work,
// halos and data-movement bounds. Worked example, causal attention scores with 4 queries and 4 keys: dims (q: 4, k: 4),
// guard q - k >= 0; points = 4+3+2+1 = 10, footprint of the projection (q) = 4; on the box q in [0,2): points 3,
// footprint of (k) = 2.
//
// The halo of a shard is the footprint of its box: a 3x3 convolution of stride 2 reads in[ci, 2*y + r, 2*x + t]; on the
// box x in [0,4), t in [0,3) the third form takes 9 values, of which 8 belong to the shard and 1 to its neighbour.
//
// A dimension may be *selective*: of its extent only `selected` values are visited for each combination of the
// dimensions that choose them, which ones depending on data (the row of an embedding table, the experts of a token). A
// box that is narrower than `selected` visits all it has. Points count `selected`; the footprint through a selective
// dimension v of extent V, beside an index part rho of other dimensions, is an upper bound:
//
//   footprint(v, rho) <= min( V * |{ rho }|, selected * |{ (c, rho) }| )      c: the choosing dimensions
//
// Embedding W[v, h] over (b, s, h, v), v chosen by (b, s): min(V, b*s) * h rows times columns. Experts, e of E chosen
// by the token t, k of them: weights W[e, f] min(E, k*t) * f, activations Y[t, e, f] min(E, k) * t * f.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include <boost/container/static_vector.hpp>

#include "cairn/loopnest/affine.h"

namespace cairn::loopnest {

struct Dim {
  std::string name;
  Extent extent;
  std::int64_t selected = 0;      // 0: every value is visited
  DimSet chosen_by = k_all_dims;  // of a selective dimension: those its choice depends on, itself aside
};

// A guard: form(i) >= 0. Four suffice for a window, or for the padding of a two-dimensional convolution.
using Guard = Affine;
inline constexpr std::size_t k_max_guards = 4;

// Half-open range of one dimension.
struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t extent() const { return end - begin; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

// One interval per dimension of the domain.
using Box = boost::container::static_vector<Interval, k_max_dims>;

class Domain {
 public:
  // Returns the id of the new dimension. At most k_max_dims.
  DimId add(std::string name, Extent extent, std::int64_t selected = 0);
  // The values of a selective dimension depend on these dimensions only. Without it: on all others, the loosest bound.
  void choose(DimId selective, std::initializer_list<DimId> by);
  // At most k_max_guards, none over a selective dimension.
  void add_guard(Guard guard);
  // The same dimensions under these guards alone.
  Domain guarded_by(std::span<const Guard> guards) const;

  const boost::container::static_vector<Dim, k_max_dims>& dims() const { return dims_; }
  const boost::container::static_vector<Guard, k_max_guards>& guards() const { return guards_; }
  // The dimension of that name, or -1.
  int find(std::string_view name) const;

  // The whole domain at given sizes: [0, extent) in every dimension.
  Box box(const Sizes& sizes) const;

  // Exact number of points of the domain inside `box`; an interval with end <= begin is empty.
  // Model: dimensions in no guard multiply; so do groups of dimensions that guards connect. A guard of one dimension
  // clips its interval; groups of two dimensions are summed in closed form (one floor sum per linear piece, O(log
  // stride)); larger groups are enumerated over their shortest dimensions down to two.
  // Valid: result < 2^63; coordinates and guard offsets within 2^61 (checked).
  std::int64_t points(const Box& box) const;

  // Points ignoring the guards.
  std::int64_t points_unguarded(const Box& box) const;

  // Exact number of distinct index tuples of `projection` over the points in `box` (upper bound through selective
  // dimensions).
  // Model: dimensions outside the projection are eliminated (which values of the rest do they leave attainable?), then
  //   form of one dimension            its attainable values
  //   a*x + b*r, x < X, r < R          X*R - max(0, X - b') * max(0, R - a'), a' = |a|/gcd(a, b), b' = |b|/gcd(a, b)
  //   forms coupled by guards          points of the eliminated domain, when each form takes each value once
  // Three-term forms that neither are one-to-one nor reduce to two progressions, and guards that cut a many-to-one form
  // other than along its value, are counted by marking values: time and memory in proportion to the box.
  // Valid: forms that share a dimension are equal up to their offsets; a selective dimension stands alone in its form;
  // at most 2^26 values to mark (checked).
  std::int64_t footprint(const Projection& projection, const Box& box) const;

 private:
  boost::container::static_vector<Dim, k_max_dims> dims_;
  boost::container::static_vector<Guard, k_max_guards> guards_;
};

}  // namespace cairn::loopnest
