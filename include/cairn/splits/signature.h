// The ways to split one operator over a mesh (nd-SBP signatures), derived from its loop nest.
//
// Along each axis an operator is split over one dimension of its domain, or replicated, or, where it is linear, passes
// partial sums through. What that makes of its operands is program::placement's rule, with what sums need:
//
//   split over d     d indexes the operand               S(that dimension)
//                    it does not, the operand is read    B; P where it is added to a sum over d, as a bias is
//                    the operand is summed over d        P
//                    rows looked up by index, d the row  P: the device that has the row makes it, the others zeros
//                    a norm's or softmax' statistic      B: its parts are exchanged within the operator
//   replicated                                           B
//   partial          the operand that carries summands   P, all that are added P, the others B, the result P
//
// Matrix product Y[m, n] += X[m, k] W[k, n]: S(m): (S(0), B) -> S(0); S(n): (B, S(1)) -> S(1);
// S(k): (S(1), S(0)) -> P; P(X): (P, B) -> P; P(W): (B, P) -> P; B: (B, B) -> B; and no others.
//
// A dimension may be split where each index form a*i[d] + (rest) + offset that it stands in cuts the tensor's dimension
// into equal blocks:
//
//   offset = 0,   0 <= rest < a,   a extent(d) = extent of the tensor's dimension
//
// so not the positions of windows that overlap or are padded, but those of windows side by side, and the outermost of
// the dimensions that a view merges. Each result is indexed by d or is one of the cases above. Further: a dimension
// that is selected by data (an expert) only in a gather; of a scan, whose recurrence the loop nest does not show, only
// the batch ("b", "batch"); the extent divides by the devices of all axes that split d, which nest, the outer first.
// A signature along several axes is one along each, applied to the part of the operator that the outer axes leave.
//
// The derivative is linear in the result's gradient, and its placements follow:
//
//   operand             S(i)   P   B, operator replicated   B, operator split or partial
//   its gradient        S(i)   B   B                        P where it is made (read operands), B where it is wanted
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cairn/ir/graph.h"
#include "cairn/splits/boxing.h"

namespace cairn::splits {

// What an operator does along one mesh axis.
struct AxisPart {
  enum class Kind : std::uint8_t { replicate, split, partial };
  Kind kind = Kind::replicate;
  loopnest::DimId dim = 0;   // split
  std::uint8_t carrier = 0;  // partial: the first access that carries summands
  friend bool operator==(const AxisPart&, const AxisPart&) = default;
};

struct OperandPlacement {
  NdPlacement value;
  NdPlacement gradient;  // of a read operand as the derivative makes it, of a result as the derivative wants it
  friend bool operator==(const OperandPlacement&, const OperandPlacement&) = default;
};

struct Signature {
  boost::container::static_vector<AxisPart, k_max_mesh_axes> parts;  // one per mesh axis
  std::vector<OperandPlacement> operands;                            // one per access
};

// All signatures of an operator of the forward pass, the replicated one first. Indices are no summands, and
// parameters only where they are added.
std::vector<Signature> signatures(const ir::Graph& graph, const ir::Operator& op, const Mesh& mesh,
                                  const loopnest::Sizes& sizes);

// Parts into which the axes cut a dimension of the domain.
std::int64_t parts_of(const Signature& signature, loopnest::DimId dim, const Mesh& mesh);

// "S(m) B P(X)": per axis the dimension, or the tensor that carries summands ("P" where all do).
std::string text(const ir::Graph& graph, const ir::Operator& op, const Signature& signature);

}  // namespace cairn::splits
