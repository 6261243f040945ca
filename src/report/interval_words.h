// What a run's intervals come to in seconds and bytes, and in words.
#pragma once

#include <optional>
#include <string>

#include "cairn/report/run.h"

namespace cairn::report {

// Eight runs in ten lie between; in the unit of what was predicted.
struct Range {
  double low = 0.0;
  double high = 0.0;
};

std::optional<Range> time_range(const Run& run);
// Of the device's peak: what tensors and their allocator take is off by the family's ratios, what the process itself
// takes is not.
std::optional<Range> memory_range(const Run& run);
// Share of runs like this one whose peak is within the capacity; empty where no interval says so.
std::optional<double> share_that_fits(const Run& run);

// "15 measured runs of 4 models (megatron, hopper, 8-bit); widened: 512 GPUs, beyond the 64 of those runs"
std::string basis_words(const experiment::Interval& interval);
// What stands behind a predicted amount that is shown as `shown`: " (8.5 .. 9.8, 8 in 10)", in its unit; empty without a
// range.
std::string range_words(const std::string& shown, double predicted, const std::optional<Range>& range);
// "9 in 10", "99 in 100"
std::string share_words(double share);

}  // namespace cairn::report
