#include <numeric>

#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "cairn/pipeline/balanced_split.h"
#include "catch.h"

using namespace cairn;
using pipeline::balanced_split;
using pipeline::filled_split;

namespace {

// Items that part k must hold: none where it is an end that carries something.
int least(int k, int parts, pipeline::SplitExtras extras) {
  return (k == 0 && extras.first > 0) || (k + 1 == parts && extras.last > 0) ? 0 : 1;
}

// Independent: dynamic programming over (items, parts).
std::int64_t smallest_bottleneck(const std::vector<std::int64_t>& costs, int parts, pipeline::SplitExtras extras) {
  const int items = static_cast<int>(costs.size());
  constexpr std::int64_t far = 1'000'000'000;
  std::vector<std::vector<std::int64_t>> best(parts + 1, std::vector<std::int64_t>(items + 1, far));
  best[0][0] = 0;
  for (int k = 1; k <= parts; ++k)
    for (int end = 0; end <= items; ++end) {
      std::int64_t sum = (k == 1 ? extras.first : 0) + (k == parts ? extras.last : 0);
      for (int begin = end; begin >= 0; --begin) {
        if (begin < end) sum += costs[begin];
        if (end - begin >= least(k - 1, parts, extras))
          best[k][end] = std::min(best[k][end], std::max(best[k - 1][begin], sum));
      }
    }
  return best[parts][items];
}

}  // namespace

// Shares of 28 equal layers and a head worth 3.5 of them (31.5 in all) on four stages: 7.875, 15.75, 23.625. Eight
// layers pass the first, 16 the second, 24 the third; four and the head are left.
TEST_CASE("filled split, by hand") {
  const std::vector<std::int64_t> equal(28, 10);
  using Counts = std::vector<std::int32_t>;
  CHECK(filled_split(equal, 1, {.first = 0, .last = 35}) == Counts{28});
  CHECK(filled_split(equal, 4, {.first = 0, .last = 35}) == Counts{8, 8, 8, 4});
  CHECK(filled_split(equal, 4, {.first = 99, .last = 35}) == Counts{8, 8, 8, 4});  // the embedding counts for nothing
  // 3.9375 a stage: four layers pass each, and nothing but the head is left for the eighth.
  CHECK(filled_split(equal, 8, {.first = 0, .last = 35}) == Counts{4, 4, 4, 4, 4, 4, 4, 0});
  // Without a head 7, 14 and 21 are met, not passed: eight, seven (15 > 14), seven (22 > 21), six.
  CHECK(filled_split(equal, 4) == Counts{8, 7, 7, 6});
  // 1.96875 a stage: two layers pass each of fourteen, the head follows in the fifteenth, and the last would hold
  // nothing: it takes the head, and the fifteenth a layer of the fourteenth.
  CHECK(filled_split(equal, 16, {.first = 0, .last = 35}) == Counts{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 0});
  // 12.5 a stage of five layers of 10: two pass the first (20), 30 the second, 40 the third; the fourth has the rest.
  CHECK(filled_split(std::vector<std::int64_t>(5, 10), 4) == Counts{2, 1, 1, 1});
  // A share is 205 / 3: all of two layers of 100 lie behind the first two, the head is left for the third.
  CHECK(filled_split(std::vector<std::int64_t>{100, 100}, 3, {.first = 0, .last = 5}) == Counts{1, 1, 0});
  // A share is 300 / 3: the first layer of 10 does not pass it, nor do both; the second stage would hold nothing.
  CHECK(filled_split(std::vector<std::int64_t>{10, 10}, 3, {.first = 0, .last = 280}) == Counts{1, 1, 0});
  CHECK_THROWS_AS(filled_split(equal, 29), core::ConfigurationError);
  CHECK_THROWS_AS(filled_split(equal, 30, {.first = 0, .last = 35}), core::ConfigurationError);
  CHECK_THROWS_AS(filled_split(equal, 0), core::ConfigurationError);
}

TEST_CASE("filled split: no layer is lost, only the last stage may have none") {
  core::Random random(7);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::int64_t> costs(static_cast<std::size_t>(1 + random.below(40)));
    for (std::int64_t& cost : costs) cost = static_cast<std::int64_t>(random.below(50));
    const auto head = static_cast<std::int64_t>(random.below(400));
    const auto most = costs.size() + (head > 0 ? 1 : 0);
    const auto parts = static_cast<std::int32_t>(1 + random.below(static_cast<std::uint64_t>(most)));
    const auto counts = filled_split(costs, parts, {.first = 0, .last = head});
    REQUIRE(std::ssize(counts) == parts);
    CHECK(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) == std::ssize(costs));
    for (std::size_t part = 0; part + 1 < counts.size(); ++part) CHECK(counts[part] >= 1);
  }
}

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
  // One part carries everything; extras larger than all layers leave none there.
  CHECK(balanced_split(equal, 1, {.first = 5, .last = 6}).bottleneck == 101);
  CHECK(balanced_split(equal, 2, {.first = 1000, .last = 0}).counts == std::vector<std::int32_t>{0, 9});
  // As many stages as layers and ends: each alone.
  CHECK(balanced_split(equal, 11, {.first = 1, .last = 30}).counts ==
        std::vector<std::int32_t>{0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0});
  CHECK(balanced_split(equal, 11, {.first = 1, .last = 30}).bottleneck == 30);
  // One end has room: of a head of 30 and an embedding of 1 the head stands alone.
  CHECK(balanced_split(equal, 10, {.first = 1, .last = 30}).counts ==
        std::vector<std::int32_t>{1, 1, 1, 1, 1, 1, 1, 1, 1, 0});
  CHECK(balanced_split(std::vector<std::int64_t>{0, 0, 0}, 3).counts == std::vector<std::int32_t>{1, 1, 1});
}

TEST_CASE("balanced split is optimal on random rows") {
  core::Random random(7);
  for (int round = 0; round < 3000; ++round) {
    const int items = 1 + static_cast<int>(random.below(14));
    const std::uint64_t range = round % 2 == 0 ? 3 : 100;
    std::vector<std::int64_t> costs(items);
    for (auto& cost : costs) cost = static_cast<std::int64_t>(random.below(range));
    const pipeline::SplitExtras extras{.first = static_cast<std::int64_t>(random.below(range)),
                                       .last = static_cast<std::int64_t>(random.below(2 * range))};
    const int parts = 1 + static_cast<int>(random.below(items + (extras.first > 0) + (extras.last > 0)));
    const auto split = balanced_split(costs, parts, extras);
    REQUIRE(std::ssize(split.counts) == parts);
    REQUIRE(std::accumulate(split.counts.begin(), split.counts.end(), 0) == items);
    std::int64_t worst = 0;
    int item = 0;
    for (int k = 0; k < parts; ++k) {
      REQUIRE(split.counts[k] >= least(k, parts, extras));
      std::int64_t sum = (k == 0 ? extras.first : 0) + (k + 1 == parts ? extras.last : 0);
      for (int i = 0; i < split.counts[k]; ++i) sum += costs[item++];
      worst = std::max(worst, sum);
    }
    REQUIRE(worst == split.bottleneck);
    REQUIRE(worst == smallest_bottleneck(costs, parts, extras));
  }
}

TEST_CASE("balanced split refuses more parts than items and ends that stand alone") {
  CHECK_THROWS_AS(balanced_split(std::vector<std::int64_t>{1, 2}, 5, {.first = 1, .last = 1}),
                  core::ConfigurationError);
  CHECK_THROWS_AS(balanced_split(std::vector<std::int64_t>{1, 2}, 3), core::ConfigurationError);
  CHECK_THROWS_AS(balanced_split(std::vector<std::int64_t>{}, 1), core::ConfigurationError);
  CHECK_THROWS_AS(balanced_split(std::vector<std::int64_t>{1, 2}, 0), core::ConfigurationError);
}
