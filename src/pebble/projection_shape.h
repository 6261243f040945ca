// A contraction as the projection bound sees it: which loops each access uses, how large it can be, and the largest
// number of points that given amounts of elements allow.
#pragma once

#include <optional>
#include <vector>

#include <boost/container/static_vector.hpp>

#include "cairn/pebble/projection.h"

namespace cairn::pebble {

inline constexpr std::size_t k_max_accesses = 8;

struct Operand {
  std::size_t access = 0;     // position in the contraction
  std::uint32_t loops = 0;    // coordinate loops, those of the window left out
  bool spans_window = false;  // uses every loop of the window: a filter
  double charge = 1.0;        // words charged per element: one over the number of accesses of its array
  double elements = 0.0;      // footprint
};

struct ProjectionShape {
  std::vector<Operand> operands;     // without those that constrain nothing
  std::size_t result = 0;            // among operands
  std::vector<double> extents;       // by loop
  std::uint32_t loops = 0;           // those that are not in the window
  std::uint32_t guarded = 0;         // loops in some guard or data-dependent
  std::optional<std::size_t> image;  // the operand that is read through the window
  double window_positions = 1.0;     // product of the extents of the window's loops
  double window_reuse = 1.0;         // filter positions that read the same image elements
  Words points = 0;

  std::vector<std::uint32_t> users() const;  // by loop, the window as one more at the end
};

ProjectionShape shape_of(const Contraction& contraction);

// For fixed exponents s: prod N_i^{t_i} times the window's factor.
long double loop_factor(const ProjectionShape& shape, const std::vector<double>& s);

// Largest prod_j c_j^{s_j} over sum_j charge_j c_j <= budget, 0 <= c_j <= limit_j.
struct Share {
  double exponent;
  double charge;
  double limit;
};
using Shares = boost::container::static_vector<Share, k_max_accesses>;
long double largest_product(Shares shares, double budget);

// base^exponent, base >= 0; the exponents 0, 1/2 and 1 are the common ones.
long double power(long double base, double exponent);

}  // namespace cairn::pebble
