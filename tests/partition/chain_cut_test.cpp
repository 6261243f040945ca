#include "cairn/partition/chain_cut.h"

#include <algorithm>
#include <numeric>

#include "cairn/core/diagnostics.h"
#include "catch.h"
#include "random_costs.h"

namespace cairn::partition {
namespace {

// M* by trying every end of the first part.
std::int64_t least_of_every_cut(std::span<const std::int64_t> costs, std::int64_t parts) {
  const std::int64_t all = std::accumulate(costs.begin(), costs.end(), std::int64_t{0});
  if (parts == 1) return all;
  std::int64_t least = all, part = 0;
  for (std::size_t end = 0; end <= costs.size(); ++end) {
    least = std::min(least, std::max(part, least_of_every_cut(costs.subspan(end), parts - 1)));
    if (end < costs.size()) part += costs[end];
  }
  return least;
}

// The least sum of squares of cuts into parts that are none empty and of `most` at most; below 0 where there are none.
double least_squares(std::span<const std::int64_t> costs, std::int64_t parts, std::int64_t most) {
  if (costs.empty() || parts == 0) return costs.empty() && parts == 0 ? 0.0 : -1.0;
  double least = -1.0;
  std::int64_t part = 0;
  for (std::size_t end = 1; end <= costs.size(); ++end) {
    part += costs[end - 1];
    if (part > most) break;
    const double rest = least_squares(costs.subspan(end), parts - 1, most);
    const double all = static_cast<double>(part) * static_cast<double>(part) + rest;
    if (rest >= 0.0 && (least < 0.0 || all < least)) least = all;
  }
  return least;
}

}  // namespace

// Two parts of 4 1 3 2: 4 | 1 3 2 has 6, 4 1 | 3 2 has 5, 4 1 3 | 2 has 8.
TEST_CASE("The chain of the header's example") {
  const ChainCut cut = cut_chain(std::vector<std::int64_t>{4, 1, 3, 2}, 2);
  CHECK(cut.most == 5);
  CHECK(cut.begins == std::vector<std::size_t>{0, 2});
}

// 34 equal costs in eight parts: M* = 5, and two parts of it are enough.
TEST_CASE("Parts are as even as the largest one allows") {
  const auto begins = [](const std::vector<std::int64_t>& costs, std::int64_t parts) {
    return cut_evenly(costs, parts).begins;
  };
  CHECK(begins({5, 1, 1, 1, 1, 1}, 3) == std::vector<std::size_t>{0, 1, 4});
  CHECK(begins(std::vector<std::int64_t>(34, 1), 8) == std::vector<std::size_t>{0, 5, 10, 14, 18, 22, 26, 30});
  CHECK(begins({3, 2}, 4) == std::vector<std::size_t>{0, 1, 2, 2});
  CHECK(begins({}, 2) == std::vector<std::size_t>{0, 0});
  CHECK_THROWS_AS(cut_evenly(std::vector<std::int64_t>{1}, 0), core::ConfigurationError);
}

TEST_CASE("No cut with the least largest part is more even, on 2,000 random chains") {
  core::Random random(2);
  int better = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::vector<std::int64_t> costs = random_task_costs(1 + random.below(10), random);
    const std::int64_t parts = 1 + static_cast<std::int64_t>(random.below(5));
    const auto squares = [&](const ChainCut& cut) {
      double sum = 0.0;
      for (std::size_t p = 0; p < cut.begins.size(); ++p) {
        const std::size_t end = p + 1 < cut.begins.size() ? cut.begins[p + 1] : costs.size();
        std::int64_t part = 0;
        for (std::size_t task = cut.begins[p]; task < end; ++task) part += costs[task];
        REQUIRE(part <= cut.most);
        sum += static_cast<double>(part) * static_cast<double>(part);
      }
      return sum;
    };
    const ChainCut filled = cut_chain(costs, parts), even = cut_evenly(costs, parts);
    REQUIRE(even.most == filled.most);
    REQUIRE(even.begins.size() == filled.begins.size());
    const std::int64_t filled_parts = std::min(parts, static_cast<std::int64_t>(costs.size()));
    REQUIRE(squares(even) == Approx(least_squares(costs, filled_parts, even.most)).epsilon(1e-12));
    better += squares(even) < 0.999 * squares(filled) ? 1 : 0;
  }
  CHECK(better > 100);
}

TEST_CASE("The largest part of a chain is the least of every cut, on 4,000 random chains") {
  core::Random random(1);
  int above_bound = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::vector<std::int64_t> costs = random_task_costs(random.below(11), random);
    const std::int64_t parts = 1 + static_cast<std::int64_t>(random.below(5));
    const ChainCut cut = cut_chain(costs, parts);
    REQUIRE(cut.most == least_of_every_cut(costs, parts));
    REQUIRE(static_cast<std::int64_t>(cut.begins.size()) == parts);
    REQUIRE(cut.begins.front() == 0);
    std::int64_t most = 0, sum = 0;
    for (std::size_t p = 0; p < cut.begins.size(); ++p) {
      const std::size_t end = p + 1 < cut.begins.size() ? cut.begins[p + 1] : costs.size();
      REQUIRE(cut.begins[p] <= end);
      REQUIRE((end > cut.begins[p] || p >= costs.size()));
      std::int64_t part = 0;
      for (std::size_t task = cut.begins[p]; task < end; ++task) part += costs[task];
      most = std::max(most, part);
      sum += part;
    }
    REQUIRE(most == cut.most);
    const std::int64_t largest = costs.empty() ? 0 : *std::max_element(costs.begin(), costs.end());
    above_bound += most > std::max(largest, (sum + parts - 1) / parts);
  }
  CHECK(above_bound > 1000);  // the mean and the largest cost do not give the answer away
}

TEST_CASE("What no chain can be cut from is refused") {
  const std::vector<std::int64_t> below = {1, -1}, large = {k_most_cost, 1};
  CHECK_THROWS_AS(cut_chain(below, 2), core::ConfigurationError);
  CHECK_THROWS_AS(cut_chain(large, 2), core::ConfigurationError);
  CHECK_THROWS_AS(cut_chain(std::vector<std::int64_t>{1}, 0), core::ConfigurationError);
  CHECK(cut_chain(std::vector<std::int64_t>{k_most_cost}, 2).most == k_most_cost);
  CHECK(cut_chain(std::vector<std::int64_t>{}, 2).most == 0);
}

}  // namespace cairn::partition
