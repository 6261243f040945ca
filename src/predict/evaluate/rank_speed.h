// How long tasks take on one rank: what they are priced at, but for computation where the rank is slow or jitters.
//
// Work of w picoseconds as priced that begins at t ends when the integral of speed(x) dx from t on reaches w, where
// speed(x) is the product of the speeds of all windows [from, until) that hold x. Jitter multiplies w beforehand by
// exp(sigma z - sigma^2 / 2), z standard normal, drawn anew for every computation in the order they run in.
#pragma once

#include <cstdint>
#include <vector>

#include "block_layout.h"
#include "cairn/core/random.h"
#include "cairn/core/time.h"
#include "cairn/predict/evaluate/event.h"

namespace cairn::predict {

class RankSpeed {
 public:
  RankSpeed(const EventOptions& options, std::int64_t rank);
  // Time that the task takes from `begin` on where nothing is shared. Throws core::ConfigurationError when it ends later
  // than simulated time reaches.
  core::Picoseconds duration(const Task& task, core::Picoseconds begin) {
    return steady_ || task.kind != TaskKind::computes ? task.duration : computation(task.duration, begin);
  }

 private:
  core::Picoseconds computation(core::Picoseconds priced, core::Picoseconds begin);
  core::Picoseconds whole(double left, core::Picoseconds now) const;

  bool steady_ = true;  // every computation takes what it is priced at
  std::int64_t rank_;
  double sigma_;
  std::vector<SlowRank> windows_;
  core::Random random_;
};

}  // namespace cairn::predict
