#include "cairn/program/placement.h"

#include <algorithm>
#include <array>

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

std::string_view name(Collective collective) {
  constexpr std::array<std::string_view, 6> k_names{"none",       "all-gather", "reduce-scatter",
                                                    "all-reduce", "all-to-all", "send"};
  return k_names[static_cast<std::size_t>(collective)];
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

double bytes_sent(Collective collective, std::int64_t ranks, double bytes) {
  const auto n = static_cast<double>(ranks);
  switch (collective) {
    case Collective::none:
      return 0.0;
    case Collective::all_gather:
    case Collective::reduce_scatter:
      return (n - 1.0) / n * bytes;
    case Collective::all_reduce:
      return 2.0 * (n - 1.0) / n * bytes;
    case Collective::all_to_all:
      return (n - 1.0) / (n * n) * bytes;
    case Collective::send:
      return bytes;
  }
  return 0.0;
}

}  // namespace cairn::program
