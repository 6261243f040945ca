// How many index tuples a list of affine forms takes over the integer points of a polytope.
#pragma once

#include <cstdint>

#include "cairn/loopnest/affine.h"
#include "polytope.h"

namespace cairn::loopnest {

// A form without its offset: different dimensions, strides other than 0.
struct Combination {
  boost::container::static_vector<Term, 3> terms;
  bool one_to_one = false;  // known to take each of its values once

  explicit Combination(const Affine& form);
  DimSet dims() const;
  friend bool operator==(const Combination& a, const Combination& b) { return a.terms == b.terms; }
};

using Combinations = boost::container::static_vector<Combination, k_max_dims>;

// |{ (f(i) for f in forms) : i in P }|, the forms over disjoint sets of live dimensions.
std::int64_t count_image(Polytope polytope, Combinations forms);

}  // namespace cairn::loopnest
