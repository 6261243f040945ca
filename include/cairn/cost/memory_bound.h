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
#include "cairn/cost/number.h"

namespace cairn::cost {

struct MemoryBoundParameters {
  double memory_efficiency = 0.0;  // eB
  double vector_efficiency = 0.0;  // eV
  double overlap_exponent = 3.0;   // p
  double gap_s = 0.0;              // device-side gap between kernels
};

inline constexpr auto k_memory_bound_numbers = std::to_array<Number<MemoryBoundParameters>>(
    {{.key = "efficiency",
      .member = &MemoryBoundParameters::memory_efficiency,
      .rule = {.required = true, .maximum = 1.0, .positive = true},
      .free = {.when = FreeWhen::always, .start = 0.85, .low = 0.2, .high = 1.0, .prior = 0.3}},
     {.key = "vector_efficiency",
      .member = &MemoryBoundParameters::vector_efficiency,
      .rule = {.required = true, .maximum = 1.0, .positive = true}},
     {.key = "overlap_exponent", .member = &MemoryBoundParameters::overlap_exponent, .rule = {.minimum = 1.0}},
     {.key = "gap",
      .member = &MemoryBoundParameters::gap_s,
      .dimension = Dimension::seconds,
      .fit_only = true,
      .free = {.when = FreeWhen::always, .start = 2 * k_us, .low = 0.1 * k_us, .high = 40 * k_us, .prior = 1.0}}});

struct KernelLaw {
  double floor_s = 0.0;
  double efficiency = 0.0;  // e, in (0, 1]
};

inline constexpr auto k_kernel_law_numbers = std::to_array<Number<KernelLaw>>(
    {{.key = "floor",
      .member = &KernelLaw::floor_s,
      .dimension = Dimension::seconds,
      .rule = {.doc = "with next to nothing to move, the gap to the next kernel included", .required = true}},
     {.key = "efficiency",
      .member = &KernelLaw::efficiency,
      .rule = {.doc = "e: of the memory bandwidth", .required = true, .maximum = 1.0, .positive = true}}});

// bytes: read and written in device memory; flops: on the ordinary lanes.
KernelTime memory_bound_time(double bytes, double flops, const MemoryBoundParameters& parameters,
                             const MachineRates& rates);

// bytes: read and written in device memory. gap_s: the part of the floor, at most all of it, in which the device is
// idle. Valid: from a megabyte; less is ruled by the floor.
KernelTime measured_kernel_time(double bytes, const KernelLaw& law, double gap_s, const MachineRates& rates);

}  // namespace cairn::cost
