#include "repetition.h"

#include <algorithm>

namespace cairn::pipeline {
namespace {

// A stretch shorter than this many periods has no room for a steady state to show and be skipped.
constexpr std::int32_t k_least_periods = 4;

class Finder {
 public:
  explicit Finder(std::span<const SweepStep> steps) : steps_(steps) {}

  std::vector<Repetition> run() {
    search(0, size());
    set_needed();
    return std::move(found_);
  }

 private:
  std::int32_t size() const { return static_cast<std::int32_t>(steps_.size()); }

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
      const std::int32_t later = steps_[middle + period].operation.micro_batch - steps_[middle].operation.micro_batch;
      const auto fits = [&](std::int32_t i) {
        return repeats(i, period) &&
               steps_[i + period].operation.micro_batch - steps_[i].operation.micro_batch == later;
      };
      std::int32_t first = middle;
      std::int32_t last = middle;
      while (last + period < high && fits(last)) ++last;
      while (first > low && fits(first - 1)) --first;
      last += period;
      // Joined steps stay together, the second of a pair being what a later period may begin with by mistake.
      if (steps_[first + period - 1].operation.joined) ++first;
      if (steps_[last - 1].operation.joined) --last;
      if (last - first < k_least_periods * period) continue;
      return {
          .first = first, .last = last, .period = period, .reach = reach(first, first + period), .needed_from = last};
    }
    return {};
  }

  bool repeats(std::int32_t i, std::int32_t period) const {
    const SweepStep& a = steps_[i];
    const SweepStep& b = steps_[i + period];
    const bool alike = a.device == b.device && a.operation.phase == b.operation.phase &&
                       a.operation.chunk == b.operation.chunk && a.operation.joined == b.operation.joined &&
                       a.operation.micro_batch < b.operation.micro_batch;
    return alike && (a.producer < 0 ? b.producer < 0 : b.producer - a.producer == period);
  }

  // Of one period: the others are like it.
  std::int32_t reach(std::int32_t first, std::int32_t last) const {
    std::int32_t farthest = 0;
    for (std::int32_t i = first; i < last; ++i)
      if (steps_[i].producer >= 0) farthest = std::max(farthest, i - steps_[i].producer);
    return farthest;
  }

  void set_needed() {
    std::int32_t lowest = size();
    std::int32_t position = size();
    for (auto stretch = found_.rbegin(); stretch != found_.rend(); ++stretch) {
      while (position > stretch->last)
        if (const std::int32_t producer = steps_[--position].producer; producer >= 0)
          lowest = std::min(lowest, producer);
      stretch->needed_from = std::min(lowest, stretch->last);
    }
  }

  std::span<const SweepStep> steps_;
  std::vector<Repetition> found_;
};

}  // namespace

std::vector<Repetition> find_repetitions(std::span<const SweepStep> steps) { return Finder(steps).run(); }

}  // namespace cairn::pipeline
