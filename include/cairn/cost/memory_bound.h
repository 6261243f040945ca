// Time of a kernel whose arithmetic is light: norms, residuals, activations, embedding, loss, optimizer, casts.
//
//   T_mem  = bytes/(eB H)      H = device memory bandwidth
//   T_core = flops/(eV V)      V = peak of the ordinary lanes
//   T      = (T_core^p + T_mem^p)^(1/p) + gap
//
// Source: roofline (Williams, Waterman, Patterson 2009); efficiencies from the calibration file. Valid: any size;
// kernels of a few microseconds are ruled by the gap.
//
// A kernel that was measured over its sizes has a law of its own instead:
//
//   T      = floor + bytes/(e H)       floor: with next to nothing to move, the gap to the next kernel included
//
// e says what the kernel makes of the memory, its arithmetic and its layout included.
#pragma once

#include "cairn/cost/kernel_time.h"

namespace cairn::cost {

struct MemoryBoundParameters {
  double memory_efficiency = 0.0;  // eB
  double vector_efficiency = 0.0;  // eV
  double overlap_exponent = 3.0;   // p
  double gap_s = 0.0;              // device-side gap between kernels
};

struct KernelLaw {
  double floor_s = 0.0;
  double efficiency = 0.0;  // e, in (0, 1]
};

// bytes: read and written in device memory; flops: on the ordinary lanes.
KernelTime memory_bound_time(double bytes, double flops, const MemoryBoundParameters& parameters,
                             const MachineRates& rates);

// bytes: read and written in device memory. gap_s: the part of the floor, at most all of it, in which the device is
// idle. Valid: from a megabyte; less is ruled by the floor.
KernelTime measured_kernel_time(double bytes, const KernelLaw& law, double gap_s, const MachineRates& rates);

}  // namespace cairn::cost
