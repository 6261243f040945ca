// How fast one rank computes: its windows of slowness, and jitter.
//
// Work of w picoseconds as priced that begins at t ends when the integral of speed(x) dx from t on reaches w, where
// speed(x) is the product of the speeds of all windows [from, until) that hold x. Jitter multiplies w beforehand by
// exp(sigma z - sigma^2 / 2), z standard normal, drawn anew for every computation in the order they run in.
#pragma once

#include <cstdint>
#include <vector>

#include "cairn/core/random.h"
#include "cairn/core/time.h"
#include "cairn/predict/evaluate/event.h"

namespace cairn::predict {

class RankSpeed {
 public:
  RankSpeed(const EventOptions& options, std::int64_t rank);
  // True when every computation takes what it is priced at.
  bool steady() const { return windows_.empty() && sigma_ == 0.0; }
  // Time that `priced` picoseconds of computation take from `begin` on. Throws core::ConfigurationError when it ends
  // later than simulated time reaches.
  core::Picoseconds duration(core::Picoseconds priced, core::Picoseconds begin);

 private:
  core::Picoseconds whole(double left, core::Picoseconds now) const;

  std::int64_t rank_;
  double sigma_;
  std::vector<SlowRank> windows_;
  core::Random random_;
};

}  // namespace cairn::predict
