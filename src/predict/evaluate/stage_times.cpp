#include "cairn/predict/evaluate/stage_times.h"

#include <algorithm>

namespace cairn::predict {
namespace {

core::Picoseconds waits(const std::vector<PassTime>& passes) {
  core::Picoseconds sum = 0, before = 0;
  for (const PassTime& pass : passes) {
    sum += std::max<core::Picoseconds>(0, pass.arrival.end - before);
    before = pass.end;
  }
  return sum;
}

}  // namespace

std::vector<core::Picoseconds> stage_times(const PassTimes& passes, const Makespan& makespan) {
  std::vector<core::Picoseconds> result;
  for (const std::vector<PassTime>& stage : passes) result.push_back(stage.back().end - waits(stage));
  const auto last = static_cast<std::size_t>(makespan.last_stage);
  result[last] += makespan.time - passes[last].back().end;
  return result;
}

std::int32_t limiting_stage(const PassTimes& passes, const Makespan& makespan) {
  const std::vector<core::Picoseconds> times = stage_times(passes, makespan);
  const auto longest = std::max_element(times.begin(), times.end());
  if (times[static_cast<std::size_t>(makespan.last_stage)] == *longest) return makespan.last_stage;
  return static_cast<std::int32_t>(longest - times.begin());
}

}  // namespace cairn::predict
