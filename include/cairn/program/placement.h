// How an operator's iterations are split over a mesh axis, and what that makes of each tensor it touches.
//
// A rule names, for one axis, the dimensions that may be split over it, in order of preference; the first one an
// operator has is split in blocks. Placements are never written down, they follow from the projections:
//   the split dimension indexes the tensor          -> Shard(that tensor dimension)
//   it does not, and the tensor is read             -> Replicate
//   it does not, and the tensor is accumulated into -> Partial(monoid)
// A tensor produced in one placement and wanted in another is redistributed:
//   from \ to    Shard(j)          Replicate
//   Shard(i)     i = j: nothing,   all-gather
//                else all-to-all
//   Replicate    nothing (slice)   nothing
//   Partial      reduce-scatter    all-reduce
// Example: rows of X over t ranks, W split by columns, then Y split by rows: the second product leaves Partial(sum) and
// the consumer's placement decides between all-reduce and reduce-scatter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cairn/collective/collective.h"
#include "cairn/ir/graph.h"
#include "cairn/program/mesh.h"

namespace cairn::program {

struct SplitRule {
  Axis axis = Axis::tensor;
  std::int64_t size = 1;
  std::vector<std::string> dims;  // in order of preference
};

// Whether the tensor has a dimension that the rule names, so that it belongs to the mesh of the rule's axis (dense or
// expert). A rule does not apply to tensors of the other mesh: there each rank uses its own.
bool concerns(const SplitRule& rule, const ir::Tensor& tensor);

// The dimension of `op` that the rule splits, or -1.
int split_dim(const ir::Operator& op, const SplitRule& rule);

struct Placement {
  enum class Kind : std::uint8_t { replicate, shard, partial };
  Kind kind = Kind::replicate;
  std::uint8_t dim = 0;                 // shard: which tensor dimension
  ir::Monoid monoid = ir::Monoid::sum;  // partial: how the parts combine
  friend bool operator==(const Placement&, const Placement&) = default;
};

// Placement of one accessed tensor over the axis whose rule splits `dim` (-1: the operator is replicated over the
// axis).
Placement placement(const ir::Access& access, int dim);

// Placement of a tensor at a layer's border: as a pointwise operator over its own dimensions would produce it.
Placement border_placement(const ir::Tensor& tensor, const SplitRule& rule);

using collective::Collective;

Collective redistribute(const Placement& from, const Placement& to);  // the table above; `none` where nothing is sent

}  // namespace cairn::program
