// Where an order of steps repeats itself: long schedules do little else.
//
// For first <= i < last - period, step i + period is step i once more, and its producer, the step whose result it
// awaits, lies as far behind it. The times of such a stretch are a max-plus system x(k+1) = F(x(k)): x(k) holds the
// times that the steps behind period k read. max and + commute with a shift, so once x has moved by one and the same
// amount, all that follows moves by it and need not be worked out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace cairn::pipeline {

struct Repetition {
  std::int32_t first = 0;
  std::int32_t last = 0;
  std::int32_t period = 0;
  std::int32_t reach = 0;        // the largest distance of a step in the stretch to its producer
  std::int32_t needed_from = 0;  // the lowest position that steps from `last` on await; `last` where they await none

  // How many steps behind a period hold the times that later steps of the stretch read.
  std::int32_t window() const { return std::max(reach, period); }
};

// `Steps` has size(); repeats(i, period): whether step i + period is step i once more; producer(i): the position of
// step i's producer, below 0 where it awaits none; joined(i): whether no stretch may begin or end between steps i and
// i + 1.
template <class Steps>
class RepetitionFinder {
 public:
  explicit RepetitionFinder(const Steps& steps) : steps_(steps) {}

  std::vector<Repetition> run() {
    search(0, steps_.size());
    set_needed();
    return std::move(found_);
  }

 private:
  // A stretch shorter than this many periods has no room for a steady state to show and be skipped.
  static constexpr std::int32_t k_least_periods = 4;

  // Takes the stretch around the middle of [low, high), then looks on either side of it.
  void search(std::int32_t low, std::int32_t high) {
    if (high - low < k_least_periods) return;
    const std::int32_t middle = low + (high - low) / 2;
    const Repetition stretch = stretch_around(middle, low, high);
    if (stretch.period == 0) {
      search(low, middle);
      search(middle, high);
      return;
    }
    search(low, stretch.first);
    found_.push_back(stretch);
    search(stretch.last, high);
  }

  Repetition stretch_around(std::int32_t middle, std::int32_t low, std::int32_t high) const {
    const std::int32_t longest = (high - low) / k_least_periods;
    for (std::int32_t period = 1; period <= longest && middle + period < high; ++period) {
      if (!repeats(middle, period)) continue;
      std::int32_t first = middle;
      std::int32_t last = middle;
      while (last + period < high && repeats(last, period)) ++last;
      while (first > low && repeats(first - 1, period)) --first;
      last += period;
      // The second of a joined pair may be what a later period begins with by mistake.
      if (steps_.joined(first + period - 1)) ++first;
      if (steps_.joined(last - 1)) --last;
      if (last - first < k_least_periods * period) continue;
      return {
          .first = first, .last = last, .period = period, .reach = reach(first, first + period), .needed_from = last};
    }
    return {};
  }

  bool repeats(std::int32_t i, std::int32_t period) const {
    const std::int32_t before = steps_.producer(i);
    const std::int32_t after = steps_.producer(i + period);
    return (before < 0 ? after < 0 : after - before == period) && steps_.repeats(i, period);
  }

  // Of one period: the others are like it.
  std::int32_t reach(std::int32_t first, std::int32_t last) const {
    std::int32_t farthest = 0;
    for (std::int32_t i = first; i < last; ++i)
      if (const std::int32_t producer = steps_.producer(i); producer >= 0) farthest = std::max(farthest, i - producer);
    return farthest;
  }

  void set_needed() {
    std::int32_t lowest = steps_.size();
    std::int32_t position = steps_.size();
    for (auto stretch = found_.rbegin(); stretch != found_.rend(); ++stretch) {
      while (position > stretch->last)
        if (const std::int32_t producer = steps_.producer(--position); producer >= 0)
          lowest = std::min(lowest, producer);
      stretch->needed_from = std::min(lowest, stretch->last);
    }
  }

  const Steps& steps_;
  std::vector<Repetition> found_;
};

// Disjoint and ascending; only stretches of several periods, which are worth watching for a steady state.
template <class Steps>
std::vector<Repetition> find_repetitions(const Steps& steps) {
  return RepetitionFinder<Steps>(steps).run();
}

// A steady state may take several periods to return to itself: as many as its critical loop has micro-batches in
// flight. Longer loops than this are not looked for.
inline constexpr std::int32_t k_longest_loop = 16;

// Whether the times of the steps that `reads` holds for, of the last window before `position`, are all later by `shift`
// than `back` steps before. `time`: by position.
template <class Time, class Reads>
bool moved(const Repetition& stretch, std::int32_t position, std::int32_t back, Time shift, const Time* time,
           Reads reads) {
  std::int32_t i = position - 1;
  while (i >= position - stretch.window() && (!reads(i) || time[i] - time[i - back] == shift)) --i;
  return i < position - stretch.window();
}

// The fewest periods c over which the times of the steps that `reads` holds for, of the last window before `position`,
// have all moved by the same amount; 0: none, or too little is left of the stretch. `time`: by position. Only times of
// this stretch are compared: before it, an earlier jump may have left gaps.
template <class Time, class Reads>
std::int32_t steady_loop(const Repetition& stretch, std::int32_t position, const Time* time, Reads reads) {
  const std::int32_t window = stretch.window();
  std::int32_t newest = position - 1;
  while (newest >= position - window && !reads(newest)) --newest;
  if (newest < position - window) return 0;
  for (std::int32_t loop = 1; loop <= k_longest_loop; ++loop) {
    const std::int32_t back = loop * stretch.period;
    if (position - back - window < stretch.first || position + back > stretch.last) return 0;
    if (moved(stretch, position, back, time[newest] - time[newest - back], time, reads)) return loop;
  }
  return 0;
}

// Where a stretch that was worked out up to `position` gets to by whole loops of `back` steps, each later by `shift`:
// sets the times there that steps behind read, and returns it.
template <class Time>
std::int32_t jump_over(const Repetition& stretch, std::int32_t position, std::int32_t back, Time shift, Time* time) {
  const std::int32_t target = position + (stretch.last - position) / back * back;
  const std::int32_t read_from = std::min(target - stretch.window(), stretch.needed_from);
  for (std::int32_t i = std::max(read_from, position); i < target; ++i) {
    const std::int32_t loops = (i - position) / back + 1;
    time[i] = time[i - loops * back] + loops * shift;
  }
  return target;
}

}  // namespace cairn::pipeline
