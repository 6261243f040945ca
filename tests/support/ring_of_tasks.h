// A ring all-reduce as tasks, and the loop around a heap that anyone would write to run it: what speeds of the kernel
// are ratios to.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "cairn/core/random.h"
#include "cairn/core/time.h"

namespace cairn::support {

// 2 (P-1) steps of P messages; each follows what its rank sent and received in the step before. Random durations, so
// that events do not fall together.
class RingOfTasks {
 public:
  explicit RingOfTasks(std::uint32_t ranks) : ranks_(ranks), duration_(std::size_t{2} * (ranks - 1) * ranks) {
    core::Random random(1);
    for (core::Picoseconds& duration : duration_)
      duration = 80'000'000 + static_cast<core::Picoseconds>(random.below(1'000'000));
    successors_.reserve(2 * duration_.size());
    for (std::uint32_t task = 0; task + ranks < tasks(); ++task) {
      const std::uint32_t next = (task / ranks + 1) * ranks;
      successors_.push_back(next + task % ranks);
      successors_.push_back(next + (task + 1) % ranks);
    }
  }
  std::uint32_t tasks() const { return static_cast<std::uint32_t>(duration_.size()); }

  // Returns the makespan.
  core::Picoseconds run_by_priority_queue() const {
    using Event = std::pair<core::Picoseconds, std::uint32_t>;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
    std::vector<std::uint8_t> remaining(tasks(), 2);
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) events.emplace(duration_[rank], rank);
    std::vector<core::Picoseconds> end(tasks());
    core::Picoseconds now = 0;
    while (!events.empty()) {
      const auto [time, task] = events.top();
      events.pop();
      end[task] = now = time;
      if (task + ranks_ >= tasks()) continue;
      for (const std::uint32_t next : std::span(successors_).subspan(std::size_t{2} * task, 2))
        if (--remaining[next] == 0) events.emplace(now + duration_[next], next);
    }
    return now;
  }

 private:
  std::uint32_t ranks_;
  std::vector<core::Picoseconds> duration_;  // by task
  std::vector<std::uint32_t> successors_;    // two for every task but those of the last step
};

}  // namespace cairn::support
