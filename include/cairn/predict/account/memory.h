// Memory of a stage over the step: what is resident, plus what its passes hold, in issue order.
//
//   held after pass i = held before + delta(pass i);   peak = resident + max_i ( held before pass i + peak(pass i) )
//
// The allocator serves one stream in issue order, so durations do not matter.
//
// Off the device lie offloaded state, for the whole step, and the activations that passes have sent away and not yet
// brought back, at their most: those of a copy under way count on both sides.
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
  double allocated_peak = 0.0;          // [bytes]
  double reserved_peak = 0.0;           // what the framework's allocator takes from the device, see prediction.h
  double device_peak = 0.0;             // with what context and communicators take
  double host = 0.0;                    // in the host's memory, of one rank
  double storage = 0.0;                 // on the drives
  double off_device_activations = 0.0;  // their part of either
  program::CategoryBytes at_peak{};     // adds up to allocated_peak
  std::string phase = {};  // what runs at that moment: "backward of micro-batch 3, chunk 0: decoder backward"
  std::vector<MemorySample> over_time = {};  // only with EventOptions::all_timelines; its peak is allocated_peak
};

// What a rank of the stage keeps elsewhere. [bytes]
struct OffDevice {
  double host = 0.0;
  double storage = 0.0;
  double activations = 0.0;  // their part of either
};
OffDevice off_device(const program::Program& program, std::int32_t stage);

StageMemory stage_memory(const program::Program& program, std::int32_t stage);

// The same over time: what is resident, then every change of the sum above, when the compute stream comes to it. Of one
// instant the most that is held and what stays, so that
//   max_i bytes(i) = StageMemory::allocated_peak      whatever the durations
// What other streams hold counts from where the compute stream stood when it was asked for, in issue order like the
// sum.
std::vector<MemorySample> memory_over_time(const program::Program& program, const StageTimeline& timeline);

// The allocated_peak of the fullest stage, without saying why: for searches. [bytes]
double peak_memory(const program::Program& program);

}  // namespace cairn::predict
