// The lower bound, and the branch and bound that it ends.
#include <algorithm>
#include <functional>
#include <limits>

#include "flexsp.h"

namespace cairn::sequence::flexsp {

namespace {

// Times here are without `fixed`.
bool ends_by(const Table& table, std::size_t k, std::size_t j, core::Picoseconds limit) {
  return table.fits(k, j) && table.time(k, j) <= limit;
}

// What a time allows per sequence: least rank-seconds, least time, smallest degree; nothing where some sequence has no
// degree that ends by `limit`.
struct Needs {
  Wide work = 0;
  std::vector<std::size_t> smallest = {};
  std::vector<core::Picoseconds> shortest = {};
};
std::optional<Needs> needs_by(const Table& table, core::Picoseconds limit) {
  Needs needs;
  for (std::size_t k = 0; k < table.sequences(); ++k) {
    std::optional<std::size_t> smallest;
    Wide work = 0;
    core::Picoseconds shortest = 0;
    for (std::size_t j = 0; j < table.degrees.size(); ++j) {
      if (!ends_by(table, k, j, limit)) continue;
      work = smallest ? std::min(work, table.work(k, j)) : table.work(k, j);
      shortest = smallest ? std::min(shortest, table.time(k, j)) : table.time(k, j);
      if (!smallest) smallest = j;
    }
    if (!smallest) return std::nullopt;
    needs.work += work;
    needs.smallest.push_back(*smallest);
    needs.shortest.push_back(shortest);
  }
  return needs;
}

// The sequences that need degree j or more share at most m groups: of the i m + 1 with the longest times some i + 1
// are in one group.
bool groups_suffice(const Table& table, const Needs& needs, std::size_t j, core::Picoseconds limit) {
  const std::int64_t groups = table.ranks / table.degrees[j];
  std::vector<core::Picoseconds> times;
  for (std::size_t k = 0; k < table.sequences(); ++k)
    if (needs.smallest[k] >= j) times.push_back(needs.shortest[k]);
  std::ranges::sort(times, std::greater<>());
  for (std::size_t together = 1; (together - 1) * groups < times.size(); ++together)
    if (Wide{times[(together - 1) * groups]} * static_cast<std::int64_t>(together) > limit) return false;
  return true;
}

// Least rank-seconds of sequence k at degree j or more; nothing where it does not end by `limit` there.
std::optional<double> least_work(const Table& table, std::size_t k, std::size_t j, core::Picoseconds limit) {
  std::optional<double> least;
  for (; j < table.degrees.size(); ++j) {
    if (!ends_by(table, k, j, limit)) continue;
    const double work = static_cast<double>(table.degrees[j]) * static_cast<double>(table.time(k, j));
    least = least ? std::min(*least, work) : work;
  }
  return least;
}

// Groups of degree j and more have the sequences that need them, and the tokens that smaller groups have no memory for.
// With R ranks in them: R limit >= their rank-seconds. More ranks there leave less memory elsewhere, so that the best R
// is the least, or the one from which tokens are left over, or all.
bool large_groups_suffice(const Table& table, const Needs& needs, std::size_t j, core::Picoseconds limit) {
  constexpr double k_forgiven = 1.0 + 1e-9;  // more than doubles err
  double needed = 0.0, other_tokens = 0.0, per_token = std::numeric_limits<double>::infinity();
  bool any = false;
  for (std::size_t k = 0; k < table.sequences(); ++k) {
    const std::optional<double> work = least_work(table, k, j, limit);
    if (needs.smallest[k] >= j) {
      any = true;
      needed += *work;
      continue;
    }
    const double tokens = static_cast<double>(table.tokens[k]);
    other_tokens += tokens;
    if (work) per_token = std::min(per_token, *work / tokens);
  }
  if (!any) return true;
  const double ranks = static_cast<double>(table.ranks);
  const double room = (static_cast<double>(table.pool_capacity) + 1.0) / ranks * k_forgiven;
  const auto suffice = [&](double large) {
    const double left = other_tokens - room * (ranks - large);
    return large * static_cast<double>(limit) * k_forgiven >= needed + (left > 0.0 ? left * per_token : 0.0);
  };
  const double least = static_cast<double>(table.degrees[j]);
  return suffice(least) || suffice(std::clamp(ranks - other_tokens / room, least, ranks)) || suffice(ranks);
}

bool may_end_by(const Table& table, core::Picoseconds limit) {
  const std::optional<Needs> needs = needs_by(table, limit);
  if (!needs || needs->work > Wide{table.ranks} * limit) return false;
  for (std::size_t j = 0; j < table.degrees.size(); ++j)
    if (!groups_suffice(table, *needs, j, limit) || !large_groups_suffice(table, *needs, j, limit)) return false;
  return true;
}

class Search {
 public:
  Search(const Table& table, core::Picoseconds bound, std::optional<Loads>& best)
      : table_(table), bound_(bound), best_(best), left_(table.ranks), remaining_(table.sequences() + 1, 0) {
    limit_ = best ? makespan(table, *best) - table.fixed : core::k_reach;
    for (std::size_t k = table.sequences(); k-- > 0;) remaining_[k] = remaining_[k + 1] + cheapest(k);
  }

  bool run() {
    place(0);
    return nodes_ <= k_most_nodes || found_bound();
  }

 private:
  bool found_bound() const { return best_ && table_.fixed + limit_ == bound_; }

  Wide cheapest(std::size_t k) const {
    std::optional<Wide> least;
    for (std::size_t j = 0; j < table_.degrees.size(); ++j)
      if (table_.fits(k, j) && (!least || table_.work(k, j) < *least)) least = table_.work(k, j);
    return *least;
  }

  // Whether the rank-seconds left below the best time hold what is not yet placed.
  bool may_improve(std::size_t k) const {
    Wide free = Wide{left_} * (limit_ - 1);
    for (const Load& load : loads_) free += Wide{table_.degrees[load.degree]} * (limit_ - 1 - load.time);
    return free >= remaining_[k];
  }

  bool seen_before(std::size_t g) const {
    return std::any_of(loads_.begin(), loads_.begin() + static_cast<std::ptrdiff_t>(g), [&](const Load& load) {
      return load.degree == loads_[g].degree && load.time == loads_[g].time && load.tokens == loads_[g].tokens;
    });
  }

  void place(std::size_t k) {
    if (++nodes_ > k_most_nodes || found_bound()) return;
    if (k == table_.sequences()) {
      best_ = loads_;
      limit_ = makespan(table_, loads_) - table_.fixed;
      return;
    }
    if (!may_improve(k)) return;
    for (std::size_t g = 0; g < loads_.size(); ++g)
      if (has_room(table_, loads_[g], k) && !seen_before(g)) place_in(g, k);
    for (std::size_t j = 0; j < table_.degrees.size(); ++j)
      if (table_.degrees[j] <= left_ && table_.fits(k, j)) open(j, k);
  }

  void place_in(std::size_t g, std::size_t k) {
    const core::Picoseconds time = table_.time(k, loads_[g].degree);
    if (loads_[g].time + time >= limit_) return;
    put(table_, loads_[g], k);
    place(k + 1);
    loads_[g].time -= time;
    loads_[g].tokens -= table_.tokens[k];
    loads_[g].members.pop_back();
  }

  void open(std::size_t j, std::size_t k) {
    left_ -= table_.degrees[j];
    loads_.push_back({.degree = j});
    place_in(loads_.size() - 1, k);
    loads_.pop_back();
    left_ += table_.degrees[j];
  }

  const Table& table_;
  core::Picoseconds bound_;
  std::optional<Loads>& best_;
  std::int64_t left_;            // ranks in no group
  std::vector<Wide> remaining_;  // least rank-seconds of sequences k, k + 1, ...
  core::Picoseconds limit_ = 0;  // to be improved on, without `fixed`
  Loads loads_ = {};
  std::int64_t nodes_ = 0;
};

}  // namespace

core::Picoseconds lower_bound(const Table& table) {
  core::Picoseconds low = 0, high = 0;
  for (std::size_t k = 0; k < table.sequences(); ++k) {
    core::Picoseconds longest = 0;
    for (std::size_t j = 0; j < table.degrees.size(); ++j) longest = std::max(longest, table.time(k, j));
    high += longest;
  }
  while (low < high) {
    const core::Picoseconds middle = low + (high - low) / 2;
    if (may_end_by(table, middle))
      high = middle;
    else
      low = middle + 1;
  }
  return table.fixed + low;
}

bool search(const Table& table, core::Picoseconds bound, std::optional<Loads>& incumbent) {
  if (incumbent && makespan(table, *incumbent) == bound) return true;
  if (table.sequences() > k_most_searched) return false;
  return Search(table, bound, incumbent).run();
}

}  // namespace cairn::sequence::flexsp
