#include "cairn/pipeline/sweep.h"

#include <algorithm>

#include "cairn/core/assert.h"

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
  SweepResult result;
  result.start.resize(order.steps.size());
  result.end.resize(order.steps.size());
  result.busy.assign(order.stages, 0);
  result.span.assign(order.stages, 0);
  std::vector<core::Picoseconds> free(order.stages, 0);
  std::vector<core::Picoseconds> first(order.stages, -1);
  for (std::size_t i = 0; i < order.steps.size(); ++i) {
    const SweepStep& step = order.steps[i];
    core::Picoseconds start = free[step.device];
    if (step.producer >= 0) {
      const SweepStep& from = order.steps[step.producer];
      const core::Picoseconds delay =
          from.device == step.device ? 0 : times.delay(from.virtual_stage, from.operation.phase);
      start = std::max(start, result.end[step.producer] + delay);
    }
    const core::Picoseconds duration = times.duration(step.virtual_stage, step.operation.phase);
    result.start[i] = start;
    result.end[i] = free[step.device] = start + duration;
    result.busy[step.device] += duration;
    if (first[step.device] < 0) first[step.device] = start;
  }
  result.makespan = *std::max_element(free.begin(), free.end());
  for (std::int32_t device = 0; device < order.stages; ++device) {
    result.idle.push_back(result.makespan - result.busy[device]);
    result.span[device] = free[device] - std::max<core::Picoseconds>(first[device], 0);
  }
  return result;
}

SweepResult sweep(const Schedule& schedule, const StageTimes& times) { return sweep(sweep_order(schedule), times); }

}  // namespace cairn::pipeline
