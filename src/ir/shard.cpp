#include "cairn/ir/graph.h"

namespace cairn::ir {

namespace {

double flops_under(const Shard& shard, const std::vector<loopnest::Guard>& guards) {
  return static_cast<double>(shard.op->domain.guarded_by(guards).points(shard.box)) * shard.op->flops_per_point /
         shard.parts;
}

}  // namespace

double flops(const Shard& shard) {
  return static_cast<double>(shard.op->domain.points(shard.box)) * shard.op->flops_per_point / shard.parts;
}

double flops_unmasked(const Shard& shard) {
  if (shard.op->unmasked.empty()) return flops(shard);
  return flops_under(shard, shard.op->unmasked);
}

double flops_full(const Shard& shard) { return flops_under(shard, shard.op->full); }

double bytes(const Shard& shard, const Access& access) {
  const Tensor& tensor = shard.graph->tensor(access.tensor);
  // A parameter's gradient accumulates over micro-batches, so it is read as well as written.
  const bool read_modify_write = access.mode == Mode::accumulate && tensor.role == Role::gradient &&
                                 tensor.of != k_no_tensor && shard.graph->tensor(tensor.of).role == Role::parameter;
  const double elements = static_cast<double>(shard.op->domain.footprint(access.projection, shard.box));
  return elements * numerics::bytes_per_element(tensor.format) * (read_modify_write ? 2.0 : 1.0) / shard.parts;
}

double bytes(const Shard& shard) {
  double total = 0.0;
  for (const Access& access : shard.op->accesses) total += bytes(shard, access);
  return total;
}

}  // namespace cairn::ir
