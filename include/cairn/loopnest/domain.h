// The iteration domain of an operator: named dimensions, guards, and exact integer counts over boxes of it.
//
//   D = { i in box : guard_g(i) >= 0 for every g }            points = |D|
//   footprint(P) = |{ P(i) : i in D }|                         distinct tensor elements touched through projection P
//
// This is the only source of FLOPs (points x FLOPs per point), bytes (footprint x bytes per element), causal work, halos and
// data-movement bounds. Worked example, causal attention scores with 4 queries and 4 keys: dims (q: 4, k: 4), guard q - k >= 0;
// points = 4+3+2+1 = 10, footprint of the projection (q) = 4; on the box q in [0,2): points 3, footprint of (k) = 2.
//
// A dimension may be *selective*: of its extent only `selected` values are visited for each combination of the other
// dimensions, which ones depending on data (the row of an embedding table, the experts of a token). Points count `selected`;
// the footprint through it is an upper bound, min(extent, visits).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <boost/container/static_vector.hpp>

#include "cairn/loopnest/affine.h"

namespace cairn::loopnest {

struct Dim {
  std::string name;
  Extent extent;
  std::int64_t selected = 0;  // 0: every value is visited
};

// A guard: form(i) >= 0.
using Guard = Affine;

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
  void add_guard(Guard guard) { guards_.push_back(guard); }

  const boost::container::static_vector<Dim, k_max_dims>& dims() const { return dims_; }
  const boost::container::static_vector<Guard, 2>& guards() const { return guards_; }
  // The dimension of that name, or -1.
  int find(std::string_view name) const;

  // The whole domain at given sizes: [0, extent) in every dimension.
  Box box(const Sizes& sizes) const;

  // Exact number of points of the domain inside `box`. Guards of up to two dimensions each are summed in closed form
  // (floor sums); others are enumerated over their outer dimensions.
  // Valid: |result| < 2^63 (checked).
  std::int64_t points(const Box& box) const;

  // Points ignoring the guards: what a kernel without masking support executes, and what "full attention" FLOPs count.
  std::int64_t points_unguarded(const Box& box) const;

  // Exact number of distinct index tuples of `projection` over the points in `box` (upper bound through selective dimensions).
  // Forms that share a dimension are rejected by CAIRN_ASSERT unless identical.
  std::int64_t footprint(const Projection& projection, const Box& box) const;

 private:
  boost::container::static_vector<Dim, k_max_dims> dims_;
  boost::container::static_vector<Guard, 2> guards_;
};

}  // namespace cairn::loopnest
