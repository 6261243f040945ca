#include "pass_sweep.h"

#include <cstring>

#include "at.h"

namespace cairn::predict {
namespace {

constexpr auto unseen = [](const program::PassOrder::Step&) {};

// Streams that a kernel sets.
StreamSet rows_of(const Kernel& kernel) {
  if (kernel.count == 0) return set_of(k_compute) | set_of(kernel.send);
  StreamSet rows = 0;
  for (std::size_t i = 0; i < kernel.count; ++i) rows |= set_of(kernel.form.terms[i].row);
  return rows;
}

}  // namespace

void PassSweep::start(const program::Program& program) {
  const std::size_t steps = program.pass_order->sweep.size();
  const auto slots = static_cast<std::size_t>(program.layout().size());
  stages_ = program.stages();
  first_kernel_.resize(stages_);
  for (std::size_t stage = 0; stage < stages_; ++stage)
    first_kernel_[stage] = static_cast<std::uint32_t>(program.kind_of_stage[stage] * slots);
  if (states_.size() < stages_) states_.resize(stages_);
  std::memset(states_.data(), 0, stages_ * sizeof(SweepFrontiers));
  if (sent_.size() <= steps) sent_.resize(steps + 1);
  sent_[0] = 0;  // nothing to wait for
}

void PassSweep::run(const program::PassOrder& order, std::size_t steps) {
  const std::span<const Step> all(order.sweep);
  std::int32_t position = 0;
  for (const pipeline::Repetition& stretch : order.repetitions) {
    run_between(all, position, stretch.first, unseen);
    run_stretch(all, stretch);
    position = stretch.last;
  }
  run_between(all, position, static_cast<std::int32_t>(steps), unseen);
}

void PassSweep::run_stretch(std::span<const Step> steps, const pipeline::Repetition& stretch) {
  set_.clear();
  std::int32_t position = stretch.first;
  while (position + stretch.period <= stretch.last) {
    run_between(steps, position, position + stretch.period, unseen);
    position += stretch.period;
    const std::int32_t loop = pipeline::steady_loop(stretch, position, sent_.data() + 1,
                                                    [&](std::int32_t i) { return steps[at(i)].awaited; });
    if (loop > 0) position = settle(steps, stretch, position, loop * stretch.period);
  }
  run_between(steps, position, stretch.last, unseen);
}

// Messages have moved by one amount over `back` steps: two such loops further, messages and frontiers x must have done
// so as well, twice by the same amount D. Then every loop to come moves them by D, which these three points in a row
// prove, for what a loop does, as a function of a common shift t of all that moves, has in each component the form
// max( a + t, c ), c from what does not move (the start of the step, streams that no pass of the stretch sets):
// x + D at t = 0 and x + 2D at t = D leave only a = x + D >= c where D > 0. Returns how far the stretch has come.
std::int32_t PassSweep::settle(std::span<const Step> steps, const pipeline::Repetition& stretch, std::int32_t position,
                               std::int32_t back) {
  if (position + 3 * back > stretch.last) return position;
  core::Picoseconds shift = 0;
  for (int loop = 0; loop < 2; ++loop) {
    before_.assign(states_.begin(), states_.begin() + static_cast<std::ptrdiff_t>(stages_));
    run_between(steps, position, position + back, unseen);
    position += back;
    const std::size_t device = steps[at(position - 1)].device;
    const core::Picoseconds by = states_[device][k_compute] - before_[device][k_compute];
    if (loop > 0 && by != shift) return position;
    shift = by;
    const auto awaited = [&](std::int32_t i) { return steps[at(i)].awaited; };
    if (!pipeline::moved(stretch, position, back, shift, sent_.data() + 1, awaited)) return position;
    if (!moved(shift, steps.subspan(at(position - stretch.period), at(stretch.period)))) return position;
  }
  const std::int32_t target = pipeline::jump_over(stretch, position, back, shift, sent_.data() + 1);
  const std::int64_t times = (target - position) / back;
  for (std::size_t stage = 0; stage < stages_; ++stage)
    for (std::size_t stream = 0; stream < program::k_streams; ++stream)
      states_[stage][stream] += times * (states_[stage][stream] - before_[stage][stream]);
  return target;
}

// Whether the streams of all stages have moved by `shift`, those apart that no pass of the period sets.
bool PassSweep::moved(core::Picoseconds shift, std::span<const Step> period) {
  for (std::size_t stage = 0; stage < stages_; ++stage)
    for (std::size_t stream = 0; stream < program::k_streams; ++stream) {
      if (stream == k_arrival) continue;  // set anew by every pass that reads it
      const core::Picoseconds by = states_[stage][stream] - before_[stage][stream];
      if (by != shift && (by != 0 || sets(stage, stream, period))) return false;
    }
  return true;
}

bool PassSweep::sets(std::size_t stage, std::size_t stream, std::span<const Step> period) {
  // No weight is below 0: what is free from the start rests on nothing that moves.
  if (states_[stage][stream] == 0) return false;
  if (set_.empty()) {
    set_.assign(stages_, 0);
    for (const Step& step : period) set_[step.device] |= rows_of(kernels_[first_kernel_[step.device] + step.slot]);
  }
  return has(set_[stage], stream);
}

}  // namespace cairn::predict
