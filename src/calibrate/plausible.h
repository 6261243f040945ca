// What no measurement of an accelerator can be: refused before and after the fit.
#pragma once

#include <span>

#include "cairn/hardware/accelerator.h"
#include "families.h"

namespace cairn::calibrate {

// Products faster than the peak of their type, messages faster than twice the link they cross (a switch that reduces
// carries each byte once where a ring carries it twice). Throws core::ConfigurationError, one error for each file and
// kind, placed at its first such row: such rows are in other units or of another device.
void require_possible(std::span<const measure::MeasurementFile> files, const Rows& rows,
                      const std::function<double(std::string_view type)>& peak_flops, double link_bandwidth);

// Fits whose predictions are off by more than k_most_error in the median describe something else than the rows.
// Throws core::ConfigurationError with every one of them.
inline constexpr double k_most_error = 0.25;  // of published and own fits the worst has 0.09
void require_agreement(const Result& result, std::span<const measure::MeasurementFile> files);

}  // namespace cairn::calibrate
