#include "cairn/pipeline/exact_run.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>

#include "cairn/core/diagnostics.h"

namespace cairn::pipeline {
namespace {

// Ticks of the longest sum that may come up stay well inside 64 bits.
constexpr std::int64_t k_most_ticks = std::int64_t{1} << 40;

class Ticks {
 public:
  // `parts`: what the time of a full stage must be divisible by.
  Ticks(const ExactTimes& times, std::int64_t parts) : per_unit_(parts) {
    for (const Fraction& time : {times.forward, times.input_gradient, times.weight_gradient, times.delay,
                                 times.forward_backward.value_or(Fraction{}), times.vocabulary_forward,
                                 times.vocabulary_backward, times.optimizer, times.communication, times.offload}) {
      per_unit_ = std::lcm(per_unit_, parts * time.denominator);
      check(per_unit_);
    }
  }

  std::int64_t per_unit() const { return per_unit_; }
  std::int64_t of(const Fraction& time) const {
    const std::int64_t ticks = per_unit_ / time.denominator;
    if (time.numerator > 0) check(k_most_ticks / time.numerator < ticks ? k_most_ticks + 1 : ticks);
    return time.numerator * ticks;
  }

 private:
  static void check(std::int64_t ticks) {
    if (ticks > k_most_ticks)
      throw core::ConfigurationError("times", "the times have no common measure of a size that can be counted with",
                                     "round them to fewer digits");
  }
  std::int64_t per_unit_;
};

StageTimes stage_times(const Schedule& schedule, const ExactTimes& times, const Ticks& ticks) {
  const std::int64_t parts = schedule.operations_per_stage();
  StageTimes result(schedule.virtual_stages());
  const std::int64_t forward = ticks.of(times.forward);
  const std::int64_t backward = ticks.of(times.input_gradient) + ticks.of(times.weight_gradient);
  result.set_duration(Phase::forward, forward / parts);
  result.set_duration(Phase::backward, backward / parts);
  result.set_duration(Phase::input_gradient, ticks.of(times.input_gradient) / parts);
  result.set_duration(Phase::weight_gradient, ticks.of(times.weight_gradient) / parts);
  result.set_duration(Phase::vocabulary_forward, ticks.of(times.vocabulary_forward) / schedule.pieces);
  result.set_duration(Phase::vocabulary_backward, ticks.of(times.vocabulary_backward) / schedule.pieces);
  result.set_duration(Phase::optimizer, ticks.of(times.optimizer));
  result.set_duration(Phase::communication, ticks.of(times.communication));
  result.set_duration(Phase::offload, ticks.of(times.offload) / parts);
  result.set_duration(Phase::reload, ticks.of(times.offload) / parts);
  result.set_delay(ticks.of(times.delay));
  if (times.forward_backward)
    for (std::int32_t stage = 0; stage < schedule.virtual_stages(); ++stage)
      result.set_saving(stage, (forward + backward - ticks.of(*times.forward_backward)) / parts);
  return result;
}

ExactRun run(Schedule schedule, const ExactTimes& times, const Ticks& ticks) {
  ExactRun run{.schedule = std::move(schedule), .order = {}, .result = {}, .ticks_per_unit = ticks.per_unit()};
  validate(run.schedule);
  run.order = sweep_order(run.schedule);
  run.result = sweep(run.order, stage_times(run.schedule, times, ticks));
  return run;
}

}  // namespace

std::int64_t ExactRun::span() const {
  return *std::max_element(result.span.begin(), result.span.begin() + schedule.stages);
}

ExactRun run_exactly(std::string_view kind, const Settings& settings, const ExactTimes& times) {
  // Whatever a kind divides a stage into: chunks, two of them per wave, halves of micro-batches.
  const std::int64_t parts =
      std::lcm(std::int64_t{4} * std::max(settings.waves, 1), std::int64_t{2} * std::max(settings.chunks, 1));
  const Ticks ticks(times, parts);
  Settings with_times = settings;
  with_times.durations = {.forward = ticks.of(times.forward),
                          .input_gradient = ticks.of(times.input_gradient),
                          .weight_gradient = ticks.of(times.weight_gradient),
                          .delay = ticks.of(times.delay)};
  return run(generate(kind, with_times), times, ticks);
}

ExactRun run_exactly(Schedule schedule, const ExactTimes& times) {
  const Ticks ticks(times, std::max(schedule.operations_per_stage(), 1));
  return run(std::move(schedule), times, ticks);
}

}  // namespace cairn::pipeline
