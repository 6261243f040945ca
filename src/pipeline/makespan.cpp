#include <algorithm>
#include <memory>
#include <vector>

#include "cairn/core/assert.h"
#include "cairn/pipeline/sweep.h"
#include "timed_steps.h"

namespace cairn::pipeline {
namespace {

using core::Picoseconds;

class MakespanSweep {
 public:
  MakespanSweep(const SweepOrder& order, const StageTimes& times)
      : order_(order), end_(std::make_unique_for_overwrite<Picoseconds[]>(order.steps.size())), timed_(order, times) {}

  Picoseconds run() {
    std::int32_t position = 0;
    for (const Repetition& stretch : order_.repetitions) {
      advance(position, stretch.first);
      position = run_stretch(stretch);
    }
    advance(position, static_cast<std::int32_t>(order_.steps.size()));
    return *std::max_element(timed_.free().begin(), timed_.free().end());
  }

 private:
  // Joined steps never stand on both sides of a border: a stretch that would part them is none.
  void advance(std::int32_t begin, std::int32_t end) {
    for (std::int32_t i = begin; i < end;) {
      const TimedSteps::Interval run = timed_.advance(i, end_.get());
      for (const std::int32_t behind = i + run.steps; i < behind; ++i) end_[i] = run.end;
    }
  }

  // Sweeps the stretch period by period until it is steady, then jumps; returns the position reached (its last).
  std::int32_t run_stretch(const Repetition& stretch) {
    std::int32_t position = stretch.first;
    while (position + stretch.period <= stretch.last) {
      advance(position, position + stretch.period);
      position += stretch.period;
      const std::int32_t loop = steady_loop(stretch, position, end_.get(), [](std::int32_t) { return true; });
      if (loop == 0) continue;
      position = jump(stretch, position, loop * stretch.period);
      break;
    }
    advance(position, stretch.last);
    return stretch.last;
  }

  // The ends that later steps of the stretch depend on are those of its window, which holds, for the devices in it, the
  // last period.
  std::int32_t jump(const Repetition& stretch, std::int32_t position, std::int32_t back) {
    const Picoseconds shift = end_[position - 1] - end_[position - 1 - back];
    const std::int32_t target = jump_over(stretch, position, back, shift, end_.get());
    const std::int32_t times = (target - position) / back;
    for (std::int32_t i = position - stretch.period; i < position; ++i) {
      const SweepStep& step = order_.steps[i];
      timed_.free()[step.device] = end_[i] + times * shift;  // the last one stays
    }
    return target;
  }

  const SweepOrder& order_;
  std::unique_ptr<Picoseconds[]> end_;  // by position; not set where jumped over and never read
  TimedSteps timed_;
};

}  // namespace

Picoseconds makespan(const SweepOrder& order, const StageTimes& times) {
  CAIRN_ASSERT(times.virtual_stages() == order.virtual_stages);
  return MakespanSweep(order, times).run();
}

}  // namespace cairn::pipeline
