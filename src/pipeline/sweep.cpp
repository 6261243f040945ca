#include "cairn/pipeline/sweep.h"

#include <algorithm>

#include "cairn/core/assert.h"
#include "timed_steps.h"

namespace cairn::pipeline {

void StageTimes::set_duration(Phase phase, core::Picoseconds value) {
  for (std::int32_t stage = 0; stage < virtual_stages(); ++stage) set_duration(stage, phase, value);
}

void StageTimes::set_delay(core::Picoseconds value) {
  std::fill(up_.begin(), up_.end(), value);
  std::fill(down_.begin(), down_.end(), value);
}

SweepResult sweep(const SweepOrder& order, const StageTimes& times) {
  CAIRN_ASSERT(times.virtual_stages() == order.virtual_stages);
  const std::size_t rows = order.row_device.size();
  SweepResult result;
  result.start.resize(order.steps.size());
  result.end.resize(order.steps.size());
  result.busy.assign(rows, 0);
  result.span.assign(rows, 0);
  std::vector<core::Picoseconds> first(rows, -1);
  TimedSteps timed(order, times);
  core::Picoseconds* const start = result.start.data();
  core::Picoseconds* const end = result.end.data();
  const auto size = static_cast<std::int32_t>(order.steps.size());
  for (std::int32_t i = 0; i < size;) {
    const auto row = static_cast<std::size_t>(order.steps[static_cast<std::size_t>(i)].device);
    const TimedSteps::Interval run = timed.advance(i, end);
    for (const std::int32_t behind = i + run.steps; i < behind; ++i) {
      start[i] = run.start;
      end[i] = run.end;
    }
    result.busy[row] += run.end - run.start;
    if (first[row] < 0) first[row] = run.start;
  }
  const std::vector<core::Picoseconds>& free = timed.free();
  result.makespan = *std::max_element(free.begin(), free.end());
  for (std::size_t row = 0; row < rows; ++row) {
    result.idle.push_back(result.makespan - result.busy[row]);
    result.span[row] = free[row] - std::max<core::Picoseconds>(first[row], 0);
  }
  return result;
}

SweepResult sweep(const Schedule& schedule, const StageTimes& times) { return sweep(sweep_order(schedule), times); }

}  // namespace cairn::pipeline
