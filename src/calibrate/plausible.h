// What no measurement of an accelerator can be, and what cannot be fitted yet: refused before and after the fit.
#pragma once

#include <span>

#include "cairn/hardware/accelerator.h"
#include "families.h"

namespace cairn::calibrate {

// What rows are held against.
struct Limits {
  std::function<double(std::string_view type)> peak_flops = {};  // [FLOP/s]; 0 where the accelerator has no units
  double link_bandwidth = 0.0;                                   // one way [B/s]; 0: not stated
  std::string fabric_name = {};                                  // of the prices between nodes
  cost::Fabric fabric = {};
};

// Products faster than the peak of their type. Messages whose busbw is above the link's rate, of an all-reduce above
// twice that. Messages between nodes, which no fit has a place for. Throws core::ConfigurationError, one error for each
// file, kind and number of ranks, placed at its first such row, with the lines of all of them.
void require_usable(std::span<const measure::MeasurementFile> files, const Rows& rows, const Limits& limits);

// Fits whose predictions are off by more than k_most_error in the median describe something else than the rows.
// Throws core::ConfigurationError with every one of them.
inline constexpr double k_most_error = 0.25;  // of published and own fits the worst has 0.09
void require_agreement(const Result& result, std::span<const measure::MeasurementFile> files);

}  // namespace cairn::calibrate
