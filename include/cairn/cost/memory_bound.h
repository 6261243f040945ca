// Time of a kernel whose arithmetic is light: norms, residuals, activations, embedding, loss, optimizer, casts.
//
//   T_mem  = bytes/(eB H)      H = device memory bandwidth
//   T_core = flops/(eV V)      V = peak of the ordinary lanes
//   T      = (T_core^p + T_mem^p)^(1/p) + gap
//
// Source: roofline (Williams, Waterman, Patterson 2009); efficiencies from the calibration file. Valid: any size;
// kernels of a few microseconds are ruled by the gap.
#pragma once

#include "cairn/cost/kernel_time.h"

namespace cairn::cost {

struct MemoryBoundParameters {
  double memory_efficiency = 0.0;  // eB
  double vector_efficiency = 0.0;  // eV
  double overlap_exponent = 3.0;   // p
  double gap_s = 0.0;              // device-side gap between kernels
};

// bytes: read and written in device memory; flops: on the ordinary lanes.
KernelTime memory_bound_time(double bytes, double flops, const MemoryBoundParameters& parameters,
                             const MachineRates& rates);

}  // namespace cairn::cost
