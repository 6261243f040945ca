#include "cairn/partition/task_distribution.h"

#include <algorithm>
#include <numeric>

#include "cairn/core/diagnostics.h"
#include "cairn/partition/chain_cut.h"
#include "catch.h"
#include "random_costs.h"

namespace cairn::partition {
namespace {

using Costs = std::vector<std::int64_t>;
using Ranks = std::vector<Rank>;

// The least largest load by trying every distribution; of the ranks without a task only the first is tried.
class EveryDistribution {
 public:
  EveryDistribution(const Costs& costs, std::size_t ranks) : costs_(costs), load_(ranks, 0) {
    least_ = std::accumulate(costs.begin(), costs.end(), std::int64_t{0});
    place(0, 0);
  }
  std::int64_t least() const { return least_; }

 private:
  void place(std::size_t task, std::size_t used) {
    if (task == costs_.size()) {
      least_ = std::min(least_, *std::max_element(load_.begin(), load_.end()));
      return;
    }
    for (std::size_t r = 0; r < std::min(used + 1, load_.size()); ++r) {
      load_[r] += costs_[task];
      place(task + 1, std::max(used, r + 1));
      load_[r] -= costs_[task];
    }
  }

  const Costs& costs_;
  Costs load_;
  std::int64_t least_ = 0;
};

std::int64_t most_loaded(const Costs& costs, const Ranks& rank, std::int64_t ranks) {
  Costs load(static_cast<std::size_t>(ranks), 0);
  for (std::size_t task = 0; task < costs.size(); ++task)
    load.at(static_cast<std::size_t>(rank.at(task))) += costs[task];
  return *std::max_element(load.begin(), load.end());
}

// The least largest load of consecutive tasks, by trying every end of the first rank's.
std::int64_t least_of_every_block(const Costs& costs, std::size_t begin, std::int64_t ranks) {
  std::int64_t block =
      std::accumulate(costs.begin() + static_cast<std::ptrdiff_t>(begin), costs.end(), std::int64_t{0});
  if (ranks == 1) return block;
  std::int64_t least = block;
  block = 0;
  for (std::size_t end = begin; end <= costs.size(); ++end) {
    least = std::min(least, std::max(block, least_of_every_block(costs, end, ranks - 1)));
    if (end < costs.size()) block += costs[end];
  }
  return least;
}

// Graham's instance on P ranks: 2P-1, 2P-1, 2P-2, 2P-2, ... , P+1, P+1, P, P, P.
Costs graham_costs(std::int64_t ranks) {
  Costs costs;
  for (std::int64_t cost = 2 * ranks - 1; cost > ranks; --cost) costs.insert(costs.end(), 2, cost);
  costs.insert(costs.end(), 3, ranks);
  return costs;
}

}  // namespace

TEST_CASE("The tasks of the header's example") {
  const Costs costs = {5, 4, 3, 3, 3};
  CHECK(distribute(costs, 2, Policy::longest_first) == Ranks{0, 1, 1, 0, 1});
  CHECK(least_possible_load(costs, 2) == 9);
  const ExactDistribution exact = distribute_exactly(costs, 2);
  CHECK(exact.most == 9);
  CHECK(exact.proven);
  CHECK(exact.rank[0] == exact.rank[1]);
  const BalanceReport report = balance_report(costs, Ranks{0, 1, 1, 0, 1}, 2);
  CHECK(report.load == Costs{8, 10});
  CHECK(report.most == 10);
  CHECK(report.mean == 9.0);
  CHECK(report.balance == 0.9);
  CHECK(report.idle_share == Approx(0.1).epsilon(1e-12));
  CHECK(report.bound == 9);
}

TEST_CASE("Seven tasks on three ranks by each policy") {
  const Costs costs = {1, 6, 2, 2, 2, 5, 3};
  CHECK(distribute(costs, 3, Policy::block) == Ranks{0, 0, 0, 1, 1, 2, 2});
  CHECK(distribute(costs, 3, Policy::cyclic) == Ranks{0, 1, 2, 0, 1, 2, 0});
  CHECK(distribute(costs, 3, Policy::longest_first) == Ranks{0, 0, 2, 1, 2, 1, 2});
  // 1 6 | 2 2 2 | 5 3 has 8. With 7 the last rank has the 3 alone, and the others cannot have 18.
  CHECK(distribute(costs, 3, Policy::least_maximum_blocks) == Ranks{0, 0, 1, 1, 1, 2, 2});
  // Three tasks on five ranks: the last two have none.
  CHECK(distribute(Costs{1, 1, 1}, 5, Policy::block) == Ranks{0, 1, 2});
}

// Each part of the bound is the largest of the three once.
TEST_CASE("What no distribution is below") {
  CHECK(least_possible_load(Costs{3, 3, 3, 3, 3, 3, 1}, 3) == 7);  // ceil(19 / 3)
  CHECK(least_possible_load(Costs{9, 1, 1}, 3) == 9);              // the largest task
  CHECK(least_possible_load(Costs{5, 5, 4, 0}, 2) == 9);           // the second and the third: 5 + 4, mean 7
  CHECK(least_possible_load(Costs{2, 2, 2, 2, 2}, 2) == 6);        // three of five, mean 5, two tasks 4
  CHECK(least_possible_load(Costs{}, 2) == 0);
}

TEST_CASE("The exact distribution is the best of all, on 3,000 random lists of tasks") {
  core::Random random(1969);
  int searched = 0, above_bound = 0, above_longest_first = 0, uneven_blocks = 0;
  for (int i = 0; i < 3000; ++i) {
    const Costs costs = random_task_costs(random.below(11), random);
    const auto ranks = static_cast<std::int64_t>(1 + random.below(4));
    const std::int64_t least = EveryDistribution(costs, static_cast<std::size_t>(ranks)).least();
    const ExactDistribution exact = distribute_exactly(costs, ranks);
    REQUIRE(exact.proven);
    REQUIRE(exact.most == least);
    REQUIRE(exact.at_least == least);
    REQUIRE(most_loaded(costs, exact.rank, ranks) == least);
    const std::int64_t bound = least_possible_load(costs, ranks);
    REQUIRE(bound <= least);
    const std::int64_t longest_first = most_loaded(costs, distribute(costs, ranks, Policy::longest_first), ranks);
    REQUIRE(3 * ranks * longest_first <= (4 * ranks - 1) * least);
    const std::int64_t blocks = most_loaded(costs, distribute(costs, ranks, Policy::least_maximum_blocks), ranks);
    REQUIRE(blocks == least_of_every_block(costs, 0, ranks));
    REQUIRE(blocks <= most_loaded(costs, distribute(costs, ranks, Policy::block), ranks));
    searched += exact.steps > 0;
    above_bound += least > bound;
    above_longest_first += longest_first > least;
    uneven_blocks += blocks < most_loaded(costs, distribute(costs, ranks, Policy::block), ranks);
  }
  INFO("of 3,000: " << searched << " were searched, " << above_bound << " have an optimum above the bound, "
                    << above_longest_first << " one below longest first");
  CHECK(searched > 500);
  CHECK(above_bound > 300);
  CHECK(above_longest_first > 300);
  CHECK(uneven_blocks > 500);
}

// Longest first has 4P - 1, the optimum is 3P: the ratio of its bound, 4/3 - 1/(3P), is met.
TEST_CASE("Graham's instances, on which longest first is as far from the optimum as it can be") {
  for (std::int64_t ranks = 2; ranks <= 6; ++ranks) {
    const Costs costs = graham_costs(ranks);
    CHECK(most_loaded(costs, distribute(costs, ranks, Policy::longest_first), ranks) == 4 * ranks - 1);
    const ExactDistribution exact = distribute_exactly(costs, ranks);
    CHECK(exact.proven);
    CHECK(exact.most == 3 * ranks);
  }
}

TEST_CASE("A search that may take few steps returns what it has and does not call it proven") {
  const Costs costs = graham_costs(5);
  const ExactDistribution none = distribute_exactly(costs, 5, 0);
  CHECK_FALSE(none.proven);
  CHECK(none.most == 19);
  CHECK(none.at_least == 15);
  CHECK(none.steps == 0);
  CHECK(distribute_exactly(costs, 5, 7).steps == 7);
  // It needs no search where longest first meets the bound.
  CHECK(distribute_exactly(Costs{2, 2, 1, 1}, 2, 0).proven);
}

TEST_CASE("Twenty to forty tasks on up to eight ranks are mostly proven, and the answer keeps its laws") {
  core::Random random(40);
  int proven = 0, improved = 0;
  for (int i = 0; i < 200; ++i) {
    Costs costs(20 + random.below(21));
    for (std::int64_t& cost : costs) cost = 1 + static_cast<std::int64_t>(random.below(200));
    const auto ranks = static_cast<std::int64_t>(2 + random.below(7));
    const ExactDistribution exact = distribute_exactly(costs, ranks, 20'000);
    const std::int64_t longest_first = most_loaded(costs, distribute(costs, ranks, Policy::longest_first), ranks);
    REQUIRE(exact.most == most_loaded(costs, exact.rank, ranks));
    REQUIRE(exact.most <= longest_first);
    REQUIRE(exact.at_least >= least_possible_load(costs, ranks));
    REQUIRE(exact.proven == (exact.most == exact.at_least));
    proven += exact.proven;
    improved += exact.most < longest_first;
    // The order of the tasks and the unit of their costs do not matter to what is proven.
    Costs other = costs;
    for (std::size_t t = other.size(); t > 1; --t) std::swap(other[t - 1], other[random.below(t)]);
    for (std::int64_t& cost : other) cost *= 3;
    const ExactDistribution again = distribute_exactly(other, ranks, 20'000);
    if (exact.proven && again.proven) REQUIRE(again.most == 3 * exact.most);
  }
  INFO("of 200: " << proven << " proven, " << improved << " better than longest first");
  CHECK(proven > 180);
  CHECK(improved > 100);
}

TEST_CASE("A hundred thousand tasks on a thousand ranks") {
  core::Random random(100'000);
  Costs costs(100'000);
  for (std::int64_t& cost : costs) cost = 1 + static_cast<std::int64_t>(random.below(1'000'000));
  const Ranks longest_first = distribute(costs, 1000, Policy::longest_first);
  const BalanceReport report = balance_report(costs, longest_first, 1000);
  CHECK(std::accumulate(report.load.begin(), report.load.end(), std::int64_t{0}) ==
        std::accumulate(costs.begin(), costs.end(), std::int64_t{0}));
  // The rank that ends last would end below the mean without its last task, of which there are a hundred a rank.
  CHECK(static_cast<double>(report.most) < 1.001 * static_cast<double>(report.bound));
  const BalanceReport blocks = balance_report(costs, distribute(costs, 1000, Policy::least_maximum_blocks), 1000);
  CHECK(blocks.most >= report.bound);
  CHECK(blocks.most <= balance_report(costs, distribute(costs, 1000, Policy::block), 1000).most);
  CHECK(distribute(costs, 1000, Policy::longest_first) == longest_first);
}

// Equal tasks go to ranks in turn, whatever the sort does with equals.
TEST_CASE("Ties are broken in one way: the first task, the first rank") {
  CHECK(distribute(Costs{1, 1, 1, 1, 1}, 2, Policy::longest_first) == Ranks{0, 1, 0, 1, 0});
  CHECK(distribute(Costs{0, 0, 0}, 2, Policy::longest_first) == Ranks{0, 0, 0});
}

// By hand: with a share as large as can be added up on one of many ranks, and with P + 1 such tasks on P ranks.
TEST_CASE("Costs up to the largest that are added up are shared out on any number of ranks") {
  const ExactDistribution one = distribute_exactly(Costs{k_most_cost - 3, 1, 1, 1}, k_most_parts);
  CHECK(one.most == k_most_cost - 3);
  CHECK(one.proven);
  for (const std::int64_t ranks : {2, 7, 1000}) {
    CAPTURE(ranks);
    const std::int64_t each = k_most_cost / (ranks + 1);
    const ExactDistribution all = distribute_exactly(Costs(static_cast<std::size_t>(ranks) + 1, each), ranks);
    CHECK(all.most == 2 * each);
    CHECK(all.proven);
  }
  // 5 4 3 3 3 on two ranks, where longest first has 10 and the least is 9.
  const std::int64_t unit = k_most_cost / 18;
  const ExactDistribution split = distribute_exactly(Costs{5 * unit, 4 * unit, 3 * unit, 3 * unit, 3 * unit}, 2);
  CHECK(split.most == 9 * unit);
  CHECK(split.proven);
}

TEST_CASE("A balance with nothing to do, and what cannot be distributed") {
  const BalanceReport nothing = balance_report(Costs{0, 0}, Ranks{1, 1}, 3);
  CHECK(nothing.balance == 1.0);
  CHECK(nothing.idle_share == 0.0);
  CHECK(distribute_exactly(Costs{}, 3).proven);
  CHECK_THROWS_AS(distribute(Costs{1}, 0, Policy::cyclic), core::ConfigurationError);
  CHECK_THROWS_AS(distribute(Costs{-1}, 2, Policy::cyclic), core::ConfigurationError);
  CHECK_THROWS_AS(distribute_exactly(Costs{k_most_cost, 1}, 2), core::ConfigurationError);
  CHECK_THROWS_AS(balance_report(Costs{1, 2}, Ranks{0}, 2), core::ConfigurationError);
  CHECK_THROWS_AS(balance_report(Costs{1, 2}, Ranks{0, 2}, 2), core::ConfigurationError);
  CHECK_THROWS_AS(balance_report(Costs{1, 2}, Ranks{0, -1}, 2), core::ConfigurationError);
}

}  // namespace cairn::partition
