// GSPMD: placements of all tensors and operators from those of a few tensors that somebody annotated.
//
// An annotation says for some mesh axes how a tensor lies along them, S(dimension) or B; the other axes are open. What
// is open is filled in from neighbours, round by round. In a round every operator proposes: where a way to split it over
// an axis (splits/signature.h) agrees with an operand that is split already, its open operands are to be split as that
// way has them. A tensor with several proposals takes the first by kind, then by its own dimension:
//
//   element by element, views     any operand to any other
//   dimensions of the result      from operands to the result and back, and from operand to operand
//   summed dimensions             from operand to operand
//
// A later kind is asked only when no earlier one has anything left to say. All proposals of a round are made from the
// placements before it, so that no order of annotations or operators matters; nothing that is placed changes, so that
// propagating the outcome once more gives the same. A dimension takes a further axis while its extent divides. What is
// still open at the end is B.
//
// Each operator then works the way that re-places the fewest of its operands, the first of several.
//
// Example: of Y = gelu(X W1) W2, W1 annotated as split over its columns. H = X W1 and gelu(H) follow, the rows of W2
// follow these along a summed dimension, and Y is a partial sum that becomes whole: Megatron's columns and rows.
// Source: Y. Xu et al., "GSPMD: General and Scalable Parallelization for ML Computation Graphs", 2021 (arXiv
// 2105.04663), section 3.5; priorities among equals are ours.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/splits/autoddl.h"

namespace cairn::splits {

// One per mesh axis; none: open.
using OpenPlacement = boost::container::static_vector<std::optional<Placement>, k_max_mesh_axes>;

struct Annotation {
  std::string tensor = {};
  OpenPlacement placement = {};
};

// "S(n) B *": per axis a dimension of the tensor by name or position, B, or * for open.
// Errors: core::ConfigurationError at `key`, with the tensor's dimensions.
OpenPlacement read_placement(const ir::Tensor& tensor, std::string_view text, std::size_t axes, const std::string& key);

struct Propagated {
  std::vector<NdPlacement> tensors;     // of the forward pass, by id
  std::vector<choice::Option> options;  // one per operator of the problem
  std::size_t rounds = 0;               // that changed something
};

// Errors: core::ConfigurationError at annotations.NAME for a tensor that the forward pass has not, one annotated twice
// and differently, one that does not divide, one with a placement for other than `mesh`'s axes, and a partial sum.
Propagated propagate(const PlacementProblem& problem, const Mesh& mesh, std::span<const Annotation> annotations);

}  // namespace cairn::splits
