// Shares of games whose answers are known, and of changes that need one another.
#include "cairn/contrast/shares.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "cairn/core/random.h"
#include "catch.h"

namespace {

using namespace cairn;
using contrast::Attribution;
using contrast::Coalition;
using contrast::Outcome;
using core::Picoseconds;

bool has(Coalition set, std::size_t i) { return ((set >> i) & 1U) != 0; }

// The values of n changes by coalition.
template <class Value>
std::vector<Picoseconds> game(std::size_t n, Value value) {
  std::vector<Picoseconds> values;
  for (Coalition set = 0; set < Coalition{1} << n; ++set) values.push_back(value(set));
  return values;
}

std::vector<Picoseconds> times(const Attribution& of) {
  std::vector<Picoseconds> all;
  for (const contrast::Group& group : of.groups) all.push_back(group.share);
  return all;
}

std::vector<std::vector<std::size_t>> members(const Attribution& of) {
  std::vector<std::vector<std::size_t>> all;
  for (const contrast::Group& group : of.groups) all.push_back(group.changes);
  return all;
}

Picoseconds sum(const std::vector<Picoseconds>& all) { return std::accumulate(all.begin(), all.end(), Picoseconds{0}); }

}  // namespace

TEST_CASE("In an additive game each change has what it changes alone") {
  const std::vector<Picoseconds> alone{7, -3, 0, 11, 5, -20};
  const auto value = [&](Coalition set) {
    Picoseconds total = 100;
    for (std::size_t i = 0; i < alone.size(); ++i)
      if (has(set, i)) total += alone[i];
    return total;
  };
  CHECK(contrast::shapley(game(6, value)) == alone);
  const Attribution six = contrast::attribute(6, [&](Coalition set) { return Outcome{.value = value(set)}; });
  CHECK(times(six) == alone);
  CHECK(six.all_orders);
  CHECK(six.evaluated == 64);
}

TEST_CASE("In a game of products, changes share by hand-computed means") {
  // A step of 100 that one change doubles and the other makes three times as long: 100, 200, 300, 600. The first adds 100
  // alone and 300 after the other: 200; the second 200 and 400: 300.
  CHECK(contrast::shapley(game(2, [](Coalition set) { return 100 * (has(set, 0) ? 2 : 1) * (has(set, 1) ? 3 : 1); })) ==
        std::vector<Picoseconds>{200, 300});
  // Three factors 2, 3, 5 of 60. The first is multiplied by 1, 3, 5 or 15 with weights 1/3, 1/6, 1/6, 1/3: 60 x 20/3 = 400.
  // The second, 120 (1/3 x 1 + 1/6 x 2 + 1/6 x 5 + 1/3 x 10) = 120 x 29/6 = 580; the third 240 x (1/3 + 2/6 + 3/6 + 6/3)
  // = 240 x 19/6 = 760. Together 60 x 29 = 1740.
  const auto product = [](Coalition set) {
    return Picoseconds{60} * (has(set, 0) ? 2 : 1) * (has(set, 1) ? 3 : 1) * (has(set, 2) ? 5 : 1);
  };
  CHECK(contrast::shapley(game(3, product)) == std::vector<Picoseconds>{400, 580, 760});
}

TEST_CASE("Equal changes have equal shares, and one that changes nothing has none") {
  const auto value = [](Coalition set) {
    const auto equal = static_cast<Picoseconds>(std::popcount(set & 0b1011));
    return Picoseconds{1000} + 12 * equal * equal * equal;  // 12 x 27 in all
  };
  CHECK(contrast::shapley(game(4, value)) == std::vector<Picoseconds>{108, 108, 0, 108});
  // One glove on the left, two on the right: a pair is worth 600. The left one has 2/3 of it.
  const auto gloves = [](Coalition set) { return Picoseconds{has(set, 0) && (set & 0b110) != 0 ? 600 : 0}; };
  CHECK(contrast::shapley(game(3, gloves)) == std::vector<Picoseconds>{400, 100, 100});
}

TEST_CASE("What does not divide goes to the largest remainders, ties to the first") {
  // All three are needed for 1000: 333 1/3 each; of equal remainders the first has what is left.
  CHECK(contrast::shapley(game(3, [](Coalition set) { return Picoseconds{set == 7 ? 1000 : 0}; })) ==
        std::vector<Picoseconds>{334, 333, 333});
  CHECK(contrast::shapley(game(3, [](Coalition set) { return Picoseconds{set == 7 ? -1000 : 0}; })) ==
        std::vector<Picoseconds>{-333, -333, -334});
  // Gloves worth 100: 66 2/3, 16 2/3, 16 2/3: floors 66, 16, 16, and the first two get one more.
  CHECK(contrast::shapley(game(3, [](Coalition set) {
          return Picoseconds{has(set, 0) && (set & 0b110) != 0 ? 100 : 0};
        })) == std::vector<Picoseconds>{67, 17, 16});
}

TEST_CASE("No changes, one change, and the longest times there are") {
  CHECK(contrast::shapley(std::vector<Picoseconds>{5}).empty());
  CHECK(contrast::shapley(std::vector<Picoseconds>{5, -9}) == std::vector<Picoseconds>{-14});
  const Picoseconds most = core::k_reach - 1;
  CHECK(contrast::shapley(game(6, [&](Coalition set) {
          return (std::popcount(set) & 1) != 0 ? most : Picoseconds{0};
        })) == std::vector<Picoseconds>(6, 0));
  const Attribution none = contrast::attribute(0, [](Coalition) { return Outcome{.value = 5}; });
  CHECK(none.groups.empty());
}

TEST_CASE("Two orders are the listed one and its reverse") {
  // Forward 0, 10, 30, 60: 10, 20, 30. Backward from the last: 0, 25, 40, 60: the third 25, the second 15, the first 20.
  CHECK(contrast::two_orders(std::vector<Picoseconds>{0, 10, 30, 60}, std::vector<Picoseconds>{0, 25, 40, 60}) ==
        std::vector<Picoseconds>{15, 18, 27});  // 15, 17.5, 27.5: the half goes to the first of equal remainders
  // Seven changes of which each adds its number for every one before it.
  const auto value = [](Coalition set) {
    Picoseconds total = 0;
    for (std::size_t i = 0; i < 7; ++i)
      if (has(set, i)) total += static_cast<Picoseconds>((i + 1) * static_cast<std::size_t>(std::popcount(set)));
    return total;
  };
  const Attribution seven = contrast::attribute(7, [&](Coalition set) { return Outcome{.value = value(set)}; });
  CHECK_FALSE(seven.all_orders);
  CHECK(seven.evaluated == 14);  // seven prefixes and seven suffixes, the whole and none counted once
  CHECK(sum(times(seven)) == value(127) - value(0));
  // By hand, the first: forward 1, backward 28 x 7 - 27 x 6 = 34: 17 1/2.
  CHECK(times(seven).front() == 18);
}

TEST_CASE("Shares add up exactly, whatever the values") {
  core::Random random(20261125);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t n = 1 + random.below(9);
    std::vector<Picoseconds> values;
    for (Coalition set = 0; set < Coalition{1} << n; ++set)
      values.push_back(static_cast<Picoseconds>(random.below(std::uint64_t{1} << (1 + random.below(50)))));
    const Attribution of = contrast::attribute(n, [&](Coalition set) { return Outcome{.value = values[set]}; });
    REQUIRE(sum(times(of)) == values.back() - values.front());
  }
}

TEST_CASE("Changes of which one without the other cannot be are one change") {
  // Degrees of two kinds, 8 devices: the first doubles what the second halves. 1 alone would need twice the devices.
  const auto value = [](Coalition set) {
    if (has(set, 1) && !has(set, 3)) return Outcome{.obstacle = "16 of 8 devices"};
    return Outcome{.value = static_cast<Picoseconds>(set)};
  };
  const Attribution of = contrast::attribute(4, value);
  CHECK(members(of) == std::vector<std::vector<std::size_t>>{{0}, {1, 3}, {2}});
  CHECK(times(of) == std::vector<Picoseconds>{1, 10, 4});
  CHECK(of.groups[1].reasons == std::vector<std::string>{"16 of 8 devices"});
  CHECK(of.groups[0].reasons.empty());
}

TEST_CASE("A group holds no more than what needs one another") {
  // 0 and 1 together need 2, each alone does not: {0, 1} is the least that cannot be, 1 is the last of it.
  const auto together = [](Coalition set) {
    return has(set, 0) && has(set, 1) && !has(set, 2) ? Outcome{.obstacle = "x"} : Outcome{.value = std::popcount(set)};
  };
  CHECK(members(contrast::attribute(4, together)) == std::vector<std::vector<std::size_t>>{{0}, {1, 2}, {3}});
  // 0 needs both others.
  const auto both = [](Coalition set) {
    return has(set, 0) && (set & 0b110) != 0b110 ? Outcome{.obstacle = "x"} : Outcome{.value = std::popcount(set)};
  };
  CHECK(members(contrast::attribute(4, both)) == std::vector<std::vector<std::size_t>>{{0, 1, 2}, {3}});
  // Of nine the last needs three others, 1, 4 and 6; the rest stands alone.
  const auto three = [](Coalition set) {
    return has(set, 8) && (set & 0b001010010) != 0b001010010 ? Outcome{.obstacle = "x"}
                                                             : Outcome{.value = std::popcount(set)};
  };
  CHECK(members(contrast::attribute(9, three)) ==
        std::vector<std::vector<std::size_t>>{{0}, {1, 4, 6, 8}, {2}, {3}, {5}, {7}});
  // Only all or nothing.
  const auto all = [](Coalition set) {
    return set != 0b11111 && set != 0 ? Outcome{.obstacle = "x"} : Outcome{.value = set == 0 ? 3 : 10};
  };
  const Attribution one = contrast::attribute(5, all);
  CHECK(members(one) == std::vector<std::vector<std::size_t>>{{0, 1, 2, 3, 4}});
  CHECK(times(one) == std::vector<Picoseconds>{7});
}

TEST_CASE("Many changes that need one another still add up, and each order passes through what is possible") {
  core::Random random(7);
  for (int round = 0; round < 300; ++round) {
    const std::size_t n = 2 + random.below(12);
    std::vector<std::pair<std::size_t, std::size_t>> needs;  // the first without the second cannot be
    for (std::size_t i = 0; i < random.below(4); ++i) needs.emplace_back(random.below(n), random.below(n));
    const auto value = [&](Coalition set) {
      for (const auto& [one, other] : needs)
        if (has(set, one) && !has(set, other)) return Outcome{.obstacle = "x"};
      return Outcome{.value = static_cast<Picoseconds>(set * set % 1009)};
    };
    const Attribution of = contrast::attribute(n, value);
    const Coalition whole = (Coalition{1} << n) - 1;
    CHECK(sum(times(of)) == value(whole).value - value(0).value);
    std::vector<bool> seen(n, false);
    for (const contrast::Group& group : of.groups)
      for (const std::size_t change : group.changes) {
        CHECK_FALSE(seen[change]);
        seen[change] = true;
      }
    CHECK(std::count(seen.begin(), seen.end(), true) == static_cast<std::ptrdiff_t>(n));
  }
}
