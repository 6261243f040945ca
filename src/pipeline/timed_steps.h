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
      : order_(order), times_(times), free_(order.row_device.size(), 0) {
    std::vector<std::int32_t> device_of(static_cast<std::size_t>(order.virtual_stages), 0);
    const auto chunks = static_cast<std::size_t>(order.chunks);
    for (std::size_t place = 0; place < static_cast<std::size_t>(order.virtual_stages); ++place)
      device_of[static_cast<std::size_t>(order.stage_of[place])] = order.row_device[place / chunks];
    const auto delay = [&](std::int32_t from, std::int32_t device, Phase phase) {
      const bool here = from < 0 || from >= order.virtual_stages || device_of[static_cast<std::size_t>(from)] == device;
      return here ? 0 : times.delay(from, phase);
    };
    places_.reserve(order.stage_of.size());
    for (std::size_t place = 0; place < order.stage_of.size(); ++place) {
      const std::int32_t stage = order.stage_of[place];
      const std::int32_t device = order.row_device[place / chunks];
      places_.push_back({.durations = times.durations(stage),
                         .activation_delay = delay(stage - 1, device, Phase::forward),
                         .gradient_delay = delay(stage + 1, device, Phase::backward)});
    }
  }

  Interval advance(std::int32_t i, const core::Picoseconds* end) {
    const SweepStep& step = order_.steps[static_cast<std::size_t>(i)];
    const Place& place = places_[order_.place(step)];
    Interval run{.start = ready(i, step, place, end), .end = place.duration(step.operation.phase)};
    if (step.operation.joined) join(i + 1, step, run, end);
    run.end += run.start;
    free_[static_cast<std::size_t>(step.device)] = run.end;
    return run;
  }

  std::vector<core::Picoseconds>& free() { return free_; }

 private:
  static constexpr std::int32_t k_none = -1;

  // A chunk of a row: the durations of its stage, and the delays of what it receives from the neighbouring stages.
  struct Place {
    const core::Picoseconds* durations = nullptr;  // by phase
    core::Picoseconds activation_delay = 0;
    core::Picoseconds gradient_delay = 0;
    core::Picoseconds duration(Phase phase) const { return durations[static_cast<std::size_t>(phase)]; }
  };

  // Adds the partner of the step, at position i, to the step's own start and duration.
  void join(std::int32_t i, const SweepStep& step, Interval& run, const core::Picoseconds* end) {
    const SweepStep& partner = order_.steps[static_cast<std::size_t>(i)];
    const Place& its_place = places_[order_.place(partner)];
    run.start = std::max(run.start, ready(i, partner, its_place, end));
    run.end += its_place.duration(partner.operation.phase);
    if (step.operation.phase != partner.operation.phase) run.end -= times_.saving(order_.virtual_stage(step));
    run.steps = 2;
  }

  core::Picoseconds awaited(const SweepStep& step, std::int32_t on, const core::Picoseconds* end) const {
    const SweepStep& from = order_.steps[static_cast<std::size_t>(on)];
    const bool here = order_.row_device[static_cast<std::size_t>(from.device)] ==
                      order_.row_device[static_cast<std::size_t>(step.device)];
    return end[on] + (here ? 0 : times_.delay(order_.virtual_stage(from), from.operation.phase));
  }

  core::Picoseconds ready(std::int32_t i, const SweepStep& step, const Place& place, const core::Picoseconds* end) {
    core::Picoseconds start = free_[static_cast<std::size_t>(step.device)];
    if (step.producer >= 0)
      start = std::max(start, end[step.producer] + (step.operation.phase == Phase::forward ? place.activation_delay
                                                                                           : place.gradient_delay));
    return i == next_waiting_ ? waited(start, step, end) : start;
  }

  core::Picoseconds waited(core::Picoseconds start, const SweepStep& step, const core::Picoseconds* end) {
    for (; next_waiting_ == waiting(wait_); ++wait_)
      start = std::max(start, awaited(step, order_.waits[wait_].on, end));
    next_waiting_ = waiting(wait_);
    return start;
  }
  std::int32_t waiting(std::size_t wait) const {
    return wait < order_.waits.size() ? order_.waits[wait].operation : k_none;
  }

  const SweepOrder& order_;
  const StageTimes& times_;
  std::vector<Place> places_;            // by [row * chunks + chunk]
  std::vector<core::Picoseconds> free_;  // per row
  std::size_t wait_ = 0;
  std::int32_t next_waiting_ = waiting(0);
};

}  // namespace cairn::pipeline
