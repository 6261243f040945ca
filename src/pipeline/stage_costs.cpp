#include "cairn/pipeline/stage_costs.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "cairn/core/assert.h"

namespace cairn::pipeline {
namespace {

constexpr std::int64_t k_picoseconds_per_second = 1'000'000'000'000;

core::Picoseconds part(core::Picoseconds whole, double share) {
  return static_cast<core::Picoseconds>(std::llround(static_cast<double>(whole) * share));
}

core::Picoseconds mean(const std::vector<core::Picoseconds>& values) {
  return std::accumulate(values.begin(), values.end(), core::Picoseconds{0}) / std::ssize(values);
}

StageTimes stage_times(const Schedule& schedule, const StageCosts& costs) {
  StageTimes times(schedule.virtual_stages());
  const auto shares = static_cast<std::int64_t>(costs.forward.size());
  const double piece = 1.0 / schedule.operations_per_stage();
  for (std::int32_t stage = 0; stage < schedule.virtual_stages(); ++stage) {
    const auto share = static_cast<std::size_t>((stage % schedule.chain_length) * shares / schedule.chain_length);
    const core::Picoseconds backward = part(costs.backward[share], piece);
    const core::Picoseconds input = part(backward, costs.input_share);
    times.set_duration(stage, Phase::forward, part(costs.forward[share], piece));
    times.set_duration(stage, Phase::backward, backward);
    times.set_duration(stage, Phase::input_gradient, input);
    times.set_duration(stage, Phase::weight_gradient, backward - input);
  }
  times.set_delay(costs.delay);
  return times;
}

}  // namespace

ExactRun run_under(std::string_view kind, const Settings& settings, const StageCosts& costs) {
  CAIRN_ASSERT(std::ssize(costs.forward) == settings.stages && std::ssize(costs.backward) == settings.stages);
  Settings timed = settings;
  const core::Picoseconds backward = mean(costs.backward);
  timed.durations = {.forward = mean(costs.forward),
                     .input_gradient = part(backward, costs.input_share),
                     .weight_gradient = backward - part(backward, costs.input_share),
                     .delay = costs.delay};
  ExactRun run{
      .schedule = generate(kind, timed), .order = {}, .result = {}, .ticks_per_unit = k_picoseconds_per_second};
  run.order = sweep_order(run.schedule);
  run.result = sweep(run.order, stage_times(run.schedule, costs));
  return run;
}

}  // namespace cairn::pipeline
