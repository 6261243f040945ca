// Memory of one stage over the step: what is resident all the time, plus what its passes hold, in issue order.
//
//   held after pass i = held before + delta(pass i);   peak = resident + max_i ( held before pass i + peak(pass i) )
//
// The allocator serves one stream in issue order, so durations do not matter.
//
// Memory off the device: the offloaded state, for the whole step, plus the most activations that passes have copied out
// and not yet copied back. While a copy runs its bytes count on both sides.
#pragma once

#include <string>
#include <vector>

#include "cairn/predict/evaluate/timeline.h"
#include "cairn/program/program.h"

namespace cairn::predict {

// From `time` until the next sample, `bytes` were allocated.
struct MemorySample {
  core::Picoseconds time = 0;
  double bytes = 0.0;
};

struct StageMemory {
  double allocated_peak = 0.0;  // tensors alive at once; all of these are bytes
  double reserved_peak = 0.0;   // what the framework's allocator takes from the device for them, see prediction.h
  double device_peak = 0.0;     // reserved_peak plus context and communicators
  double host = 0.0;            // in the host's memory, of one rank
  double storage = 0.0;         // on the drives
  double off_device_activations = 0.0;  // their part of either
  program::CategoryBytes at_peak{};     // adds up to allocated_peak
  std::string phase = {};  // what runs at that moment: "backward of micro-batch 3, chunk 0: decoder backward"
  std::vector<MemorySample> over_time = {};  // only with EventOptions::all_timelines; its peak is allocated_peak
};

// What one rank of the stage keeps in host memory and on drives, at its peak. [bytes]
struct OffDevice {
  double host = 0.0;
  double storage = 0.0;
  double activations = 0.0;  // their part of either
};
OffDevice off_device(const program::Program& program, std::int32_t stage);

StageMemory stage_memory(const program::Program& program, std::int32_t stage);

// Allocated memory over time: the resident bytes first, then a sample for each change, at the time at which the compute
// stream reaches it. Of changes at one instant two samples remain, the largest and the last, so that
//   max_i bytes(i) = StageMemory::allocated_peak      whatever the durations
// Memory of other streams counts from the point of the compute stream at which it was requested, in issue order like
// the peak.
std::vector<MemorySample> memory_over_time(const program::Program& program, const StageTimeline& timeline);

// The allocated_peak of the fullest stage, without saying why: for searches. [bytes]
double peak_memory(const program::Program& program);

}  // namespace cairn::predict
