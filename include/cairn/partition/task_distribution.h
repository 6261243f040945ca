// Tasks over ranks that are all alike, decided before any of them runs: what each rank has to do, and how far that is
// from the best there is.
//
//   load(r) = sum of the costs of the tasks of rank r      most = max over r of load(r)
//   balance = mean / most                                  idle = 1 - balance
//
// No distribution of n tasks, p_1 >= p_2 >= ... , has a smaller most than
//
//   bound = max(ceil(sum / P), p_1, max over k >= 1 with kP < n of p_{kP-k+1} + ... + p_{kP+1})
//
// since one of P ranks has k + 1 of the kP + 1 largest tasks: k = 1 is the P-th and the (P+1)-th largest together.
// Example: costs 5 4 3 3 3 on two ranks. Longest first gives 5 + 3 and 4 + 3 + 3, most = 10; 5 + 4 and 3 + 3 + 3 have
// 9, which is the bound ceil(18 / 2).
//
// Costs are whole numbers in any unit, >= 0; ranks are numbered from 0. Where several distributions would do, the same
// one is taken on every machine.
// Sources: R. L. Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17 (1969): longest first, at
// most 4/3 - 1/(3P) of the optimum. M. Dell'Amico, S. Martello, "Optimal scheduling of tasks on identical parallel
// processors", ORSA J. Computing 7 (1995): the bounds. Static distributions of tasks of this kind: shell quartets of
// electron repulsion integrals over MPI ranks, as in HONPAS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cairn::partition {

using Rank = std::int32_t;

enum class Policy : std::uint8_t {
  block,                 // consecutive tasks, as many for each rank; the first n mod P ranks have one more
  cyclic,                // task i to rank i mod P
  least_maximum_blocks,  // consecutive tasks, the least most of all such distributions (cut_chain)
  longest_first,         // the longest task that is left to the rank with the least load, the first of them on ties
};

// The rank of every task.
// Errors: ConfigurationError, key "ranks" outside 1..k_most_parts, "costs" for a cost below 0 or a sum above
// k_most_cost.
std::vector<Rank> distribute(std::span<const std::int64_t> costs, std::int64_t ranks, Policy policy);

// The bound above. Errors: as distribute.
std::int64_t least_possible_load(std::span<const std::int64_t> costs, std::int64_t ranks);

struct ExactDistribution {
  std::vector<Rank> rank;     // of every task; the best found
  std::int64_t most = 0;      // its largest load
  std::int64_t at_least = 0;  // what no distribution is below
  bool proven = false;        // most == at_least
  std::uint64_t steps = 0;    // tasks looked at for a rank
};

// The least most of all distributions, by bisection between the bound and longest first. Whether all tasks fit under a
// deadline is decided by filling one rank after another (bin completion). Each begins with the longest task that is
// left; all sets of others are tried with it, but for those
//   - that leave more time unused than all ranks together may, P deadline - sum;
//   - to which a task that is left could be added, or put in place of a smaller one: that is never worse.
// `most_steps`: after looking at so many tasks for a rank it returns what it has, and `proven` is false unless the
// bounds meet.
// Exponential at worst. Within a million steps, of 20 to 300 tasks with costs drawn up to 1,000, all lists were proven
// on 3 and 6 ranks and three quarters or more on 10; with costs up to 1,000,000, most of them on 3 ranks alone.
// Errors: as distribute.
// Source: R. E. Korf, "Multi-way number partitioning", IJCAI 2009, and E. L. Schreiber, R. E. Korf, "Improved bin
// completion for optimal bin packing and number partitioning", IJCAI 2013.
ExactDistribution distribute_exactly(std::span<const std::int64_t> costs, std::int64_t ranks,
                                     std::uint64_t most_steps = 10'000'000);

struct BalanceReport {
  std::vector<std::int64_t> load;  // of every rank
  std::int64_t most = 0;
  double mean = 0.0;
  double balance = 1.0;     // mean / most, 1 where there is nothing to do
  double idle_share = 0.0;  // of all ranks' time until the last one ends
  std::int64_t bound = 0;   // least_possible_load
};

// Errors: as distribute, and key "rank" for a list of another length or with a rank that there is not.
BalanceReport balance_report(std::span<const std::int64_t> costs, std::span<const Rank> rank, std::int64_t ranks);

}  // namespace cairn::partition
