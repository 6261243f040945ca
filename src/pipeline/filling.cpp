#include "cairn/pipeline/filling.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

namespace cairn::pipeline {
namespace {

using core::Picoseconds;

struct Due {
  Picoseconds at = 0;  // in the first step
  std::int32_t work = 0;
  Picoseconds duration = 0;
};

struct Gap {
  Picoseconds start = 0;
  Picoseconds end = 0;
};

// One device and one refresh.
class DeviceFill {
 public:
  DeviceFill(std::int32_t device, const std::vector<ExtraWork>& work, const FillRules& rules)
      : device_(device), work_(work), rules_(rules) {}

  void note(const SweepStep& step, Picoseconds start, Picoseconds end, std::int32_t parts_of_stage) {
    if (start > free_) gaps_.push_back({.start = free_, .end = start});
    free_ = std::max(free_, end);
    for (std::size_t i = 0; i < work_.size(); ++i) {
      const ExtraAfter after = work_[i].after;
      const bool forward = after == ExtraAfter::forward && step.operation.phase == Phase::forward;
      const bool backward = after == ExtraAfter::backward && sends_gradient(step.operation.phase);
      if (forward || backward) add(static_cast<std::int32_t>(i), end, parts_of_stage);
    }
  }
  void close(Picoseconds makespan) {
    if (makespan > free_) gaps_.push_back({.start = free_, .end = makespan});
  }

  // Steps until everything is done; 0 when something fits nowhere.
  std::int32_t run(std::vector<Filling::Piece>& pieces) {
    std::stable_sort(due_.begin(), due_.end(), [](const Due& a, const Due& b) { return a.at < b.at; });
    bool last_round = false;
    for (std::int32_t step = 0; step < rules_.most_steps; ++step) {
      for (const Gap& gap : gaps_) {
        fill(gap, step, pieces);
        if (!due_.empty() || last_round) continue;
        last_round = true;
        const Picoseconds now = step == 0 && !pieces.empty() ? pieces.back().end : 0;
        for (std::size_t i = 0; i < work_.size(); ++i)
          if (work_[i].after == ExtraAfter::all) add(static_cast<std::int32_t>(i), now, 1);
        fill({.start = std::max(gap.start, used_until_), .end = gap.end}, step, pieces);
      }
      if (due_.empty()) return step + 1;
    }
    return 0;
  }

 private:
  // The time that the first `count` of equal `parts` take, which products of 64 bits may not hold.
  static Picoseconds up_to(Picoseconds whole, std::int32_t count, std::int32_t parts) {
    __extension__ using Wide = __int128;
    return static_cast<Picoseconds>(static_cast<Wide>(whole) * count / parts);
  }

  void add(std::int32_t index, Picoseconds at, std::int32_t parts_of_stage) {
    const ExtraWork& work = work_[static_cast<std::size_t>(index)];
    const Picoseconds whole = work.duration / parts_of_stage;
    for (std::int32_t part = 0; part < work.parts && whole > 0; ++part)
      due_.push_back(
          {.at = at, .work = index, .duration = up_to(whole, part + 1, work.parts) - up_to(whole, part, work.parts)});
  }

  // The oldest piece that is due and fits comes first, until none does.
  void fill(Gap gap, std::int32_t step, std::vector<Filling::Piece>& pieces) {
    for (auto piece = due_.begin(); piece != due_.end();) {
      const Picoseconds start = step == 0 ? std::max(gap.start, piece->at) : gap.start;
      const double needed = std::floor(rules_.margin * static_cast<double>(piece->duration));
      if (needed > static_cast<double>(gap.end - start)) {
        ++piece;
        continue;
      }
      gap.start = used_until_ = start + piece->duration;
      pieces.push_back({.device = device_, .work = piece->work, .step = step, .start = start, .end = gap.start});
      piece = due_.erase(piece);
    }
  }

  std::int32_t device_;
  const std::vector<ExtraWork>& work_;
  const FillRules& rules_;
  Picoseconds free_ = 0;
  Picoseconds used_until_ = 0;
  std::vector<Gap> gaps_;
  std::deque<Due> due_;
};

}  // namespace

Filling fill_bubbles(const Schedule& schedule, const SweepOrder& order, const SweepResult& result,
                     const std::vector<ExtraWork>& work, const FillRules& rules) {
  std::vector<DeviceFill> devices;
  for (std::int32_t device = 0; device < schedule.stages; ++device) devices.emplace_back(device, work, rules);
  for (std::size_t i = 0; i < order.steps.size(); ++i)
    if (order.steps[i].device < schedule.stages)
      devices[order.steps[i].device].note(order.steps[i], result.start[i], result.end[i],
                                          schedule.operations_per_stage());
  Filling filling{.interval = 1, .step = result.makespan + rules.exposed, .pieces = {}};
  Picoseconds busy = 0;
  for (std::int32_t device = 0; device < schedule.stages; ++device) {
    devices[device].close(result.makespan);
    busy += result.busy[device];
    const std::int32_t steps = devices[device].run(filling.pieces);
    filling.interval = steps == 0 || filling.interval == 0 ? 0 : std::max(filling.interval, steps);
  }
  const auto capacity = static_cast<double>(result.makespan) * schedule.stages;
  Picoseconds refresh = 0;
  for (const Filling::Piece& piece : filling.pieces) refresh += piece.end - piece.start;
  filling.utilisation_before = static_cast<double>(busy) / capacity;
  if (capacity > static_cast<double>(busy))
    filling.work_over_bubble = static_cast<double>(refresh) / (capacity - static_cast<double>(busy));
  if (filling.interval > 0)
    filling.utilisation = (static_cast<double>(busy) + static_cast<double>(rules.exposed) * schedule.stages +
                           static_cast<double>(refresh) / filling.interval) /
                          (static_cast<double>(filling.step) * schedule.stages);
  return filling;
}

}  // namespace cairn::pipeline
