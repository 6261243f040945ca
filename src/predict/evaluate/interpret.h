// The meaning of a Program's block, written once for all evaluators.
//
// interpret() walks the steps of a block in issue order and tells a machine what each step waits for. A machine turns
// this into times of one run, or into times as functions of the entry frontiers (Clock), into lists of tasks for the
// event engine (BlockLayout), or into the reasons why each step began when it did (walk_back).
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "cairn/predict/evaluate/max_plus.h"
#include "cairn/predict/price/price.h"

namespace cairn::predict {

// machine.follow(index, step)      step `index` of the block begins behind everything its stream did before,
// machine.after_step(other)        behind the end of an earlier step of the block,
// machine.after_entry(stream)      behind everything that stream `stream` did before the block,
// machine.after_launch(step)       behind the host, which issues it behind all it did before;
// machine.run(index, step)         then it runs, for the price of its work, on its stream.
template <class Machine>
void interpret(const program::Block& block, Machine& machine) {
  for (std::size_t index = 0; index < block.steps.size(); ++index) {
    const program::Step& step = block.steps[index];
    machine.follow(index, step);
    for (std::size_t d = step.first_dependency; d < step.first_dependency + step.dependencies; ++d) {
      const program::Dependency dependency = block.dependencies[d];
      if (dependency >= 0)
        machine.after_step(static_cast<std::size_t>(dependency));
      else
        machine.after_entry(static_cast<std::size_t>(~dependency));
    }
    if (step.launches > 0) machine.after_launch(step);
    machine.run(index, step);
  }
}

// Time is a number or a Form. `record(step, start, end)` sees every step.
template <class Time, class Record>
class Clock {
 public:
  // `ends`: of the steps, kept for its memory.
  Clock(const BlockPrices& prices, core::Picoseconds host_per_kernel, std::array<Time, program::k_streams>& frontier,
        std::vector<Time>& ends, Record record)
      : prices_(prices),
        host_per_kernel_(host_per_kernel),
        frontier_(frontier),
        entry_(frontier),
        ends_(ends),
        record_(record) {
    ends_.clear();
  }

  void follow(std::size_t, const program::Step& step) { start_ = frontier_[static_cast<std::size_t>(step.stream)]; }
  void after_step(std::size_t other) { start_ = latest(start_, ends_[other]); }
  void after_entry(std::size_t stream) { start_ = latest(start_, entry_[stream]); }
  void after_launch(const program::Step& step) {
    Time& host = frontier_[static_cast<std::size_t>(program::Stream::host)];
    host = later(host, issue_time(step, prices_, host_per_kernel_));
    start_ = latest(start_, host);
  }
  void run(std::size_t index, const program::Step& step) {
    const Time end = step.work < 0 ? start_ : later(start_, prices_[static_cast<std::size_t>(step.work)].duration);
    frontier_[static_cast<std::size_t>(step.stream)] = end;
    ends_.push_back(end);
    record_(index, start_, end);
  }

 private:
  const BlockPrices& prices_;
  core::Picoseconds host_per_kernel_;
  std::array<Time, program::k_streams>& frontier_;
  const std::array<Time, program::k_streams> entry_;
  std::vector<Time>& ends_;
  Record record_;
  Time start_{};
};

template <class Time, class Record>
void execute(const program::Block& block, const BlockPrices& prices, core::Picoseconds host_per_kernel,
             std::array<Time, program::k_streams>& frontier, std::vector<Time>& ends, Record record) {
  Clock<Time, Record> clock(prices, host_per_kernel, frontier, ends, record);
  interpret(block, clock);
}

}  // namespace cairn::predict
