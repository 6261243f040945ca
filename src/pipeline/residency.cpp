#include "cairn/pipeline/residency.h"

#include <algorithm>
#include <utility>

namespace cairn::pipeline {

std::vector<std::int32_t> peak_residency(const Schedule& schedule, const SweepOrder& order, const SweepResult& result,
                                         Release release) {
  using Change = std::pair<core::Picoseconds, std::int32_t>;  // when, and -1 or +1: releases sort first
  std::vector<std::vector<Change>> changes(schedule.stages);
  const Phase split = release == Release::at_input_gradient ? Phase::input_gradient : Phase::weight_gradient;
  for (std::size_t i = 0; i < order.steps.size(); ++i) {
    const SweepStep& step = order.steps[i];
    const Phase phase = step.operation.phase;
    std::vector<Change>& here = changes[order.row_device[step.device]];
    if (phase == Phase::forward || phase == Phase::reload) here.emplace_back(result.start[i], 1);
    if (phase == Phase::backward || phase == split || phase == Phase::offload) here.emplace_back(result.end[i], -1);
  }
  std::vector<std::int32_t> peaks(schedule.stages, 0);
  for (std::int32_t device = 0; device < schedule.stages; ++device) {
    std::sort(changes[device].begin(), changes[device].end());
    std::int32_t alive = 0;
    for (const Change& change : changes[device]) peaks[device] = std::max(peaks[device], alive += change.second);
  }
  return peaks;
}

}  // namespace cairn::pipeline
