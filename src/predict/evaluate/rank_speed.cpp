#include "rank_speed.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/core/format_units.h"

namespace cairn::predict {
namespace {

constexpr core::Picoseconds k_no_change = std::numeric_limits<core::Picoseconds>::max();

}  // namespace

// The seed is hashed first: generators whose seeds lie close together would walk through each other's numbers.
RankSpeed::RankSpeed(const EventOptions& options, std::int64_t rank)
    : rank_(rank),
      sigma_(std::max(options.jitter_sigma, 0.0)),
      random_(core::Random(options.seed).next() + static_cast<std::uint64_t>(rank)) {
  for (const SlowRank& slow : options.slow_ranks)
    if (slow.rank == rank) windows_.push_back(slow);
  steady_ = windows_.empty() && sigma_ == 0.0;
}

core::Picoseconds RankSpeed::computation(core::Picoseconds priced, core::Picoseconds begin) {
  auto work = static_cast<double>(priced);
  if (sigma_ > 0.0) work = std::round(work * std::exp(sigma_ * random_.normal() - sigma_ * sigma_ / 2.0));
  core::Picoseconds now = begin;
  while (work > 0.0) {
    double speed = 1.0;
    core::Picoseconds change = k_no_change;
    for (const SlowRank& window : windows_) {
      if (window.from <= now && now < window.until) speed *= window.speed;
      if (window.from > now) change = std::min(change, window.from);
      if (window.until > now) change = std::min(change, window.until);
    }
    const double left = work / speed;
    if (change == k_no_change || left <= static_cast<double>(change - now)) return now - begin + whole(left, now);
    work -= static_cast<double>(change - now) * speed;
    now = change;
  }
  return now - begin;
}

core::Picoseconds RankSpeed::whole(double left, core::Picoseconds now) const {
  if (left < static_cast<double>(core::k_reach - now)) return std::llround(left);
  const bool slow = !windows_.empty();
  throw core::ConfigurationError(
      slow ? "simulation.faults" : "simulation.jitter",
      fmt::format("rank {} is so slow that its work ends later than simulated time reaches, {}", rank_,
                  core::reach_text()),
      slow ? "give it a higher compute speed, or an end" : "lower its sigma");
}

}  // namespace cairn::predict
