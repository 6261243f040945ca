#include "cairn/cost/memory_bound.h"

#include "cairn/core/assert.h"

namespace cairn::cost {

KernelTime memory_bound_time(double bytes, double flops, const MemoryBoundParameters& parameters,
                             const MachineRates& rates) {
  CAIRN_ASSERT(bytes >= 0.0 && flops >= 0.0);
  CAIRN_ASSERT(parameters.memory_efficiency > 0.0 && parameters.vector_efficiency > 0.0 && rates.vector_flops > 0.0);
  KernelTime time;
  time.compute_s = flops / (parameters.vector_efficiency * rates.vector_flops);
  time.memory_s = bytes / (parameters.memory_efficiency * rates.memory_bandwidth);
  time.memory_bytes = bytes;
  const double busy_s = p_norm(time.compute_s, time.memory_s, parameters.overlap_exponent);
  time.hidden_s = time.compute_s + time.memory_s - busy_s;
  time.launch_s = parameters.gap_s;
  time.total_s = busy_s + time.launch_s;
  return time;
}

}  // namespace cairn::cost
