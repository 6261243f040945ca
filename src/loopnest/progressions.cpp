#include "progressions.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "integers.h"

namespace cairn::loopnest {

namespace {

std::int64_t distinct_pair_sums(const Progression& first, const Progression& second) {
  const std::int64_t gcd = std::gcd(first.stride, second.stride);
  const std::int64_t repeated = checked_mul(std::max<std::int64_t>(0, first.count - second.stride / gcd),
                                            std::max<std::int64_t>(0, second.count - first.stride / gcd));
  return checked_mul(first.count, second.count) - repeated;
}

// Number of steps of the gcd of the strides between the least and the greatest sum.
std::int64_t span(const Progressions& progressions, std::int64_t gcd) {
  std::int64_t steps = 0;
  for (const Progression& each : progressions)
    steps = checked_add(steps, checked_mul(each.stride / gcd, each.count - 1));
  return steps;
}

// Marks the sums progression by progression; a value is reached from the one a stride below while terms are left to
// add.
std::int64_t distinct_sums_by_marking(const Progressions& progressions) {
  std::int64_t gcd = 0;
  for (const Progression& each : progressions) gcd = std::gcd(gcd, each.stride);
  const std::int64_t steps = span(progressions, gcd);
  CAIRN_ASSERT(steps < k_enumeration_limit);
  std::vector<bool> reached(static_cast<std::size_t>(steps + 1), false);
  reached[0] = true;
  std::vector<std::int32_t> added(reached.size());
  for (const Progression& each : progressions) {
    const auto stride = static_cast<std::size_t>(each.stride / gcd);
    for (std::size_t value = 0; value < reached.size(); ++value) {
      added[value] = 0;
      if (reached[value] || value < stride || !reached[value - stride]) continue;
      if (added[value - stride] + 1 >= each.count) continue;
      reached[value] = true;
      added[value] = added[value - stride] + 1;
    }
  }
  return std::count(reached.begin(), reached.end(), true);
}

}  // namespace

bool one_to_one(Progressions progressions) {
  if (progressions.size() == 2) {
    const std::int64_t gcd = std::gcd(progressions[0].stride, progressions[1].stride);
    return progressions[0].count <= progressions[1].stride / gcd ||
           progressions[1].count <= progressions[0].stride / gcd;
  }
  // Digits of a mixed-radix number: each stride exceeds all that the finer ones can add up to.
  std::sort(progressions.begin(), progressions.end(),
            [](const Progression& a, const Progression& b) { return a.stride < b.stride; });
  std::int64_t reach = 0;
  for (const Progression& each : progressions) {
    if (each.count == 1) continue;
    if (each.stride <= reach) return false;
    reach = checked_add(reach, checked_mul(each.stride, each.count - 1));
  }
  return true;
}

std::int64_t distinct_sums(const Progressions& progressions) {
  if (progressions.size() == 1) return progressions[0].count;
  if (progressions.size() == 2) return distinct_pair_sums(progressions[0], progressions[1]);
  if (one_to_one(progressions)) {
    std::int64_t product = 1;
    for (const Progression& each : progressions) product = checked_mul(product, each.count);
    return product;
  }
  for (std::size_t third = 0; third < progressions.size(); ++third) {
    Progressions pair = progressions;
    pair.erase(pair.begin() + static_cast<std::ptrdiff_t>(third));
    const std::int64_t gcd = std::gcd(pair[0].stride, pair[1].stride);
    const std::int64_t values = span(pair, gcd) + 1;
    if (distinct_pair_sums(pair[0], pair[1]) == values) return distinct_pair_sums({gcd, values}, progressions[third]);
  }
  return distinct_sums_by_marking(progressions);
}

}  // namespace cairn::loopnest
