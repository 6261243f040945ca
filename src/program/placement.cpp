#include "cairn/program/placement.h"

#include <algorithm>

#include "cairn/core/assert.h"

namespace cairn::program {

bool concerns(const SplitRule& rule, const ir::Tensor& tensor) {
  return std::any_of(tensor.dims.begin(), tensor.dims.end(), [&](const ir::TensorDim& dim) {
    return std::find(rule.dims.begin(), rule.dims.end(), dim.name) != rule.dims.end();
  });
}

int split_dim(const ir::Operator& op, const SplitRule& rule) {
  if (rule.size == 1) return -1;
  for (const std::string& name : rule.dims) {
    const int dim = op.domain.find(name);
    if (dim >= 0) return dim;
    if (std::find(op.split_elsewhere.begin(), op.split_elsewhere.end(), name) != op.split_elsewhere.end()) return -1;
  }
  return -1;
}

Placement placement(const ir::Access& access, int dim) {
  if (dim < 0) return {};
  for (std::size_t index = 0; index < access.projection.size(); ++index)
    if (access.projection[index].uses(static_cast<loopnest::DimId>(dim)))
      return {Placement::Kind::shard, static_cast<std::uint8_t>(index), ir::Monoid::sum};
  if (access.mode == ir::Mode::read) return {};
  return {Placement::Kind::partial, 0, access.monoid};
}

Placement border_placement(const ir::Tensor& tensor, const SplitRule& rule) {
  if (rule.size == 1) return {};
  for (const std::string& name : rule.dims)
    for (std::size_t index = 0; index < tensor.dims.size(); ++index)
      if (tensor.dims[index].name == name)
        return {Placement::Kind::shard, static_cast<std::uint8_t>(index), ir::Monoid::sum};
  return {};
}

Collective redistribute(const Placement& from, const Placement& to) {
  using Kind = Placement::Kind;
  CAIRN_ASSERT(to.kind != Kind::partial);
  if (from == to) return Collective::none;
  switch (from.kind) {
    case Kind::replicate:
      return Collective::none;
    case Kind::shard:
      return to.kind == Kind::shard ? Collective::all_to_all : Collective::all_gather;
    case Kind::partial:
      return to.kind == Kind::shard ? Collective::reduce_scatter : Collective::all_reduce;
  }
  return Collective::none;
}

}  // namespace cairn::program
