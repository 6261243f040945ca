#include "timing.h"

#include <algorithm>
#include <cmath>

namespace cairn::probe {

namespace {

constexpr std::int64_t k_most_sets = 64;
// Of the free memory; the rest is for workspaces, the graph and the check.
constexpr double k_usable_share = 0.9;
// Rotation beyond the first set may take this share only: filling memory takes time.
constexpr double k_rotation_share = 0.25;

std::int64_t share(double part, std::int64_t whole) {
  return static_cast<std::int64_t>(part * static_cast<double>(whole));
}

}  // namespace

Timing thorough() { return {}; }

Timing quick() {
  Timing timing;
  timing.least_samples = 7;
  timing.most_samples = 30;
  timing.row_seconds = 0.02;
  timing.most_seconds = 0.5;
  timing.few_samples = 3;
  timing.warm_up_seconds = 0.01;
  timing.sample_seconds = 5e-4;
  return timing;
}

int repeats(const Timing& timing, double estimate, int sets) {
  const double wanted = estimate > 0 ? std::ceil(timing.sample_seconds / estimate) : timing.most_repeats;
  const int bounded = static_cast<int>(std::clamp(wanted, 1.0, static_cast<double>(timing.most_repeats)));
  return (bounded + sets - 1) / sets * sets;
}

bool wants_more(const Timing& timing, int samples, double elapsed) {
  if (samples >= timing.most_samples) return false;
  if (elapsed >= timing.most_seconds) return samples < timing.few_samples;
  return samples < timing.least_samples || elapsed < timing.row_seconds;
}

int operand_sets(std::int64_t footprint, const MemoryRoom& room, bool cold) {
  if (footprint > share(k_usable_share, room.free_bytes)) return 0;
  if (!cold || footprint <= 0) return 1;
  const std::int64_t wanted = (2 * room.l2_bytes + footprint - 1) / footprint;
  const std::int64_t fitting = share(k_rotation_share, room.free_bytes) / footprint;
  return static_cast<int>(std::clamp<std::int64_t>(std::min(wanted, fitting), 1, k_most_sets));
}

bool is_cold(std::int64_t footprint, int sets, const MemoryRoom& room) {
  return room.l2_bytes > 0 && footprint * sets >= 2 * room.l2_bytes;
}

}  // namespace cairn::probe
