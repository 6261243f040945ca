// Laws of sharing batches of mixed lengths that no enumeration reaches.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <tuple>

#include "sequence/mixed_cases.h"

using namespace cairn;
using namespace cairn::sequence;
using namespace cairn::sequence::mixed_cases;

namespace {

double ratio(Time first, Time second) { return static_cast<double>(first) / static_cast<double>(second); }

// Log-normal lengths up to `longest`, the first of them that, until `tokens` are reached.
Lengths long_tailed(core::Random& random, std::int64_t longest, std::int64_t tokens) {
  constexpr double k_median = 2500.0, k_deviation = 1.3;
  Lengths lengths{longest};
  for (std::int64_t sum = longest; sum < tokens; sum += lengths.back()) {
    const double drawn = k_median * std::exp(k_deviation * random.normal());
    lengths.push_back(
        std::clamp<std::int64_t>(std::llround(drawn), 64, std::min(longest, std::max<std::int64_t>(64, tokens - sum))));
  }
  return lengths;
}

}  // namespace

TEST_CASE("large batches lie between their bound and the best single degree") {
  core::Random random(4);
  for (int i = 0; i < 60; ++i) {
    const std::int64_t ranks = 8 + static_cast<std::int64_t>(random.below(57));
    WholeCosts whole = random_costs(random, 8);
    if (whole.degrees.front() != 1) {
      whole.degrees.insert(whole.degrees.begin(), 1);
      whole.slowness.insert(whole.slowness.begin(), 1);
    }
    Lengths lengths(21 + random.below(150));
    for (std::int64_t& length : lengths)
      length = 1 + static_cast<std::int64_t>(random.below(whole.tokens_per_rank * 2));
    const std::int64_t tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    whole.tokens_per_rank = std::max(whole.tokens_per_rank * 2, 2 * tokens / ranks);
    const GroupCosts costs = group_costs(whole);
    INFO(i);
    const GroupedBatch batch = share_in_groups(lengths, ranks, costs);
    const std::optional<GroupedBatch> single = by_one_degree(lengths, ranks, costs);
    check_groups(batch, lengths, ranks, costs);
    REQUIRE(single);
    check_groups(*single, lengths, ranks, costs);
    CHECK(batch.time <= single->time);
    const WavedBatch waves = share_in_waves(lengths, ranks, ring_costs(whole));
    check_waves(waves, lengths, ranks, ring_costs(whole));
  }
}

TEST_CASE("equal lengths that divide the ranks evenly gain nothing from several degrees") {
  const GroupCosts costs = flexsp_7b_on_64();
  const Time fixed = core::to_picoseconds(costs.work.fixed.base());
  for (const auto& [length, degree, abreast] : {std::tuple<std::int64_t, std::int64_t, std::int64_t>{1000, 1, 5},
                                                {5000, 1, 1},
                                                {40000, 8, 1},
                                                {180000, 32, 1}}) {
    const auto used = std::ranges::find(costs.degrees, degree, &GroupDegree::ranks);
    const Time time = exchange_time(costs, *used, length);
    // The degree of the table is the one of least rank-seconds that has memory.
    for (const GroupDegree& other : costs.degrees)
      if (token_capacity(costs.memory, other.ranks) >= length)
        CHECK(degree * time <= other.ranks * exchange_time(costs, other, length));
    const std::int64_t groups = 64 / degree;
    Lengths counts{1};
    for (std::int64_t full = groups; full <= abreast * groups; full += groups)
      counts.insert(counts.end(), {full - groups / 2, full - 1, full});
    for (const std::int64_t n : counts) {
      if (n == 0) continue;
      INFO(n << " x " << length);
      const Lengths lengths(static_cast<std::size_t>(n), length);
      const GroupedBatch mixed = share_in_groups(lengths, 64, costs);
      const std::optional<GroupedBatch> single = by_one_degree(lengths, 64, costs);
      REQUIRE(single);
      const std::int64_t rounds = (n + groups - 1) / groups;
      CHECK(mixed.time <= single->time);
      CHECK(single->time <= fixed + rounds * time);
      // Rank-seconds alone bound the gain: it falls to 1 as rounds grow, and is 1 where the last one is full.
      const double least =
          static_cast<double>(fixed) + static_cast<double>(n * degree) / 64.0 * static_cast<double>(time);
      CHECK(static_cast<double>(mixed.time) >= least * (1.0 - 1e-12));
      if (n % groups != 0) continue;
      CHECK(mixed.time == fixed + rounds * time);
      CHECK(single->time == mixed.time);
    }
  }
}

// Against the single degree that is best for all micro-batches: the longest sequence keeps it large.
TEST_CASE("a long tail gains from several degrees") {
  const GroupCosts costs = flexsp_7b_on_64();
  const std::int64_t room = token_capacity(costs.memory, 64);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    core::Random random(seed);
    const Lengths lengths = long_tailed(random, 180'000, room * 4);
    const MicroBatches mixed = share_in_micro_batches(lengths, 64, costs);
    std::vector<int> held(lengths.size(), 0);
    Time sum = 0;
    for (const GroupedBatch& batch : mixed.batches) {
      CHECK(group_fault(batch.groups, 64, held).empty());
      sum += batch.time;
    }
    CHECK(once_each(held));
    CHECK(mixed.time == sum);
    CHECK(mixed.lower_bound <= mixed.time);
    Time single = core::k_reach;
    for (const GroupDegree& degree : costs.degrees) {
      if (token_capacity(costs.memory, degree.ranks) < 180'000) continue;
      GroupCosts alone = costs;
      alone.degrees = {degree};
      single = std::min(single, share_in_micro_batches(lengths, 64, alone).time);
    }
    const double gain = ratio(single, mixed.time);
    INFO(lengths.size() << " sequences, gain " << gain << ", gap " << mixed.gap());
    CHECK(gain > 1.3);
    CHECK(gain < 2.0);
  }
}

TEST_CASE("the same batch in any order takes the same time, and the same answer twice") {
  core::Random random(6);
  const GroupCosts costs = flexsp_7b_on_64();
  const RingCosts ring{.work = costs.work, .circulated = {}, .rate = {}, .tokens_per_rank = 6000};
  for (const std::int64_t tokens : {100'000, 300'000}) {
    Lengths lengths = long_tailed(random, 60'000, tokens);
    const GroupedBatch batch = share_in_groups(lengths, 64, costs);
    const GroupedBatch again = share_in_groups(lengths, 64, costs);
    CHECK(std::ranges::equal(batch.groups, again.groups, [](const RankGroup& a, const RankGroup& b) {
      return a.ranks == b.ranks && a.sequences == b.sequences && a.time == b.time;
    }));
    const WavedBatch waves = share_in_waves(lengths, 16, ring);
    std::ranges::reverse(lengths);
    CHECK(share_in_groups(lengths, 64, costs).time == batch.time);
    CHECK(share_in_waves(lengths, 16, ring).time == waves.time);
  }
}

TEST_CASE("more ranks and more memory never lengthen what is exact") {
  core::Random random(7);
  for (int i = 0; i < 200; ++i) {
    const std::int64_t ranks = 8 + static_cast<std::int64_t>(random.below(8));
    WholeCosts whole = random_costs(random, 8);
    whole.tokens_per_rank += 60;
    const Lengths lengths = random_lengths(random, 5);
    INFO(i);
    WholeCosts roomier = whole;
    roomier.tokens_per_rank += 1 + static_cast<std::int64_t>(random.below(50));
    const GroupCosts costs = group_costs(whole);
    const GroupedBatch batch = share_in_groups(lengths, ranks, costs);
    const GroupedBatch wider = share_in_groups(lengths, ranks + 1, costs);
    const GroupedBatch deeper = share_in_groups(lengths, ranks, group_costs(roomier));
    REQUIRE((batch.exact && wider.exact && deeper.exact));
    CHECK(wider.time <= batch.time);
    CHECK(deeper.time <= batch.time);
    CHECK(share_in_waves(lengths, ranks + 1, ring_costs(whole)).time <=
          share_in_waves(lengths, ranks, ring_costs(whole)).time);
  }
}

TEST_CASE("4,096 sequences on 1,024 ranks") {
  core::Random random(8);
  GroupCosts costs = flexsp_7b_on_64();
  for (const std::int64_t ranks : {128, 256, 512, 1024})
    costs.degrees.push_back({.ranks = ranks, .rate = costs.degrees.back().rate});
  Lengths lengths;
  while (lengths.size() < 4096)
    lengths.push_back(std::clamp<std::int64_t>(std::llround(400.0 * std::exp(1.3 * random.normal())), 16, 200'000));
  const GroupedBatch batch = share_in_groups(lengths, 1024, costs);
  check_groups(batch, lengths, 1024, costs);
  const RingCosts ring{.work = costs.work, .circulated = {}, .rate = {}, .tokens_per_rank = 4096};
  const WavedBatch waves = share_in_waves(lengths, 1024, ring);
  check_waves(waves, lengths, 1024, ring);
  CHECK_FALSE(batch.groups.empty());
}
