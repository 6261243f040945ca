// The equations of sweep.h, one step or one pair of joined steps at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "cairn/pipeline/sweep.h"

namespace cairn::pipeline {

// Reads the ends of earlier steps from `end` and keeps when every row is free.
class TimedSteps {
 public:
  struct Interval {
    core::Picoseconds start = 0;
    core::Picoseconds end = 0;
    std::int32_t steps = 1;  // 2 where the step is joined with the next
  };

  TimedSteps(const SweepOrder& order, const StageTimes& times)
      : order_(order), times_(times), free_(order.row_device.size(), 0) {}

  Interval advance(std::int32_t i, const core::Picoseconds* end) {
    const SweepStep& step = order_.steps[static_cast<std::size_t>(i)];
    Interval run{.start = ready(i, end), .end = times_.duration(step.virtual_stage, step.operation.phase)};
    if (step.operation.joined) {
      const SweepStep& partner = order_.steps[static_cast<std::size_t>(i) + 1];
      run.start = std::max(run.start, ready(i + 1, end));
      run.end += times_.duration(partner.virtual_stage, partner.operation.phase);
      if (step.operation.phase != partner.operation.phase) run.end -= times_.saving(step.virtual_stage);
      run.steps = 2;
    }
    run.end += run.start;
    free_[static_cast<std::size_t>(step.device)] = run.end;
    return run;
  }

  std::vector<core::Picoseconds>& free() { return free_; }

 private:
  core::Picoseconds arrival(const SweepStep& step, std::int32_t producer, const core::Picoseconds* end) const {
    const SweepStep& from = order_.steps[static_cast<std::size_t>(producer)];
    const bool here = order_.row_device[static_cast<std::size_t>(from.device)] ==
                      order_.row_device[static_cast<std::size_t>(step.device)];
    return end[producer] + (here ? 0 : times_.delay(from.virtual_stage, from.operation.phase));
  }

  core::Picoseconds ready(std::int32_t i, const core::Picoseconds* end) {
    const SweepStep& step = order_.steps[static_cast<std::size_t>(i)];
    core::Picoseconds start = free_[static_cast<std::size_t>(step.device)];
    if (step.producer >= 0) start = std::max(start, arrival(step, step.producer, end));
    for (; wait_ < order_.waits.size() && order_.waits[wait_].operation == i; ++wait_)
      start = std::max(start, arrival(step, order_.waits[wait_].on, end));
    return start;
  }

  const SweepOrder& order_;
  const StageTimes& times_;
  std::vector<core::Picoseconds> free_;  // per row
  std::size_t wait_ = 0;
};

}  // namespace cairn::pipeline
