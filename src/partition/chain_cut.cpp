#include "cairn/partition/chain_cut.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"

namespace cairn::partition {
namespace {

// sums[i]: the costs before i.
std::vector<std::int64_t> sums_before(std::span<const std::int64_t> costs) {
  std::vector<std::int64_t> sums(costs.size() + 1, 0);
  for (std::size_t i = 0; i < costs.size(); ++i) sums[i + 1] = sums[i] + costs[i];
  return sums;
}

// Where a part that begins at `begin` ends when it holds as much as `most` allows.
std::size_t filled_end(const std::vector<std::int64_t>& sums, std::size_t begin, std::int64_t most) {
  const auto from = sums.begin() + static_cast<std::ptrdiff_t>(begin);
  return static_cast<std::size_t>(std::upper_bound(from, sums.end(), *from + most) - sums.begin()) - 1;
}

bool fits_in_parts(const std::vector<std::int64_t>& sums, std::int64_t parts, std::int64_t most) {
  const std::size_t count = sums.size() - 1;
  std::size_t begin = 0;
  for (std::int64_t part = 0; part < parts && begin < count; ++part) begin = filled_end(sums, begin, most);
  return begin == count;
}

}  // namespace

std::int64_t checked_sum(std::span<const std::int64_t> costs) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (costs[i] < 0)
      throw core::ConfigurationError("costs", fmt::format("cost {} is {}", i + 1, costs[i]), "give costs of 0 or more");
    if (costs[i] > k_most_cost - sum)
      throw core::ConfigurationError("costs",
                                     fmt::format("the first {} costs add up to more than {}", i + 1, k_most_cost),
                                     "give costs in a larger unit");
    sum += costs[i];
  }
  return sum;
}

ChainCut cut_chain(std::span<const std::int64_t> costs, std::int64_t parts) {
  if (parts < 1 || parts > k_most_parts)
    throw core::ConfigurationError("parts", fmt::format("{} is out of range", parts), "give between 1 and 1,000,000");
  std::int64_t above = checked_sum(costs);
  const std::vector<std::int64_t> sums = sums_before(costs);
  std::int64_t most = costs.empty() ? 0 : *std::max_element(costs.begin(), costs.end());
  most = std::max(most, above / parts);
  while (most < above) {
    const std::int64_t middle = most + (above - most) / 2;
    if (fits_in_parts(sums, parts, middle))
      above = middle;
    else
      most = middle + 1;
  }

  ChainCut result{.begins = {}, .most = most};
  std::size_t begin = 0;
  for (std::int64_t part = 0; part < parts; ++part) {
    result.begins.push_back(begin);
    const auto later = static_cast<std::size_t>(parts - part - 1);
    const std::size_t left = costs.size() - begin;
    // One cost is kept for each later part.
    begin =
        std::min(filled_end(sums, begin, most), begin + (left > later ? left - later : std::min<std::size_t>(left, 1)));
  }
  return result;
}

ChainCut cut_evenly(std::span<const std::int64_t> costs, std::int64_t parts) {
  ChainCut result = cut_chain(costs, parts);
  const std::size_t size = costs.size();
  const std::size_t filled = std::min(static_cast<std::size_t>(parts), size);
  const std::vector<std::int64_t> sums = sums_before(costs);
  // least[i]: the least sum of squares of the first i costs in k parts; from[k][i]: where the last of these begins.
  constexpr double k_none = std::numeric_limits<double>::infinity();
  std::vector<double> least(size + 1, k_none);
  least[0] = 0.0;
  std::vector<std::vector<std::size_t>> from(filled + 1, std::vector<std::size_t>(size + 1, 0));
  for (std::size_t k = 1; k <= filled; ++k) {
    std::vector<double> next(size + 1, k_none);
    for (std::size_t i = k; i <= size; ++i)
      for (std::size_t j = i; j-- > k - 1 && sums[i] - sums[j] <= result.most;) {
        const auto part = static_cast<double>(sums[i] - sums[j]);
        if (least[j] + part * part >= next[i]) continue;
        next[i] = least[j] + part * part;
        from[k][i] = j;
      }
    least.swap(next);
  }
  for (std::size_t k = filled, end = size; k > 0; --k) result.begins[k - 1] = end = from[k][end];
  return result;
}

}  // namespace cairn::partition
