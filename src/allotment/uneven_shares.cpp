#include "cairn/allotment/uneven_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"

namespace cairn::allotment {
namespace {

constexpr std::int64_t k_most_quantity = std::int64_t{1} << 60;  // bytes, picoseconds: two of them add up
constexpr std::int64_t k_most_pieces = std::int64_t{1} << 20;    // ranks, samples
constexpr std::int64_t k_no_way = -1;                            // no bytes of state at all can be held

void require_quantity(std::int64_t value, std::int64_t most, const std::string& key) {
  if (value < 0 || value > most)
    throw core::ConfigurationError(key, fmt::format("{} is out of range", value), fmt::format("give 0 to {}", most));
}

void require_valid_shares(const ShareProblem& problem) {
  require_quantity(problem.samples, k_most_pieces, "samples");
  require_quantity(problem.state, k_most_quantity, "state");
  require_quantity(problem.fixed, k_most_quantity, "fixed");
  require_quantity(problem.whole, k_most_quantity, "whole");
  if (problem.types.empty()) throw core::ConfigurationError("types", "there are no ranks", "give a type or more");
  std::int64_t ranks = 0;
  for (std::size_t i = 0; i < problem.types.size(); ++i) {
    const RankType& type = problem.types[i];
    const std::string key = fmt::format("types[{}]", i);
    if (type.ranks < 1) throw core::ConfigurationError(key + ".ranks", "the type has no rank", "give 1 or more");
    require_quantity(type.ranks, k_most_pieces - ranks, key + ".ranks");
    ranks += type.ranks;
    if (type.compute_times.empty() || type.compute_times.size() != type.activations.size())
      throw core::ConfigurationError(key,
                                     fmt::format("times for {} numbers of samples and activations for {}",
                                                 type.compute_times.size(), type.activations.size()),
                                     "give one of each for 0, 1, 2, ... samples");
    for (const core::Picoseconds time : type.compute_times)
      require_quantity(time, k_most_quantity, key + ".compute_times");
    for (const std::int64_t bytes : type.activations) require_quantity(bytes, k_most_quantity, key + ".activations");
    require_quantity(type.capacity, std::numeric_limits<std::int64_t>::max(), key + ".capacity");
  }
}

core::Picoseconds collective_time(const ShareProblem& problem, std::int64_t largest) {
  if (problem.state == 0) return problem.fixed;
  __extension__ using Wide = __int128;
  const Wide product = static_cast<Wide>(problem.whole) * largest;
  return problem.fixed + static_cast<core::Picoseconds>((product + problem.state - 1) / problem.state);
}

// Bytes of state beside `samples`, negative where these alone do not fit.
std::int64_t room_beside(const RankType& type, std::int64_t samples) {
  return type.capacity - type.activations[static_cast<std::size_t>(samples)];
}

std::vector<std::size_t> types_of_ranks(const ShareProblem& problem) {
  std::vector<std::size_t> types;
  for (std::size_t i = 0; i < problem.types.size(); ++i)
    types.insert(types.end(), static_cast<std::size_t>(problem.types[i].ranks), i);
  return types;
}

// No compute time above `time` and no share of state above `level`.
struct ShareBounds {
  core::Picoseconds time = 0;
  std::int64_t level = 0;
};

// The most state that groups of ranks can hold within bounds, for every number of samples that a group computes.
//
// Within bounds a rank with b samples holds 0 to min(level, capacity - m(b)) bytes, so that samples b_i go with some
// state shares if and only if these most bytes sum to S or more. Groups add up: the most bytes of two groups with j
// samples are the largest sum over all ways to split the j. Ranks of one type are alike, so that a group of k of them
// is made of two halves that are made once: log(k) sums, not k, and no way to share is left out.
class StateRoom {
 public:
  StateRoom(const ShareProblem& problem, ShareBounds bounds) : problem_(problem), bounds_(bounds) {
    for (const RankType& type : problem.types) {
      std::map<std::int64_t, std::size_t> made;
      const std::size_t group = alike(type, type.ranks, made);
      all_ = all_ == k_none ? group : joined(all_, group);
    }
  }

  bool enough() const { return most(all_, problem_.samples) >= problem_.state; }

  // The samples of all ranks, in order. Only where there is enough().
  std::vector<std::int64_t> samples() const {
    std::vector<std::int64_t> result;
    append_samples(all_, problem_.samples, result);
    return result;
  }

 private:
  static constexpr std::size_t k_none = std::numeric_limits<std::size_t>::max();

  struct RankGroup {
    std::vector<std::int64_t> most = {};   // bytes, at most S, by samples; k_no_way where these samples cannot be
    std::vector<std::int64_t> first = {};  // samples of the first part
    std::size_t parts[2] = {k_none, k_none};
  };

  std::int64_t most(std::size_t group, std::int64_t samples) const {
    const std::vector<std::int64_t>& most = groups_[group].most;
    return static_cast<std::size_t>(samples) < most.size() ? most[static_cast<std::size_t>(samples)] : k_no_way;
  }

  std::size_t single(const RankType& type) {
    RankGroup group;
    const auto reach = static_cast<std::int64_t>(type.compute_times.size()) - 1;
    for (std::int64_t b = 0; b <= std::min(reach, problem_.samples); ++b) {
      const std::int64_t room = room_beside(type, b);
      const bool may = room >= 0 && type.compute_times[static_cast<std::size_t>(b)] <= bounds_.time;
      group.most.push_back(may ? std::min({room, bounds_.level, problem_.state}) : k_no_way);
    }
    groups_.push_back(std::move(group));
    return groups_.size() - 1;
  }

  std::size_t joined(std::size_t a, std::size_t b) {
    const std::vector<std::int64_t>& first = groups_[a].most;
    const std::vector<std::int64_t>& second = groups_[b].most;
    const std::size_t reach =
        std::min(first.size() + second.size() - 1, static_cast<std::size_t>(problem_.samples) + 1);
    RankGroup group{.most = std::vector<std::int64_t>(reach, k_no_way),
                    .first = std::vector<std::int64_t>(reach, 0),
                    .parts = {a, b}};
    for (std::size_t i = 0; i < std::min(first.size(), reach); ++i) {
      if (first[i] == k_no_way) continue;
      for (std::size_t j = 0; j < std::min(second.size(), reach - i); ++j) {
        if (second[j] == k_no_way) continue;
        const std::int64_t most = std::min(first[i] + second[j], problem_.state);
        if (most <= group.most[i + j]) continue;
        group.most[i + j] = most;
        group.first[i + j] = static_cast<std::int64_t>(i);
      }
    }
    groups_.push_back(std::move(group));
    return groups_.size() - 1;
  }

  // A group of `ranks` ranks of one type; `made` has those that exist by their size.
  std::size_t alike(const RankType& type, std::int64_t ranks, std::map<std::int64_t, std::size_t>& made) {
    const auto known = made.find(ranks);
    if (known != made.end()) return known->second;
    std::size_t group = k_none;
    if (ranks == 1) {
      group = single(type);
    } else {
      const std::size_t half = alike(type, ranks / 2, made);
      group = joined(half, alike(type, ranks - ranks / 2, made));
    }
    made.emplace(ranks, group);
    return group;
  }

  void append_samples(std::size_t group, std::int64_t samples, std::vector<std::int64_t>& result) const {
    const RankGroup& own = groups_[group];
    if (own.first.empty()) {
      result.push_back(samples);
      return;
    }
    const std::int64_t first = own.first[static_cast<std::size_t>(samples)];
    append_samples(own.parts[0], first, result);
    append_samples(own.parts[1], samples - first, result);
  }

  const ShareProblem& problem_;
  ShareBounds bounds_;
  std::vector<RankGroup> groups_;
  std::size_t all_ = k_none;
};

// The first of first, ..., last - 1 that `holds`, which all later ones do too; `last` where none does.
template <typename Holds>
std::int64_t first_that(std::int64_t first, std::int64_t last, const Holds& holds) {
  while (first < last) {
    const std::int64_t middle = first + (last - first) / 2;
    if (holds(middle))
      last = middle;
    else
      first = middle + 1;
  }
  return first;
}

// Different compute times, ascending: the slowest rank's is one of them.
std::vector<core::Picoseconds> possible_times(const ShareProblem& problem) {
  std::vector<core::Picoseconds> times;
  for (const RankType& type : problem.types) {
    const std::size_t reach = std::min(type.compute_times.size(), static_cast<std::size_t>(problem.samples) + 1);
    times.insert(times.end(), type.compute_times.begin(),
                 type.compute_times.begin() + static_cast<std::ptrdiff_t>(reach));
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

// State for ranks with these samples, poured in until all of it is held: each rank is full, or stands at `level`, the
// last of these a byte lower until nothing is left over. `level` is the least that holds all, so that a byte lower for
// all of them would be too little and some rank stays at it.
std::vector<RankShare> poured(const ShareProblem& problem, const std::vector<std::int64_t>& samples,
                              std::int64_t level) {
  const std::vector<std::size_t> types = types_of_ranks(problem);
  std::vector<RankShare> ranks;
  std::int64_t over = -problem.state;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::int64_t room = room_beside(problem.types[types[i]], samples[i]);
    ranks.push_back({.samples = samples[i], .state = std::min(room, level)});
    over += ranks.back().state;
  }
  for (std::size_t i = ranks.size(); over > 0 && i-- > 0;) {
    if (ranks[i].state < level) continue;
    --ranks[i].state;
    --over;
  }
  CAIRN_ASSERT(over == 0);
  return ranks;
}

}  // namespace

std::optional<SharePlan> priced(const ShareProblem& problem, const std::vector<RankShare>& ranks) {
  require_valid_shares(problem);
  const std::vector<std::size_t> types = types_of_ranks(problem);
  SharePlan plan{.ranks = ranks};
  std::int64_t samples = 0, state = 0, largest = 0;
  for (const RankShare& each : ranks) {
    require_quantity(each.samples, problem.samples - samples, "ranks.samples");
    require_quantity(each.state, problem.state - state, "ranks.state");
    samples += each.samples;
    state += each.state;
    largest = std::max(largest, each.state);
  }
  if (ranks.size() != types.size() || samples != problem.samples || state != problem.state)
    throw core::ConfigurationError(
        "ranks",
        fmt::format("{} shares of {} samples and {} bytes for {} ranks, {} samples and {} bytes", ranks.size(), samples,
                    state, types.size(), problem.samples, problem.state),
        "give a share for each rank, and share all out");
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const RankType& type = problem.types[types[i]];
    if (static_cast<std::size_t>(ranks[i].samples) >= type.compute_times.size()) return std::nullopt;
    if (ranks[i].state > room_beside(type, ranks[i].samples)) return std::nullopt;
    plan.compute_time = std::max(plan.compute_time, type.compute_times[static_cast<std::size_t>(ranks[i].samples)]);
  }
  plan.collective_time = collective_time(problem, largest);
  plan.step_time = plan.compute_time + plan.collective_time;
  return plan;
}

// Exact: the best plan has a compute time T among possible_times() and a largest share L, and StateRoom decides for any
// (T, L) whether a plan within them exists. Room grows with both, so that for a T the least L is found by bisection,
// and for a later T only an L matters that beats the best plan so far.
std::optional<SharePlan> best_shares(const ShareProblem& problem) {
  require_valid_shares(problem);
  const std::vector<core::Picoseconds> times = possible_times(problem);
  const auto count = static_cast<std::int64_t>(times.size());
  const auto time_at = [&](std::int64_t index) { return times[static_cast<std::size_t>(index)]; };
  const auto fits = [&](core::Picoseconds time, std::int64_t level) {
    return StateRoom(problem, {.time = time, .level = level}).enough();
  };
  const auto ranks = static_cast<std::int64_t>(types_of_ranks(problem).size());
  const std::int64_t least_level = (problem.state + ranks - 1) / ranks;
  std::optional<SharePlan> best;
  for (std::int64_t i = first_that(0, count, [&](std::int64_t at) { return fits(time_at(at), problem.state); });
       i < count; ++i) {
    const core::Picoseconds time = time_at(i);
    // Levels below this one make a better plan.
    const std::int64_t no_better =
        best ? first_that(least_level, problem.state + 1,
                          [&](std::int64_t level) { return time + collective_time(problem, level) >= best->step_time; })
             : problem.state + 1;
    if (no_better <= least_level) break;
    if (!fits(time, no_better - 1)) continue;
    const std::int64_t level = first_that(least_level, no_better - 1, [&](std::int64_t at) { return fits(time, at); });
    const StateRoom room(problem, {.time = time, .level = level});
    best = priced(problem, poured(problem, room.samples(), level));
    CAIRN_ASSERT(best.has_value());
  }
  return best;
}

}  // namespace cairn::allotment
