#include "segments.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cairn/core/diagnostics.h"

namespace cairn::pebble {

namespace {

__extension__ using Wide = __int128;

constexpr long double k_rounding_up = 1.0L + 1e-12L;  // covers the rounding of a few dozen long double operations
constexpr double k_coarse_step = 1.15;
constexpr int k_coarse_steps = 60;  // T from S / 60 to 70 S
constexpr int k_refinements = 16;
constexpr double k_narrowing = 0.6;

Words bound_at(Words points, Words transfers, const std::function<long double(Words)>& capacity) {
  const long double most = std::floor(capacity(transfers) * k_rounding_up);
  if (most >= static_cast<long double>(points)) return 0;
  const Words per_stretch = std::max<Words>(1, static_cast<Words>(most));
  const Wide stretches = (static_cast<Wide>(points) + per_stretch - 1) / per_stretch;
  const Wide words = static_cast<Wide>(transfers) * (stretches - 1);
  if (words > std::numeric_limits<Words>::max() / 4) {
    throw core::ConfigurationError("bound", "the data movement exceeds 2^61 words", "use smaller sizes");
  }
  return static_cast<Words>(words);
}

}  // namespace

Segments best_segments(Words points, Words fast, const std::function<long double(Words)>& capacity) {
  Segments best;
  const auto whole = [](double transfers) {
    constexpr double k_most = 4611686018427387904.0;  // 2^62: any length of a stretch gives a bound that holds
    return static_cast<Words>(std::min(transfers, k_most));
  };
  const auto consider = [&](Words transfers) {
    const Words words = bound_at(points, transfers, capacity);
    if (words > best.words) best = {.words = words, .transfers = transfers};
  };
  double transfers = std::max(1.0, static_cast<double>(fast) * std::pow(k_coarse_step, -k_coarse_steps / 2));
  for (int i = 0; i < k_coarse_steps; ++i, transfers *= k_coarse_step) consider(whole(transfers));
  for (Words simple : {fast, 2 * fast, 4 * fast}) consider(std::max<Words>(1, simple));
  double width = static_cast<double>(best.transfers) * (k_coarse_step - 1.0);
  for (int i = 0; i < k_refinements && width >= 0.5 && best.words > 0; ++i, width *= k_narrowing) {
    const double centre = static_cast<double>(best.transfers);
    consider(whole(std::max(1.0, centre - width)));
    consider(whole(centre + width));
  }
  return best;
}

Segments simple_segments(Words points, Words fast, const std::function<long double(Words)>& capacity) {
  Segments best;
  for (Words simple : {fast, 2 * fast, 4 * fast}) {
    const Words transfers = std::max<Words>(1, simple);
    const Words words = bound_at(points, transfers, capacity);
    if (words > best.words) best = {.words = words, .transfers = transfers};
  }
  return best;
}

}  // namespace cairn::pebble
