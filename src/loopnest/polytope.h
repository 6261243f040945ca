// The integer points of a box cut by half-spaces: the geometry under Domain.
//
//   P = { i : begin_d <= i_d < end_d for every live dimension d, sum_d stride_gd * i_d + offset_g >= 0 for every g }
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include <boost/container/static_vector.hpp>

#include "cairn/loopnest/domain.h"

namespace cairn::loopnest {

// Calls visit(d) for every dimension of the set, ascending.
template <class Visit>
void for_each_dim(DimSet dims, Visit visit) {
  for (; dims != 0; dims &= static_cast<DimSet>(dims - 1)) visit(static_cast<DimId>(std::countr_zero(dims)));
}

inline DimSet without(DimSet dims, DimSet removed) { return static_cast<DimSet>(dims & ~removed); }

struct Halfspace {
  std::array<std::int64_t, k_max_dims> stride{};
  std::int64_t offset = 0;
  DimSet dims = 0;  // those of stride other than 0

  void add_term(DimId dim, std::int64_t stride_of_dim);
  // Replaces the dimension by a value.
  void fix(DimId dim, std::int64_t value);
};

// Room for the half-spaces that elimination adds to the guards.
inline constexpr std::size_t k_max_halfspaces = 16;

struct Polytope {
  std::array<Interval, k_max_dims> range{};
  DimSet dims = 0;
  boost::container::static_vector<Halfspace, k_max_halfspaces> halfspaces;

  DimSet cut_dims() const;  // those in some half-space
  void fix(DimId dim, std::int64_t value);
};

// Drops half-spaces that hold everywhere and turns those of one dimension into bounds of its range.
// Returns false when the polytope is seen to hold no point; every cut left has two dimensions or more.
bool tighten(Polytope& polytope);

// |P|. Dimensions that no cut connects multiply; connected groups of two are summed in closed form, larger ones are
// enumerated over their shortest dimensions down to two.
std::int64_t count(Polytope polytope);

// Replaces a tight P by its shadow on the other dimensions, { i without d : some integer i_d completes it to a point of
// P }. Fourier-Motzkin elimination, which is exact on integers when d is bounded by cuts from one side only, or when
// all cuts from one side have stride 1 in d (its bounds on that side are integers). Otherwise returns false and leaves
// P as it was.
bool eliminate(Polytope& polytope, DimId dim);

}  // namespace cairn::loopnest
