#include "cairn/partition/task_distribution.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>

#include <fmt/format.h>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "cairn/partition/chain_cut.h"

namespace cairn::partition {
namespace {

void require_ranks(std::int64_t ranks) {
  if (ranks < 1 || ranks > k_most_parts)
    throw core::ConfigurationError("ranks", fmt::format("{} is out of range", ranks), "give between 1 and 1,000,000");
}

// Tasks by falling cost, in their own order where costs are equal.
std::vector<std::size_t> longest_tasks_first(std::span<const std::int64_t> costs) {
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
  return order;
}

std::vector<Rank> in_blocks(std::size_t tasks, std::int64_t ranks) {
  const std::size_t each = tasks / static_cast<std::size_t>(ranks), more = tasks % static_cast<std::size_t>(ranks);
  std::vector<Rank> result;
  for (std::size_t r = 0; result.size() < tasks; ++r)
    result.insert(result.end(), each + (r < more ? 1 : 0), static_cast<Rank>(r));
  return result;
}

std::vector<Rank> in_least_blocks(std::span<const std::int64_t> costs, std::int64_t ranks) {
  const ChainCut cut = cut_chain(costs, ranks);
  std::vector<Rank> result(costs.size());
  for (std::size_t r = 0; r < cut.begins.size(); ++r) {
    const std::size_t end = r + 1 < cut.begins.size() ? cut.begins[r + 1] : costs.size();
    for (std::size_t task = cut.begins[r]; task < end; ++task) result[task] = static_cast<Rank>(r);
  }
  return result;
}

std::vector<Rank> by_longest_first(std::span<const std::int64_t> costs, std::int64_t ranks) {
  using LoadOfRank = std::pair<std::int64_t, Rank>;
  std::priority_queue<LoadOfRank, std::vector<LoadOfRank>, std::greater<>> queue;
  for (std::int64_t r = 0; r < ranks; ++r) queue.emplace(0, static_cast<Rank>(r));
  std::vector<Rank> result(costs.size());
  for (const std::size_t task : longest_tasks_first(costs)) {
    const auto [load, rank] = queue.top();
    queue.pop();
    result[task] = rank;
    queue.emplace(load + costs[task], rank);
  }
  return result;
}

std::int64_t most_of(std::span<const std::int64_t> costs, std::span<const Rank> rank, std::int64_t ranks) {
  std::vector<std::int64_t> load(static_cast<std::size_t>(ranks), 0);
  for (std::size_t task = 0; task < costs.size(); ++task) load[static_cast<std::size_t>(rank[task])] += costs[task];
  return *std::max_element(load.begin(), load.end());
}

// Whether tasks fit under a deadline, one rank filled after another. It backtracks over a list of what was taken, so
// that no number of tasks is too deep.
class DeadlineSearch {
 public:
  // `falling`: costs, the largest first.
  DeadlineSearch(std::vector<std::int64_t> falling, std::int64_t ranks, std::uint64_t most_steps)
      : falling_(std::move(falling)), ranks_(ranks), most_steps_(most_steps), rank_(falling_.size(), k_free) {}

  // Empty where the steps are used up before it is decided.
  std::optional<bool> fits(std::int64_t deadline) {
    deadline_ = deadline;
    taken_.clear();
    open_.clear();
    std::fill(rank_.begin(), rank_.end(), k_free);
    const std::int64_t sum = std::accumulate(falling_.begin(), falling_.end(), std::int64_t{0});
    open_rank(ranks_ * deadline - sum, sum);
    for (;;) {
      const OpenRank& rank = open_.back();
      if (rank.load + rank.ahead < deadline_ - rank.waste) {
        if (!go_back()) return false;
      } else if (rank.next < falling_.size()) {
        if (steps_ == most_steps_) return std::nullopt;
        ++steps_;
        look_at_next();
      } else if (taken_.size() == falling_.size()) {
        return true;
      } else if (improvable()) {
        if (!go_back()) return false;
      } else {
        open_rank(rank.waste - (deadline_ - rank.load), rank.left - rank.load);
      }
    }
  }

  const std::vector<Rank>& ranks() const { return rank_; }  // of the last list that fits
  std::uint64_t steps() const { return steps_; }

 private:
  static constexpr Rank k_free = -1;

  struct OpenRank {
    std::size_t first_taken = 0;
    std::size_t next = 0;  // the task to look at
    std::int64_t load = 0;
    std::int64_t waste = 0;  // what this rank and those after it may leave of their time
    std::int64_t left = 0;   // the sum of the tasks that were free when it was opened
    std::int64_t ahead = 0;  // the sum of the free tasks that it did not look at
  };
  struct Taken {
    std::size_t task = 0;
    std::int64_t ahead = 0;  // when it was taken
  };

  void open_rank(std::int64_t waste, std::int64_t left) {
    CAIRN_ASSERT(static_cast<std::int64_t>(open_.size()) < ranks_);
    const std::size_t from = open_.empty() ? 0 : taken_[open_.back().first_taken].task;
    open_.push_back(
        {.first_taken = taken_.size(), .next = from, .load = 0, .waste = waste, .left = left, .ahead = left});
  }

  void look_at_next() {
    OpenRank& rank = open_.back();
    const std::size_t task = rank.next++;
    if (rank_[task] != k_free) return;
    rank.ahead -= falling_[task];
    if (falling_[task] > deadline_ - rank.load) return;
    rank.load += falling_[task];
    rank_[task] = static_cast<Rank>(open_.size() - 1);
    taken_.push_back({.task = task, .ahead = rank.ahead});
  }

  // Whether a free task could be on the last rank as well, or in place of a smaller one there.
  bool improvable() const {
    const OpenRank& rank = open_.back();
    const std::int64_t slack = deadline_ - rank.load;
    const auto free_within = [&](std::int64_t above, std::int64_t most) {
      const auto from = std::partition_point(falling_.begin(), falling_.end(), [&](auto cost) { return cost > most; });
      for (auto i = static_cast<std::size_t>(from - falling_.begin()); i < falling_.size() && falling_[i] > above; ++i)
        if (rank_[i] == k_free) return true;
      return false;
    };
    if (free_within(-1, slack)) return true;
    for (std::size_t i = rank.first_taken; i < taken_.size(); ++i) {
      const std::int64_t cost = falling_[taken_[i].task];
      if (free_within(cost, cost + slack)) return true;
    }
    return false;
  }

  // Leaves out the task that was taken last and those after it that cost the same. The first task of a rank must be on
  // some rank and ranks are alike: with it goes its rank. False where nothing is left to be changed.
  bool go_back() {
    for (;;) {
      OpenRank& rank = open_.back();
      const Taken last = taken_.back();
      const std::int64_t cost = falling_[last.task];
      taken_.pop_back();
      rank_[last.task] = k_free;
      if (taken_.size() == rank.first_taken) {
        open_.pop_back();
        if (open_.empty()) return false;
        continue;
      }
      rank.load -= cost;
      rank.ahead = last.ahead;
      for (rank.next = last.task + 1; rank.next < falling_.size() && falling_[rank.next] == cost; ++rank.next)
        rank.ahead -= cost;  // free, as of tasks of one cost the first are always taken first
      return true;
    }
  }

  std::vector<std::int64_t> falling_;
  std::int64_t ranks_;
  std::uint64_t most_steps_;
  std::vector<Rank> rank_;
  std::int64_t deadline_ = 0;
  std::vector<OpenRank> open_;
  std::vector<Taken> taken_;
  std::uint64_t steps_ = 0;
};

}  // namespace

std::vector<Rank> distribute(std::span<const std::int64_t> costs, std::int64_t ranks, Policy policy) {
  require_ranks(ranks);
  checked_sum(costs);
  if (policy == Policy::block) return in_blocks(costs.size(), ranks);
  if (policy == Policy::least_maximum_blocks) return in_least_blocks(costs, ranks);
  if (policy == Policy::longest_first) return by_longest_first(costs, ranks);
  CAIRN_ASSERT(policy == Policy::cyclic);
  std::vector<Rank> result(costs.size());
  for (std::size_t task = 0; task < result.size(); ++task)
    result[task] = static_cast<Rank>(task % static_cast<std::size_t>(ranks));
  return result;
}

std::int64_t least_possible_load(std::span<const std::int64_t> costs, std::int64_t ranks) {
  require_ranks(ranks);
  const std::int64_t sum = checked_sum(costs);
  std::int64_t bound = sum / ranks + (sum % ranks == 0 ? 0 : 1);
  if (costs.empty()) return bound;
  std::vector<std::int64_t> falling(costs.begin(), costs.end());
  std::sort(falling.begin(), falling.end(), std::greater<>());
  bound = std::max(bound, falling.front());
  const auto parts = static_cast<std::size_t>(ranks);
  std::vector<std::int64_t> before(falling.size() + 1, 0);  // the sum of the longer ones
  std::partial_sum(falling.begin(), falling.end(), before.begin() + 1);
  for (std::size_t k = 1; k * parts < falling.size(); ++k)
    bound = std::max(bound, before[k * parts + 1] - before[k * parts - k]);
  return bound;
}

ExactDistribution distribute_exactly(std::span<const std::int64_t> costs, std::int64_t ranks,
                                     std::uint64_t most_steps) {
  ExactDistribution result{.rank = distribute(costs, ranks, Policy::longest_first)};
  result.most = most_of(costs, result.rank, ranks);
  result.at_least = least_possible_load(costs, ranks);
  const std::vector<std::size_t> order = longest_tasks_first(costs);
  std::vector<std::int64_t> falling;
  for (const std::size_t task : order) falling.push_back(costs[task]);
  DeadlineSearch search(std::move(falling), ranks, most_steps);
  // The last task p of the rank that has most came to the least load, at most sum / P; if this was above 0 there were P
  // tasks of p or more before it, so that p <= sum / (P + 1): P most < 2 sum, which 64 bits hold. If it was 0, most is
  // the largest cost, and proven.
  CAIRN_ASSERT(result.most == result.at_least || result.most <= 2 * k_most_cost / ranks);
  while (result.at_least < result.most) {
    const std::int64_t deadline = result.at_least + (result.most - 1 - result.at_least) / 2;
    const std::optional<bool> fits = search.fits(deadline);
    if (!fits) break;
    if (!*fits) {
      result.at_least = deadline + 1;
      continue;
    }
    for (std::size_t i = 0; i < order.size(); ++i) result.rank[order[i]] = search.ranks()[i];
    result.most = most_of(costs, result.rank, ranks);
    CAIRN_ASSERT(result.most <= deadline);
  }
  result.proven = result.most == result.at_least;
  result.steps = search.steps();
  return result;
}

BalanceReport balance_report(std::span<const std::int64_t> costs, std::span<const Rank> rank, std::int64_t ranks) {
  require_ranks(ranks);
  if (rank.size() != costs.size())
    throw core::ConfigurationError("rank", fmt::format("{} ranks for {} tasks", rank.size(), costs.size()),
                                   "give the rank of every task");
  const std::int64_t sum = checked_sum(costs);
  BalanceReport report{.load = std::vector<std::int64_t>(static_cast<std::size_t>(ranks), 0)};
  for (std::size_t task = 0; task < costs.size(); ++task) {
    if (rank[task] < 0 || rank[task] >= ranks)
      throw core::ConfigurationError("rank", fmt::format("task {} is on rank {} of {}", task + 1, rank[task], ranks),
                                     "number ranks from 0");
    report.load[static_cast<std::size_t>(rank[task])] += costs[task];
  }
  report.most = *std::max_element(report.load.begin(), report.load.end());
  report.mean = static_cast<double>(sum) / static_cast<double>(ranks);
  report.bound = least_possible_load(costs, ranks);
  if (report.most == 0) return report;
  report.balance = report.mean / static_cast<double>(report.most);
  report.idle_share = 1.0 - report.balance;
  return report;
}

}  // namespace cairn::partition
