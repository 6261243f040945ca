#include "cairn/cost/memory_bound.h"

#include <algorithm>

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

KernelTime measured_kernel_time(double bytes, const KernelLaw& law, double gap_s, const MachineRates& rates) {
  CAIRN_ASSERT(bytes >= 0.0 && law.floor_s >= 0.0 && law.efficiency > 0.0);
  KernelTime time;
  time.memory_s = bytes / (law.efficiency * rates.memory_bandwidth);
  time.memory_bytes = bytes;
  time.launch_s = std::min(gap_s, law.floor_s);
  time.overhead_s = law.floor_s - time.launch_s;
  time.total_s = time.memory_s + law.floor_s;
  return time;
}

}  // namespace cairn::cost
