// Costs of tasks drawn at random: small and large ones, alike and different, some of nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cairn/core/random.h"

namespace cairn::partition {

inline std::vector<std::int64_t> random_task_costs(std::size_t count, core::Random& random) {
  constexpr std::uint64_t k_ranges[] = {4, 20, 1'000, 1'000'000'000'000};
  const std::uint64_t range = k_ranges[random.below(4)];
  std::vector<std::int64_t> costs(count);
  for (std::int64_t& cost : costs) cost = static_cast<std::int64_t>(random.below(range));
  return costs;
}

}  // namespace cairn::partition
