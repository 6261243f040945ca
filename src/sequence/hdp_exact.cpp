// The lower bound, and the branch and bound that it ends.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "hdp.h"

namespace cairn::sequence::hdp {

namespace {

// Two such sequences of one degree are too long for one group.
bool alone(const Pool& pool, const Item& item) {
  return Wide{2} * item.tokens > Wide{pool.tokens_per_rank} * item.ranks;
}

// Least rank-seconds of a token. A rank computes at most C tokens in a wave, however long that is, and those that it
// does not compute beside long sequences lengthen other waves.
struct Density {
  double tokens = 0.0;               // of the batch
  double rank_time_per_token = 0.0;  // [ps]

  double most_tokens(const Pool& pool, core::Picoseconds time) const {
    const double a_rank = static_cast<double>(pool.tokens_per_rank);
    const double in_time = rank_time_per_token > 0.0 ? static_cast<double>(time) / rank_time_per_token : a_rank;
    return static_cast<double>(pool.ranks) * std::min(a_rank, in_time);
  }
  // Of the tokens beyond `held`, on all ranks; below the true value by more than doubles err.
  core::Picoseconds least_time(const Pool& pool, double held) const {
    constexpr double k_safely_below = 1.0 - 1e-9;
    const double left = std::max(0.0, tokens * k_safely_below - held);
    return static_cast<core::Picoseconds>(left * rank_time_per_token / static_cast<double>(pool.ranks) *
                                          k_safely_below);
  }
};
Density density_of(const Pool& pool) {
  Density density{.tokens = 0.0, .rank_time_per_token = std::numeric_limits<double>::max()};
  for (const Item& item : pool.items) {
    const double tokens = static_cast<double>(item.tokens);
    density.tokens += tokens;
    density.rank_time_per_token = std::min(density.rank_time_per_token,
                                           static_cast<double>(item.ranks) * static_cast<double>(item.time) / tokens);
  }
  return density;
}

// Waves of the sequences that need `ranks` ranks and more and share no group: at most floor(pool / ranks) in one, so
// that the longest of each are no shorter than every so many-th of all. The other tokens follow.
struct Column {
  std::int64_t waves = 0;
  core::Picoseconds time = 0;  // of them, without `fixed`
};
Column column(const Pool& pool, std::int64_t ranks, const Density& density) {
  Column column;
  double held = 0.0;
  const std::int64_t abreast = pool.ranks / ranks;
  std::int64_t place = 0;
  for (const Item& item : pool.items) {
    if (item.ranks < ranks || !alone(pool, item)) continue;
    if (place++ % abreast != 0) continue;
    ++column.waves;
    column.time += item.time;
    held += density.most_tokens(pool, item.time);
  }
  column.time += density.least_time(pool, held);
  return column;
}

// The ranks of all groups that the batch needs at least.
Wide ranks_needed(const Pool& pool) {
  struct Degree {
    Wide tokens = 0;
    std::int64_t alone = 0;
  };
  std::map<std::int64_t, Degree> degrees;
  for (const Item& item : pool.items) {
    degrees[item.ranks].tokens += item.tokens;
    degrees[item.ranks].alone += alone(pool, item) ? 1 : 0;
  }
  Wide needed = 0;
  for (const auto& [ranks, degree] : degrees)
    needed += Wide{ranks} * std::max(degree.alone, ceil_divide(degree.tokens, Wide{pool.tokens_per_rank} * ranks));
  return needed;
}

Wide rank_seconds(const Pool& pool) {
  Wide sum = 0;
  for (const Item& item : pool.items) sum += Wide{item.ranks} * item.time;
  return sum;
}

bool equal_groups(const Group& a, const Group& b) {
  return a.ranks == b.ranks && a.tokens == b.tokens && a.time == b.time;
}

class Search {
 public:
  Search(const Pool& pool, core::Picoseconds bound, Waves& best)
      : pool_(pool), bound_(bound), best_(best), least_(total(pool, best)), unplaced_(rank_seconds(pool)) {}

  bool run() {
    place(0);
    return nodes_ <= k_most_nodes || least_ == bound_;
  }

 private:
  // What the sequences that are not placed add at least: rank-seconds for which the waves have no room.
  core::Picoseconds still_to_come() const {
    Wide room = 0;
    for (const Wave& wave : waves_) {
      room += Wide{pool_.ranks} * wave.time;
      for (const Group& group : wave.groups) room -= Wide{group.ranks} * group.time;
    }
    return unplaced_ <= room ? 0 : ceil_divide(unplaced_ - room, pool_.ranks);
  }

  void place(std::size_t k) {
    if (++nodes_ > k_most_nodes || least_ == bound_ || sum_ + still_to_come() >= least_) return;
    if (k == pool_.items.size()) {
      best_ = waves_;
      least_ = sum_;
      return;
    }
    unplaced_ -= Wide{pool_.items[k].ranks} * pool_.items[k].time;
    for (std::size_t w = 0; w < waves_.size(); ++w)
      if (!wave_seen_before(w)) place_in_wave(w, k);
    waves_.emplace_back();
    sum_ += pool_.fixed;
    open(waves_.size() - 1, k);
    sum_ -= pool_.fixed;
    waves_.pop_back();
    unplaced_ += Wide{pool_.items[k].ranks} * pool_.items[k].time;
  }

  bool wave_seen_before(std::size_t w) const {
    return std::any_of(waves_.begin(), waves_.begin() + static_cast<std::ptrdiff_t>(w), [&](const Wave& wave) {
      return std::ranges::equal(wave.groups, waves_[w].groups, equal_groups);
    });
  }

  void place_in_wave(std::size_t w, std::size_t k) {
    for (std::size_t g = 0; g < waves_[w].groups.size(); ++g) {
      const Group& group = waves_[w].groups[g];
      const auto before = waves_[w].groups.begin() + static_cast<std::ptrdiff_t>(g);
      if (has_room(pool_, group, pool_.items[k]) &&
          std::none_of(waves_[w].groups.begin(), before, [&](const Group& g0) { return equal_groups(g0, group); }))
        place_in_group(w, g, k);
    }
    if (waves_[w].ranks + pool_.items[k].ranks <= pool_.ranks) open(w, k);
  }

  void open(std::size_t w, std::size_t k) {
    const std::int64_t ranks = pool_.items[k].ranks;
    waves_[w].ranks += ranks;
    waves_[w].groups.push_back({.ranks = ranks});
    place_in_group(w, waves_[w].groups.size() - 1, k);
    waves_[w].groups.pop_back();
    waves_[w].ranks -= ranks;
  }

  void place_in_group(std::size_t w, std::size_t g, std::size_t k) {
    const core::Picoseconds before = waves_[w].time;
    put(pool_, waves_[w].groups[g], k);
    waves_[w].time = std::max(before, waves_[w].groups[g].time);
    sum_ += waves_[w].time - before;
    place(k + 1);
    sum_ -= waves_[w].time - before;
    waves_[w].time = before;
    Group& group = waves_[w].groups[g];
    group.time -= pool_.items[k].time;
    group.tokens -= pool_.items[k].tokens;
    group.members.pop_back();
  }

  const Pool& pool_;
  core::Picoseconds bound_;
  Waves& best_;
  core::Picoseconds least_;    // total of the best
  Wide unplaced_;              // rank-seconds
  core::Picoseconds sum_ = 0;  // total of the waves
  Waves waves_ = {};
  std::int64_t nodes_ = 0;
};

}  // namespace

core::Picoseconds lower_bound(const Pool& pool) {
  std::set<std::int64_t> degrees;
  for (const Item& item : pool.items) degrees.insert(item.ranks);
  const Density density = density_of(pool);
  std::vector<Column> columns;
  for (const std::int64_t ranks : degrees) columns.push_back(column(pool, ranks, density));
  std::int64_t waves = ceil_divide(ranks_needed(pool), pool.ranks);
  core::Picoseconds time = std::max(pool.items.front().time, ceil_divide(rank_seconds(pool), pool.ranks));
  for (const Column& column : columns) {
    waves = std::max(waves, column.waves);
    time = std::max(time, column.time);
  }
  return waves * pool.fixed + time;
}

bool search(const Pool& pool, core::Picoseconds bound, Waves& incumbent) {
  if (total(pool, incumbent) == bound) return true;
  if (pool.items.size() > k_most_searched) return false;
  return Search(pool, bound, incumbent).run();
}

}  // namespace cairn::sequence::hdp
