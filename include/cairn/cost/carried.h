// A calibration on an accelerator whose figures differ from those it was made with.
//
// Efficiencies are shares of data-sheet rates, so they go over to another machine by multiplication with its rates:
//   P, H, V, L2, SM   of the accelerator in place of those under `machine`: tensor peak by number format,
//                     device memory, fp32 lanes, last-level cache, multiprocessors
//   f' = f clock'/clock                operands that one multiprocessor takes in, a width per clock
//   gap' = gap floor'/floor            gap between kernels, by the shortest kernel; as it is where no floor is recorded
// Everything else of a calibration is a share or a time of the software and stays. Peaks are figures of their own: they
// do not follow the clock or the number of multiprocessors. On the calibration's own machine every factor is 1 exactly.
//
// Valid: the same kernels on a machine of the same generation; further away the shares are a guess, which `differences`
// lets the reader see.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/cost/calibration.h"
#include "cairn/hardware/accelerator.h"

namespace cairn::cost {

// What the price formulas take of a data sheet; tensor_flops, which depends on the number format, is 0.
MachineRates machine_rates(const hardware::Accelerator& accelerator);

// Dense peak of the products of a set of gemm, by its type (bf16 stands for all 16-bit types). Empty where the machine
// has no units for them, and for a type that is not known.
std::optional<core::FlopsPerSecond> product_peak(std::string_view type, const hardware::Accelerator& accelerator);

struct Carried {
  Calibration calibration = {};
  // Every figure of training prices that differs, in words with units: "memory bandwidth 100 GB/s, calibrated at 3.35
  // TB/s".
  std::vector<std::string> differences = {};
};

Carried carried(Calibration calibration, const hardware::Accelerator& accelerator);

}  // namespace cairn::cost
