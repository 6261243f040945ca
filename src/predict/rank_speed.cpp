#include "rank_speed.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"

namespace cairn::predict {
namespace {

constexpr double k_longest_kernel = 1e17;  // picoseconds, a little over a day: beyond it a speed is a mistake

}  // namespace

// The seed is hashed first: generators whose seeds lie close together would walk through each other's numbers.
RankSpeed::RankSpeed(const EventOptions& options, std::int64_t rank)
    : rank_(rank),
      sigma_(std::max(options.jitter_sigma, 0.0)),
      random_(core::Random(options.seed).next() + static_cast<std::uint64_t>(rank)) {
  for (const SlowRank& slow : options.slow_ranks)
    if (slow.rank == rank) windows_.push_back(slow);
}

core::Picoseconds RankSpeed::duration(core::Picoseconds priced, core::Picoseconds begin) {
  auto work = static_cast<double>(priced);
  if (sigma_ > 0.0) work = std::round(work * std::exp(sigma_ * random_.normal() - sigma_ * sigma_ / 2.0));
  return windows_.empty() ? static_cast<core::Picoseconds>(work) : through_windows(work, begin);
}

core::Picoseconds RankSpeed::through_windows(double work, core::Picoseconds begin) const {
  core::Picoseconds now = begin;
  while (work > 0.0) {
    double speed = 1.0;
    core::Picoseconds change = std::numeric_limits<core::Picoseconds>::max();
    for (const SlowRank& window : windows_) {
      if (window.from <= now && now < window.until) speed *= window.speed;
      if (window.from > now) change = std::min(change, window.from);
      if (window.until > now) change = std::min(change, window.until);
    }
    const double left = work / speed;
    if (left > k_longest_kernel && change == std::numeric_limits<core::Picoseconds>::max())
      throw core::ConfigurationError("simulation.faults",
                                     fmt::format("rank {} is so slow that one kernel takes more than a day", rank_),
                                     "give it a higher compute speed, or an end");
    if (left <= static_cast<double>(change - now)) return now - begin + std::llround(left);
    work -= static_cast<double>(change - now) * speed;
    now = change;
  }
  return now - begin;
}

}  // namespace cairn::predict
