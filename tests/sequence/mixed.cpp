// Small batches of mixed lengths against enumeration of every way to share them; figures by hand; bad batches.
#include "cairn/sequence/mixed.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <string>

#include "cairn/core/diagnostics.h"
#include "sequence/mixed_cases.h"

using namespace cairn;
using namespace cairn::sequence;
using namespace cairn::sequence::mixed_cases;

namespace {

std::int64_t blocks_of(const std::vector<std::int64_t>& labels) { return 1 + *std::ranges::max_element(labels); }

// Calls visit(labels) for every partition of n things, labels in the order of first appearance.
void every_partition(std::size_t n, const std::function<void(const std::vector<std::int64_t>&)>& visit) {
  std::vector<std::int64_t> labels;
  const std::function<void(std::int64_t)> label = [&](std::int64_t used) {
    if (labels.size() == n) return visit(labels);
    for (std::int64_t next = 0; next <= used; ++next) {
      labels.push_back(next);
      label(std::max(used, next + 1));
      labels.pop_back();
    }
  };
  label(0);
}

// Least longest group over all partitions and, for each, over all degrees of its blocks.
std::optional<Time> least_grouped(const Lengths& lengths, std::int64_t ranks, const WholeCosts& costs) {
  std::optional<Time> least;
  every_partition(lengths.size(), [&](const std::vector<std::int64_t>& labels) {
    const std::int64_t blocks = blocks_of(labels);
    const std::function<void(std::int64_t, std::int64_t, Time)> choose = [&](std::int64_t block, std::int64_t left,
                                                                             Time longest) {
      if (block == blocks) {
        if (!least || longest + costs.fixed < *least) least = longest + costs.fixed;
        return;
      }
      for (std::size_t j = 0; j < costs.degrees.size(); ++j) {
        if (costs.degrees[j] > left) continue;
        Time time = 0;
        std::int64_t tokens = 0;
        for (std::size_t i = 0; i < lengths.size(); ++i) {
          if (labels[i] != block) continue;
          time += costs.time(lengths[i], j);
          tokens += lengths[i];
        }
        if (tokens <= costs.tokens_per_rank * costs.degrees[j])
          choose(block + 1, left - costs.degrees[j], std::max(longest, time));
      }
    };
    choose(0, ranks, 0);
  });
  return least;
}

// Least sum of waves over all partitions into groups and, for each, over all partitions of the groups into waves.
Time least_waved(const Lengths& lengths, std::int64_t ranks, const WholeCosts& costs,
                 std::optional<std::int64_t> degree) {
  Time least = core::k_reach;
  every_partition(lengths.size(), [&](const std::vector<std::int64_t>& labels) {
    const auto blocks = static_cast<std::size_t>(blocks_of(labels));
    std::vector<std::int64_t> group_ranks(blocks, 0), tokens(blocks, 0);
    std::vector<Time> times(blocks, 0);
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const std::int64_t own = degree.value_or((lengths[i] + costs.tokens_per_rank - 1) / costs.tokens_per_rank);
      std::int64_t& of_group = group_ranks[labels[i]];
      if (of_group != 0 && of_group != own) return;
      of_group = own;
      tokens[labels[i]] += lengths[i];
      times[labels[i]] += costs.ring(lengths[i], own);
    }
    for (std::size_t b = 0; b < blocks; ++b)
      if (tokens[b] > costs.tokens_per_rank * group_ranks[b]) return;
    every_partition(blocks, [&](const std::vector<std::int64_t>& wave_of) {
      const auto waves = static_cast<std::size_t>(blocks_of(wave_of));
      std::vector<std::int64_t> used(waves, 0);
      std::vector<Time> longest(waves, 0);
      for (std::size_t b = 0; b < blocks; ++b) {
        used[wave_of[b]] += group_ranks[b];
        longest[wave_of[b]] = std::max(longest[wave_of[b]], times[b] + costs.fixed);
      }
      if (*std::ranges::max_element(used) <= ranks)
        least = std::min(least, std::accumulate(longest.begin(), longest.end(), Time{0}));
    });
  });
  return least;
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const core::ConfigurationError& error) {
    return error.diagnostics().front().hint.empty() ? "no remedy" : error.what();
  }
  return "nothing thrown";
}

}  // namespace

TEST_CASE("groups of a small batch are the best of all there are") {
  core::Random random(1);
  int infeasible = 0;
  for (int i = 0; i < 800; ++i) {
    const std::int64_t ranks = 1 + static_cast<std::int64_t>(random.below(8));
    const WholeCosts whole = random_costs(random, ranks);
    const Lengths lengths = random_lengths(random, i % 7 == 0 ? 8 : 6);
    const GroupCosts costs = group_costs(whole);
    const std::optional<Time> least = least_grouped(lengths, ranks, whole);
    INFO(i);
    if (!least) {
      ++infeasible;
      CHECK_THROWS_AS(share_in_groups(lengths, ranks, costs), core::ConfigurationError);
      continue;
    }
    const GroupedBatch batch = share_in_groups(lengths, ranks, costs);
    CHECK(batch.exact);
    CHECK(batch.time == *least);
    check_groups(batch, lengths, ranks, costs);
  }
  CHECK(infeasible <= 300);  // 500 and more were compared
}

TEST_CASE("the best single degree is the best of all single degrees") {
  core::Random random(2);
  for (int i = 0; i < 500; ++i) {
    const std::int64_t ranks = 1 + static_cast<std::int64_t>(random.below(8));
    const WholeCosts whole = random_costs(random, ranks);
    const Lengths lengths = random_lengths(random, 6);
    std::optional<Time> least;
    for (std::size_t j = 0; j < whole.degrees.size(); ++j) {
      WholeCosts alone = whole;
      alone.degrees = {whole.degrees[j]};
      alone.slowness = {whole.slowness[j]};
      const std::optional<Time> time = least_grouped(lengths, ranks, alone);
      if (time && (!least || *time < *least)) least = time;
    }
    INFO(i);
    if (!least) continue;
    const std::optional<GroupedBatch> batch = by_one_degree(lengths, ranks, group_costs(whole));
    REQUIRE(batch);
    CHECK(batch->exact);
    CHECK(batch->time == *least);
    CHECK(batch->lower_bound <= *least);
    check_groups(*batch, lengths, ranks, group_costs(whole));
    for (const RankGroup& group : batch->groups) CHECK(group.ranks == batch->groups.front().ranks);
  }
}

TEST_CASE("waves of a small batch are the best of all there are") {
  core::Random random(3);
  int tried = 0;
  for (int i = 0; i < 800; ++i) {
    const std::int64_t ranks = 1 + static_cast<std::int64_t>(random.below(8));
    const WholeCosts whole = random_costs(random, ranks);
    const Lengths lengths = random_lengths(random, i % 7 == 0 ? 8 : 6);
    const std::int64_t longest = *std::ranges::max_element(lengths);
    const std::int64_t degree = (longest + whole.tokens_per_rank - 1) / whole.tokens_per_rank;
    INFO(i);
    if (degree > ranks) {
      CHECK_THROWS_AS(share_in_waves(lengths, ranks, ring_costs(whole)), core::ConfigurationError);
      continue;
    }
    ++tried;
    const WavedBatch batch = share_in_waves(lengths, ranks, ring_costs(whole));
    CHECK(batch.exact);
    CHECK(batch.time == least_waved(lengths, ranks, whole, {}));
    check_waves(batch, lengths, ranks, ring_costs(whole));
    const WavedBatch fixed = waves_of_degree(lengths, ranks, degree, ring_costs(whole));
    CHECK(fixed.exact);
    CHECK(fixed.time == least_waved(lengths, ranks, whole, degree));
    check_waves(fixed, lengths, ranks, ring_costs(whole), degree);
  }
  CHECK(tried >= 500);
}

TEST_CASE("times by hand") {
  const GroupCosts groups{.work = {.quadratic = 1.0, .linear = 0.5, .fixed = {}},
                          .exchanged = core::Bytes::from_base(2.0),
                          .degrees = {},
                          .memory = {.state = core::Bytes::from_base(2.0),
                                     .activation = core::Bytes::from_base(3.0),
                                     .capacity = core::Bytes::from_base(10.0)}};
  const GroupDegree four{.ranks = 4, .rate = core::BytesPerSecond::from_base(0.5)};
  CHECK(exchange_time(groups, {.ranks = 1}, 8) == core::to_picoseconds(64.0 + 4.0));
  CHECK(exchange_time(groups, four, 8) == core::to_picoseconds(16.0 + 1.0 + 8.0));  // 2 x 8 / 4 bytes at 0.5 byte/s
  CHECK(token_capacity(groups.memory, 1) == 2);                                     // 8 bytes are left, 3 a token
  CHECK(token_capacity(groups.memory, 2) == 5);
  CHECK(token_capacity(groups.memory, 4) == 10);

  RingCosts ring{.work = groups.work, .circulated = {}, .rate = {}, .tokens_per_rank = 2};
  CHECK(ring_time(ring, 4, 8) == core::to_picoseconds(16.0 + 1.0));
  ring.circulated = core::Bytes::from_base(2.0);
  ring.rate = core::BytesPerSecond::from_base(0.5);
  // A block takes 64 / 16 s, its hop 2 x 2 bytes / 0.5 byte/s: one block, three hops.
  CHECK(ring_time(ring, 4, 8) == core::to_picoseconds(1.0 + 4.0 + 3.0 * 8.0));
  CHECK(ring_time(ring, 1, 8) == core::to_picoseconds(4.0 + 64.0));
}

TEST_CASE("the example of the header") {
  GroupCosts costs{
      .work = {.quadratic = 0.0, .linear = 1.0, .fixed = {}},
      .exchanged = {},
      .degrees = {{.ranks = 1}, {.ranks = 2}, {.ranks = 4}},
      .memory = {.state = {}, .activation = core::Bytes::from_base(1.0), .capacity = core::Bytes::from_base(4.0)}};
  const Lengths lengths{1, 8, 1};
  const GroupedBatch whole = share_in_groups(lengths, 4, costs);
  CHECK(whole.time == core::to_picoseconds(2.5));
  CHECK(whole.lower_bound == whole.time);
  REQUIRE(whole.groups.size() == 1);
  CHECK(whole.groups.front().sequences == Lengths{0, 1, 2});
  costs.degrees.pop_back();
  const GroupedBatch parts = share_in_groups(lengths, 4, costs);
  CHECK(parts.time == core::to_picoseconds(4.0));
  REQUIRE(parts.groups.size() == 2);
  CHECK(parts.groups.back().sequences == Lengths{1});
}

TEST_CASE("waves by hand") {
  RingCosts costs{
      .work = {.quadratic = 0.0, .linear = 1.0, .fixed = {}}, .circulated = {}, .rate = {}, .tokens_per_rank = 4};
  // Ranks 2, 1, 1, 1, 2; the sequences of 3 and 1 tokens share a rank. Six ranks need two waves of four, and whatever
  // stands beside the sequence of 4 s, one of 3 s is left.
  const Lengths lengths{8, 4, 3, 1, 6};
  CHECK(share_in_waves(lengths, 4, costs).time == core::to_picoseconds(4.0 + 3.0));
  // Two groups of two ranks and 8 tokens in a wave, half a second a token: {8} beside {6, 1}, then {4} beside {3}.
  CHECK(waves_of_degree(lengths, 4, 2, costs).time == core::to_picoseconds(4.0 + 2.0));
  costs.work.fixed = core::Seconds::from_base(0.5);
  CHECK(share_in_waves(lengths, 4, costs).time == core::to_picoseconds(4.0 + 3.0 + 2 * 0.5));
  // Short sequences beside long ones: a fixed degree of 4 gives each wave to one group.
  CHECK(share_in_waves(Lengths{12, 4}, 4, costs).time == core::to_picoseconds(4.5));
  CHECK(waves_of_degree(Lengths{12, 4}, 4, 3, costs).time == core::to_picoseconds(4.5 + 0.5 + 4.0 / 3.0));
}

TEST_CASE("bad batches are refused with a remedy") {
  const GroupCosts good = flexsp_7b_on_64();
  const Lengths one{1000};
  const auto groups = [](const Lengths& lengths, std::int64_t ranks, const GroupCosts& costs) {
    return message_of([&] { share_in_groups(lengths, ranks, costs); });
  };
  const auto mentions = [](const char* text) { return Catch::Matchers::Contains(text); };
  CHECK_THAT(groups({}, 64, good), mentions("no sequences"));
  CHECK_THAT(groups(one, 0, good), mentions("0 ranks"));
  CHECK_THAT(groups({5, 0}, 64, good), mentions("lengths[1]"));
  CHECK_THAT(groups({5, -3}, 64, good), mentions("-3 tokens"));
  const std::int64_t half = std::numeric_limits<std::int64_t>::max() / 2 + 1;
  CHECK_THAT(groups({half, half}, 64, good), mentions("lengths[1]"));

  GroupCosts small{.work = {.quadratic = 0.0, .linear = 1.0, .fixed = {}},
                   .exchanged = {},
                   .degrees = {{.ranks = 1}, {.ranks = 2}},
                   .memory = {.state = core::Bytes::from_base(10.0),
                              .activation = core::Bytes::from_base(2.0),
                              .capacity = core::Bytes::from_base(18.0)}};
  // 4 tokens a rank: 11 tokens take 3 ranks, or 10 + 22 / 2 bytes on each of 2.
  CHECK_THAT(groups({3, 11}, 4, small), mentions("lengths[1]") && mentions("need 3 ranks") && mentions("21 bytes"));
  CHECK_THAT(groups({8, 8, 1}, 4, small),
             mentions("17 tokens") && mentions("memory for 16") && mentions("micro-batches"));
  CHECK_THAT(groups({7, 7, 7}, 6, small), mentions("nothing thrown"));
  CHECK_THAT(groups({3, 3, 3, 3, 3}, 4, small), mentions("micro-batches"));  // 15 of 16 tokens, but none is divided
  GroupCosts bad = small;
  bad.degrees = {};
  CHECK_THAT(groups(one, 4, bad), mentions("degree"));
  bad.degrees = {{.ranks = 2}, {.ranks = 2}};
  CHECK_THAT(groups(one, 4, bad), mentions("degrees[1].ranks"));
  bad.degrees = {{.ranks = 8}};
  CHECK_THAT(groups(one, 4, bad), mentions("smallest group"));
  bad = small;
  bad.exchanged = core::k_mebibyte;
  CHECK_THAT(groups(one, 4, bad), mentions("degrees[1].rate"));
  bad = small;
  bad.memory.state = bad.memory.capacity;
  CHECK_THAT(groups(one, 4, bad), mentions("memory.state"));
  bad = small;
  bad.work.linear = std::nan("");
  CHECK_THAT(groups(one, 4, bad), mentions("work.linear"));
  bad.work.linear = -1.0;
  CHECK_THAT(groups(one, 4, bad), mentions("work.linear"));
  bad.work.linear = 1e300;
  CHECK_THROWS_AS(share_in_groups(Lengths{1}, 4, bad), core::ConfigurationError);
  bad.work.linear = 0.0;
  CHECK_THAT(groups(one, 4, bad), mentions("take no time"));

  RingCosts ring{.work = small.work, .circulated = {}, .rate = {}, .tokens_per_rank = 4};
  const auto waves = [&](const Lengths& lengths, std::int64_t ranks) {
    return message_of([&] { share_in_waves(lengths, ranks, ring); });
  };
  CHECK_THAT(waves({}, 4), mentions("no sequences"));
  CHECK_THAT(waves({4, 17}, 4), mentions("lengths[1]") && mentions("need 5 ranks") && mentions("5 tokens"));
  CHECK_THAT(message_of([&] { waves_of_degree(Lengths{4, 9}, 4, 2, ring); }), mentions("need 3 ranks"));
  CHECK_THAT(message_of([&] { waves_of_degree(one, 4, 5, ring); }), mentions("5 of 4 ranks"));
  ring.tokens_per_rank = 0;
  CHECK_THAT(waves({4}, 4), mentions("tokens_per_rank"));
  ring.tokens_per_rank = 4;
  ring.circulated = core::k_mebibyte;
  CHECK_THAT(waves({4}, 4), mentions("rate"));
}
