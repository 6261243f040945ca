// All stages of a program through all of its passes, each pass a Kernel: the times at which streams become free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cairn/program/program.h"
#include "pass_function.h"

namespace cairn::predict {

class PassSweep {
 public:
  // All stages before their first pass. The kernels, by kind of stage and slot, are set next.
  void start(const program::Program& program);
  std::vector<Kernel>& kernels() { return kernels_; }

  // The first `steps` of the order's sweep, but for those of a repetition that are known once it is steady: what they
  // sent is not kept where none behind them reads it.
  void run(const program::PassOrder& order, std::size_t steps);
  // Those steps one by one; `after` sees every one when it has run.
  template <class After>
  void run_each(std::span<const program::PassOrder::Step> steps, After after) {
    run_between(steps, 0, static_cast<std::int32_t>(steps.size()), after);
  }

  const SweepFrontiers& state(std::size_t stage) const { return states_[stage]; }
  // When the message of that step of the sweep came; 0 for -1, which sends none.
  core::Picoseconds sent(std::int32_t step) const { return sent_[static_cast<std::size_t>(step + 1)]; }

 private:
  using Step = program::PassOrder::Step;

  template <class After>
  void run_between(std::span<const Step> steps, std::int32_t from, std::int32_t to, After after) {
    const Kernel* const kernels = kernels_.data();
    const std::uint32_t* const first = first_kernel_.data();
    SweepFrontiers* const states = states_.data();
    core::Picoseconds* const sent = sent_.data() + 1;
    for (auto i = static_cast<std::ptrdiff_t>(from); i < to; ++i) {
      const Step& step = steps[static_cast<std::size_t>(i)];
      sent[i] = run_pass(kernels[first[step.device] + step.slot], sent[step.producer],
                         static_cast<std::size_t>(step.sends_to), states[step.device]);
      after(step);
    }
  }
  void run_stretch(std::span<const Step> steps, const pipeline::Repetition& stretch);
  std::int32_t settle(std::span<const Step> steps, const pipeline::Repetition& stretch, std::int32_t position,
                      std::int32_t back);
  bool moved(core::Picoseconds shift, std::span<const Step> period);
  bool sets(std::size_t stage, std::size_t stream, std::span<const Step> period);

  std::vector<Kernel> kernels_;              // by kind of stage and slot
  std::vector<std::uint32_t> first_kernel_;  // by stage
  std::size_t stages_ = 0;
  std::vector<SweepFrontiers> states_;   // by stage, of the largest program so far
  std::vector<core::Picoseconds> sent_;  // by position in the sweep, plus one, of the longest so far
  // Of the stretch under way:
  std::vector<SweepFrontiers> before_;  // states a loop ago
  std::vector<StreamSet> set_;          // by stage: streams that a pass sets; empty until it is asked for
};

}  // namespace cairn::predict
