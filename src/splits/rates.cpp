#include "cairn/splits/rates.h"

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "complaint.h"

namespace cairn::splits {
namespace {

double flops_per_point(const ir::Shard& shard) {
  const ir::Operator& op = *shard.op;
  if (op.forward < 0) return op.flops_per_point;
  const ir::Operator& forward = shard.graph->op(op.forward);
  return op.flops_per_point == 0.0 || forward.kind == ir::Kind::scan ? forward.flops_per_point : op.flops_per_point;
}

}  // namespace

RatePricer::RatePricer(const Mesh& mesh, const Rates& rates) : mesh_(mesh), rates_(rates) {
  core::Diagnostics diagnostics;
  const auto check = [&](bool holds, const char* key, const char* message) {
    if (!holds) complain(diagnostics, key, message);
  };
  const auto can_be = [](const AxisLinks& links) {
    return links.latency >= core::Seconds{} && links.bandwidth > core::BytesPerSecond{};
  };
  check(rates.axes.size() == mesh.size(), "mesh axes", "each needs a latency and a bandwidth");
  for (const AxisLinks& axis : rates.axes)
    check(can_be(axis), "mesh axes", "each needs no negative latency and a positive bandwidth");
  check(!rates.stages || can_be(*rates.stages), "stages", "need no negative latency and a positive bandwidth");
  check(rates.peak > core::FlopsPerSecond{}, "peak", "must be positive");
  check(rates.efficiency > 0.0 && rates.efficiency <= 1.0, "efficiency", "must be in (0, 1]");
  diagnostics.raise_if_errors();
}

predict::Price RatePricer::shard(const ir::Shard& shard) {
  const double flops = static_cast<double>(shard.op->domain.points(shard.box)) * flops_per_point(shard);
  return {.duration = core::to_picoseconds(flops / (rates_.peak * rates_.efficiency).base())};
}

predict::Price RatePricer::transfer(const program::Transfer& transfer) {
  if (transfer.collective == program::Collective::send) {
    CAIRN_ASSERT(rates_.stages && "a message runs between stages");
    const core::Seconds sent =
        rates_.stages->latency + core::Bytes::from_base(transfer.bytes) / rates_.stages->bandwidth;
    return {.duration = core::to_picoseconds(sent / core::k_second)};
  }
  std::size_t axis = 0;
  while (axis < mesh_.size() && group_of(mesh_, axis) != transfer.group) ++axis;
  CAIRN_ASSERT(axis < mesh_.size() && "a transfer runs along an axis of the mesh");
  const auto p = static_cast<double>(transfer.group.size);
  const bool reduces_all = transfer.collective == program::Collective::all_reduce;
  const double rounds = reduces_all ? 2.0 : 1.0;
  const double shared =
      transfer.collective == program::Collective::all_to_all ? transfer.bytes / p : transfer.bytes * rounds;
  const AxisLinks& links = rates_.axes[axis];
  const core::Seconds time =
      links.latency * (rounds * (p - 1.0)) + core::Bytes::from_base((p - 1.0) / p * shared) / links.bandwidth;
  return {.duration = core::to_picoseconds(time / core::k_second)};
}

}  // namespace cairn::splits
