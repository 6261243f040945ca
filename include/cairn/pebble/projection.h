// Lower bounds on the data movement of a contraction, derived from its loop nest alone.
//
// One point of the domain is one multiply-add. Cut a play into stretches of T transfers. In one stretch the elements at
// hand are the at most S that were there at its start and those loaded; a stretch with c_j elements of access j at hand
// computes at most
//
//   V(c) = min over exponents s of  prod_j c_j^{s_j} * prod_i N_i^{t_i}
//   t_i  = max(0, 1 - sum of s_j over the accesses j that use loop i)
//
// points (Loomis, Whitney 1949 and Brascamp, Lieb 1976 for coordinate projections; N_i the extent of loop i, so that
// short loops are used; c_j never above the footprint of j). With U the largest V(c) over sum_j c_j <= X, a computation
// of P points needs ceil(P / U) stretches, that is at least T (ceil(P / U) - 1) transfers. T is chosen best.
//
// Result loaded and stored (C += A B): X = S + T, T counting loads only; plus one store per result. All games.
//
// Result only stored (C = A B):
//   a zero loaded per result makes it the former, and the zeros cancel the stores; red_blue_white, with sliding at
//   S + 1 for the zero's own place;
//   or X = 2 S + T, T counting loads and stores: a sum begun in a stretch is there at its end or stored in it. This
//   needs no zeros and holds in all games.
//
// One access free (made or used up by a neighbour in a larger graph, its movement not counted here): those of its
// elements whose points all lie in one stretch need whole rows of the others; the rest are at hand at one of the ends,
// or loaded or stored, so with the others' elements at most 2 S + T. red_blue_white.
//
// Convolution: an index of two loops, stride * x + dilation * r, takes each value at most R = ceil(N_r gcd / stride)
// times per x; summing the bound over filter positions with Cauchy-Schwarz (Hoelder for other exponents) gives the
// factor R^{1 - s_filter}.
//
// Two reads of one array may read the same elements: each is charged with its share, half of it for two. All roundings
// go down.
//
// Worked example, C += A B with m = n = k: s = (1/2, 1/2, 1/2), U = (X/3)^{3/2}, T = 2 S, so that the loads are at
// least 2 m n k / sqrt(S) - 2 S.
//
// Sources: Hong, Kung 1981; Irony, Toledo, Tiskin 2004; Smith et al., arXiv 1702.02017; Christ et al., arXiv 1308.0068;
// Dinh, Demmel, arXiv 2003.00119 (short loops). The cases above are proved by the argument given.
#pragma once

#include <string>
#include <vector>

#include "cairn/loopnest/domain.h"
#include "cairn/pebble/bound.h"

namespace cairn::pebble {

enum class Role : std::uint8_t {
  read,        // its elements lie in slow memory at the start
  update,      // running sums that start from and end in slow memory: C += A B
  produce,     // running sums that start from nothing and end in slow memory: C = A B
  read_free,   // made by a neighbour; this part does not count their movement
  result_free  // used up by a neighbour; this part does not count their movement
};

struct Access {
  std::string array;  // two accesses of one array share the name
  loopnest::Projection index;
  Role role = Role::read;
};

// Exactly one access is the result (update, produce or result_free); no guard or form that the counts of loopnest
// refuse.
struct Contraction {
  std::string name;
  loopnest::Domain domain;
  loopnest::Sizes sizes;
  std::vector<Access> accesses;
};

// The compulsory bound and every bound that the contraction's projections give with `fast` words; at least one for each
// game. A bound that says nothing has 0 words. Errors (core::ConfigurationError): no or several results, a fast memory
// below 1 word.
std::vector<LowerBound> projection_bounds(const Contraction& contraction, Words fast);

// The better of the compulsory bound and the projections' in the red-blue-white game with sliding, which hold without
// it too, T being S, 2 S or 4 S: at most the largest of projection_bounds and close to it, in a fraction of the time.
// Errors as there, and an access that is free.
LowerBound quick_projection_bound(const Contraction& contraction, Words fast);

// Words that cross the link above the busiest of `units` equal units of one memory level, each with `fast` words at and
// below it: one of them computes at least its share of the points, whatever the others do, and in a stretch of T
// transfers has X = 2 S + T elements at hand. The divided share, not the divided bound: the latter would be wrong.
// Vertical for a level of an accelerator, horizontal (received and sent) for the node memories.
// Valid: no recomputation (P-RBW, Elango et al., arXiv 1404.4767), words in both directions, any placement of the data.
LowerBound projection_bound_of_share(const Contraction& contraction, Words units, Words fast);

// Words of the distinct elements of one access.
Words footprint(const Contraction& contraction, const Access& access);

// The asymptotic form for large loops and points much beyond S: coefficient * points / S^exponent, from the exponents
// that need no short loop. Where the exponents sum to at most 1 each element is used a bounded number of times and only
// the compulsory bound is left (coefficient 0). Leading terms are no bounds: do not compare them with anything by <=.
struct LeadingTerm {
  double coefficient = 0.0;
  double exponent = 0.0;
  std::vector<double> shares;  // s_j by access
  std::string expression;      // 2*m*n*k/S^0.5
};
LeadingTerm leading_term(const Contraction& contraction);

}  // namespace cairn::pebble
