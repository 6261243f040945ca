// Assignments of large batches: longest-processing-time over given groups, a bisection that finds the groups, moves.
#include <algorithm>

#include "flexsp.h"

namespace cairn::sequence::flexsp {

namespace {

// Looks at this many places for a sequence, and no more, while it relieves one assignment.
constexpr std::int64_t k_most_looks = 4'000'000;
// Halvings of the time between bound and best.
constexpr int k_bisections = 24;

enum class Preference : std::uint8_t {
  soonest,  // the group that ends soonest with the sequence
  fullest   // the group with the least memory left
};

// Sequences, the longest first, each into the group that is preferred; nothing where one finds no memory.
std::optional<Loads> filled(const Table& table, Loads loads, Preference preference) {
  for (std::size_t k = 0; k < table.sequences(); ++k) {
    Load* chosen = nullptr;
    std::int64_t least = 0;
    for (Load& load : loads) {
      if (!has_room(table, load, k)) continue;
      const std::int64_t rank = preference == Preference::soonest ? load.time + table.time(k, load.degree)
                                                                  : table.capacity[load.degree] - load.tokens;
      if (chosen != nullptr && rank >= least) continue;
      chosen = &load;
      least = rank;
    }
    if (chosen == nullptr) return std::nullopt;
    put(table, *chosen, k);
  }
  return loads;
}

// The groups of `loads` without their sequences, and as many of the largest degrees as the other ranks allow.
Loads groups_of(const Table& table, const Loads& loads) {
  Loads groups;
  std::int64_t left = table.ranks;
  for (const Load& load : loads) {
    groups.push_back({.degree = load.degree});
    left -= table.degrees[load.degree];
  }
  for (std::size_t j = table.degrees.size(); j-- > 0;)
    for (; table.degrees[j] <= left; left -= table.degrees[j]) groups.push_back({.degree = j});
  return groups;
}

// When a sequence opens a group although another has room: where that takes fewer rank-seconds, or never. The first
// wastes less time, the second less memory.
enum class Opening : std::uint8_t { cheaper, last };

// How groups are made: none below `smallest`.
struct Policy {
  std::size_t smallest = 0;
  Opening opening = Opening::cheaper;
};

// Sequences, the longest first, in groups that they open as they come, none of which ends behind `limit`.
class Packing {
 public:
  Packing(const Table& table, Policy policy, core::Picoseconds limit)
      : table_(table), policy_(policy), limit_(limit), left_(table.ranks) {}

  bool place(std::size_t k) {
    Load* group = fullest(k);
    const std::optional<std::size_t> degree = cheapest(k);
    const bool cheaper = degree && group != nullptr && policy_.opening == Opening::cheaper &&
                         table_.work(k, *degree) < table_.work(k, group->degree);
    if (degree && (group == nullptr || cheaper)) {
      left_ -= table_.degrees[*degree];
      loads_.push_back({.degree = *degree});
      group = &loads_.back();
    }
    if (group == nullptr) return false;
    put(table_, *group, k);
    return true;
  }
  Loads take() { return std::move(loads_); }

 private:
  // Of the groups of least rank-seconds, the one with the least time left.
  Load* fullest(std::size_t k) {
    Load* chosen = nullptr;
    for (Load& load : loads_) {
      if (load.time + table_.time(k, load.degree) > limit_ || !has_room(table_, load, k)) continue;
      if (chosen != nullptr) {
        const Wide work = table_.work(k, load.degree), least = table_.work(k, chosen->degree);
        if (work > least || (work == least && load.time <= chosen->time)) continue;
      }
      chosen = &load;
    }
    return chosen;
  }

  // The degree of least rank-seconds that the ranks left allow.
  std::optional<std::size_t> cheapest(std::size_t k) const {
    std::optional<std::size_t> chosen;
    for (std::size_t j = policy_.smallest; j < table_.degrees.size() && table_.degrees[j] <= left_; ++j)
      if (table_.fits(k, j) && table_.time(k, j) <= limit_ && (!chosen || table_.work(k, j) < table_.work(k, *chosen)))
        chosen = j;
    return chosen;
  }

  const Table& table_;
  Policy policy_;
  core::Picoseconds limit_;
  std::int64_t left_;
  Loads loads_ = {};
};

std::optional<Loads> packed(const Table& table, Policy policy, core::Picoseconds limit) {
  Packing packing(table, policy, limit);
  for (std::size_t k = 0; k < table.sequences(); ++k)
    if (!packing.place(k)) return std::nullopt;
  return packing.take();
}

// Whether `loads` became the best so far.
bool keep_better(const Table& table, std::optional<Loads>& best, std::optional<Loads> loads) {
  if (!loads || (best && makespan(table, *best) <= makespan(table, *loads))) return false;
  best = std::move(loads);
  return true;
}

// Halves the time between the bound and the best so far.
void bisect(const Table& table, Policy policy, core::Picoseconds bound, std::optional<Loads>& incumbent) {
  core::Picoseconds low = bound - table.fixed, high = core::k_reach;
  if (incumbent) high = makespan(table, *incumbent) - table.fixed;
  core::Picoseconds limit = incumbent ? low : high;  // the shortest first, or the surest
  for (int i = 0; i < k_bisections && low <= high; ++i) {
    std::optional<Loads> loads = packed(table, policy, limit);
    if (loads) {
      std::optional<Loads> again = filled(table, groups_of(table, *loads), Preference::soonest);
      keep_better(table, incumbent, std::move(loads));
      keep_better(table, incumbent, std::move(again));
      high = std::min(limit, makespan(table, *incumbent) - table.fixed) - 1;
    } else {
      low = limit + 1;
    }
    limit = low + (high - low) / 2;
  }
}

void take_out(const Table& table, Load& load, std::size_t k) {
  load.time -= table.time(k, load.degree);
  load.tokens -= table.tokens[k];
  std::erase(load.members, k);
}

// One sequence leaves the longest group, another may come in its place.
struct Relief {
  std::size_t leaves = 0;
  std::size_t group = 0;
  std::optional<std::size_t> comes = {};
  core::Picoseconds time = 0;  // of the longer of the two groups
};

class Relieving {
 public:
  Relieving(const Table& table, Loads& loads) : table_(table), loads_(loads) {}

  void run() {
    while (looks_ < k_most_looks) {
      const std::optional<Relief> relief = best_relief();
      if (!relief) return;
      apply(*relief);
    }
  }

 private:
  std::optional<Relief> best_relief() {
    longest_ = std::ranges::max_element(loads_, {}, &Load::time) - loads_.begin();
    const std::vector<std::size_t>& members = loads_[longest_].members;
    std::optional<Relief> best;
    for (const std::size_t k : members)
      for (std::size_t g = 0; g < loads_.size(); ++g) look(best, {.leaves = k, .group = g});
    if (best) return best;
    for (const std::size_t k : members)
      for (std::size_t g = 0; g < loads_.size() && looks_ < k_most_looks; ++g)
        for (const std::size_t other : loads_[g].members) look(best, {.leaves = k, .group = g, .comes = other});
    return best;
  }

  void look(std::optional<Relief>& best, Relief relief) {
    ++looks_;
    if (relief.group == static_cast<std::size_t>(longest_)) return;
    const Load &from = loads_[longest_], &into = loads_[relief.group];
    core::Picoseconds from_time = from.time - table_.time(relief.leaves, from.degree);
    core::Picoseconds into_time = into.time + table_.time(relief.leaves, into.degree);
    std::int64_t from_tokens = from.tokens - table_.tokens[relief.leaves];
    std::int64_t into_tokens = into.tokens + table_.tokens[relief.leaves];
    if (relief.comes) {
      from_time += table_.time(*relief.comes, from.degree);
      into_time -= table_.time(*relief.comes, into.degree);
      from_tokens += table_.tokens[*relief.comes];
      into_tokens -= table_.tokens[*relief.comes];
    }
    relief.time = std::max(from_time, into_time);
    if (relief.time >= (best ? best->time : from.time)) return;
    if (from_tokens <= table_.capacity[from.degree] && into_tokens <= table_.capacity[into.degree]) best = relief;
  }

  void apply(const Relief& relief) {
    Load &from = loads_[longest_], &into = loads_[relief.group];
    take_out(table_, from, relief.leaves);
    if (relief.comes) {
      take_out(table_, into, *relief.comes);
      put(table_, from, *relief.comes);
    }
    put(table_, into, relief.leaves);
  }

  const Table& table_;
  Loads& loads_;
  std::ptrdiff_t longest_ = 0;
  std::int64_t looks_ = 0;
};

}  // namespace

void relieve(const Table& table, Loads& loads) { Relieving(table, loads).run(); }

std::optional<Loads> share_evenly(const Table& table) {
  const Loads groups(static_cast<std::size_t>(table.ranks / table.degrees.front()), Load{});
  std::optional<Loads> loads = filled(table, groups, Preference::soonest);
  if (!loads) loads = filled(table, groups, Preference::fullest);
  if (loads) relieve(table, *loads);
  return loads;
}

void find_groups(const Table& table, core::Picoseconds bound, std::optional<Loads>& incumbent) {
  for (std::size_t j = 0; j < table.degrees.size(); ++j)
    for (const Opening opening : {Opening::cheaper, Opening::last})
      bisect(table, {.smallest = j, .opening = opening}, bound, incumbent);
  if (incumbent) relieve(table, *incumbent);
}

}  // namespace cairn::sequence::flexsp
