#include <algorithm>
#include <memory>
#include <vector>

#include "cairn/core/assert.h"
#include "cairn/pipeline/sweep.h"
#include "timed_steps.h"

namespace cairn::pipeline {
namespace {

// A steady state may take several periods to return to itself: as many as its critical loop has micro-batches in
// flight. Longer loops than this are swept in full.
constexpr std::int32_t k_longest_loop = 16;

class MakespanSweep {
 public:
  MakespanSweep(const SweepOrder& order, const StageTimes& times)
      : order_(order),
        end_(std::make_unique_for_overwrite<core::Picoseconds[]>(order.steps.size())),
        timed_(order, times) {}

  core::Picoseconds run() {
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
      if (const std::int32_t loop = steady_loop(stretch, position); loop > 0) {
        position = jump(stretch, position, loop);
        break;
      }
    }
    advance(position, stretch.last);
    return stretch.last;
  }

  // The ends that later steps of the stretch depend on are those of the last `reach` steps and, for the devices in it,
  // of the last period. Steady over c periods: all of them are later by the same amount than c periods before.
  std::int32_t steady_loop(const Repetition& stretch, std::int32_t position) const {
    const std::int32_t window = std::max(stretch.reach, stretch.period);
    for (std::int32_t loop = 1; loop <= k_longest_loop; ++loop) {
      const std::int32_t back = loop * stretch.period;
      // Only ends of this stretch are compared: before it, an earlier jump may have left gaps.
      if (position - back - window < stretch.first) break;
      if (position + back > stretch.last) break;
      const core::Picoseconds shift = end_[position - 1] - end_[position - 1 - back];
      std::int32_t i = position - 1;
      while (i >= position - window && end_[i] - end_[i - back] == shift) --i;
      if (i < position - window) return loop;
    }
    return 0;
  }

  std::int32_t jump(const Repetition& stretch, std::int32_t position, std::int32_t loop) {
    const std::int32_t back = loop * stretch.period;
    const std::int32_t times = (stretch.last - position) / back;
    const std::int32_t target = position + times * back;
    const core::Picoseconds shift = end_[position - 1] - end_[position - 1 - back];
    // What is read later: the window of the steps left in the stretch, and what lies behind it.
    const std::int32_t read_from = std::min(target - std::max(stretch.reach, stretch.period), stretch.needed_from);
    for (std::int32_t i = std::max(read_from, position); i < target; ++i) {
      const std::int32_t loops = (i - position) / back + 1;
      end_[i] = end_[i - loops * back] + loops * shift;
    }
    for (std::int32_t i = position - stretch.period; i < position; ++i) {
      const SweepStep& step = order_.steps[i];
      timed_.free()[step.device] = end_[i] + times * shift;  // the last one stays
    }
    return target;
  }

  const SweepOrder& order_;
  std::unique_ptr<core::Picoseconds[]> end_;  // by position; not set where jumped over and never read
  TimedSteps timed_;
};

}  // namespace

core::Picoseconds makespan(const SweepOrder& order, const StageTimes& times) {
  CAIRN_ASSERT(times.virtual_stages() == order.virtual_stages);
  return MakespanSweep(order, times).run();
}

}  // namespace cairn::pipeline
