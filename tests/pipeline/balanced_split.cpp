#include <numeric>

#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "cairn/pipeline/balanced_split.h"
#include "catch.h"

using namespace cairn;
using pipeline::balanced_split;

namespace {

// Independent: dynamic programming over (items, parts).
std::int64_t smallest_bottleneck(const std::vector<std::int64_t>& costs, int parts, pipeline::SplitExtras extras) {
  const int items = static_cast<int>(costs.size());
  constexpr std::int64_t far = 1'000'000'000;
  std::vector<std::vector<std::int64_t>> best(parts + 1, std::vector<std::int64_t>(items + 1, far));
  best[0][0] = 0;
  for (int k = 1; k <= parts; ++k)
    for (int end = k; end <= items; ++end) {
      std::int64_t sum = (k == 1 ? extras.first : 0) + (k == parts ? extras.last : 0);
      for (int begin = end - 1; begin >= 0; --begin) {
        sum += costs[begin];
        best[k][end] = std::min(best[k][end], std::max(best[k - 1][begin], sum));
      }
    }
  return best[parts][items];
}

}  // namespace

TEST_CASE("balanced split, by hand") {
  const std::vector<std::int64_t> equal(9, 10);
  // 9 equal layers on 4 stages: somebody has 3. Shares from the front: 90/4 -> 2, 70/3 -> 2, 50/2 -> 2 or 3 (tie: 2),
  // 3.
  CHECK(balanced_split(equal, 4).counts == std::vector<std::int32_t>{2, 2, 2, 3});
  CHECK(balanced_split(equal, 4).bottleneck == 30);
  // A head worth two layers: (90 + 20)/4 = 27.5 -> 3 (30 is nearer than 20), then 80/3 -> 3, 50/2 = 25 -> 2 (tie), last
  // 1 + head = 30.
  CHECK(balanced_split(equal, 4, {.first = 0, .last = 20}).counts == std::vector<std::int32_t>{3, 3, 2, 1});
  CHECK(balanced_split(equal, 4, {.first = 0, .last = 20}).bottleneck == 30);
  // {7,2,5,10,8} in two parts: 14 | 18.
  CHECK(balanced_split(std::vector<std::int64_t>{7, 2, 5, 10, 8}, 2).counts == std::vector<std::int32_t>{3, 2});
  // One part carries everything; extras larger than all layers leave one item there.
  CHECK(balanced_split(equal, 1, {.first = 5, .last = 6}).bottleneck == 101);
  CHECK(balanced_split(equal, 2, {.first = 1000, .last = 0}).counts == std::vector<std::int32_t>{1, 8});
  CHECK(balanced_split(std::vector<std::int64_t>{0, 0, 0}, 3).counts == std::vector<std::int32_t>{1, 1, 1});
}

TEST_CASE("balanced split is optimal on random rows") {
  core::Random random(7);
  for (int round = 0; round < 3000; ++round) {
    const int items = 1 + static_cast<int>(random.below(14));
    const int parts = 1 + static_cast<int>(random.below(items));
    const std::uint64_t range = round % 2 == 0 ? 3 : 100;
    std::vector<std::int64_t> costs(items);
    for (auto& cost : costs) cost = static_cast<std::int64_t>(random.below(range));
    const pipeline::SplitExtras extras{.first = static_cast<std::int64_t>(random.below(range)),
                                       .last = static_cast<std::int64_t>(random.below(2 * range))};
    const auto split = balanced_split(costs, parts, extras);
    REQUIRE(std::ssize(split.counts) == parts);
    REQUIRE(std::accumulate(split.counts.begin(), split.counts.end(), 0) == items);
    std::int64_t worst = 0;
    int item = 0;
    for (int k = 0; k < parts; ++k) {
      REQUIRE(split.counts[k] >= 1);
      std::int64_t sum = (k == 0 ? extras.first : 0) + (k + 1 == parts ? extras.last : 0);
      for (int i = 0; i < split.counts[k]; ++i) sum += costs[item++];
      worst = std::max(worst, sum);
    }
    REQUIRE(worst == split.bottleneck);
    REQUIRE(worst == smallest_bottleneck(costs, parts, extras));
  }
}

TEST_CASE("balanced split refuses more parts than items") {
  CHECK_THROWS_AS(balanced_split(std::vector<std::int64_t>{1, 2}, 3), core::ConfigurationError);
  CHECK_THROWS_AS(balanced_split(std::vector<std::int64_t>{}, 1), core::ConfigurationError);
  CHECK_THROWS_AS(balanced_split(std::vector<std::int64_t>{1, 2}, 0), core::ConfigurationError);
}
