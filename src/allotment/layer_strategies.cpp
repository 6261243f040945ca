#include "cairn/allotment/layer_strategies.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"

namespace cairn::allotment {
namespace {

// Adds `most` to the sum of the largest values so far; past `limit` some choice would have no sum.
void add_largest(std::int64_t& sum, std::int64_t most, std::int64_t limit, const std::string& key) {
  if (most > limit - sum)
    throw core::ConfigurationError(key, fmt::format("sums over the layers reach beyond {}", limit),
                                   "give times in picoseconds and memory in bytes, of one device");
  sum += most;
}

void require_not_negative(std::int64_t value, const std::string& key) {
  if (value < 0) throw core::ConfigurationError(key, fmt::format("{} is negative", value), "give 0 or more");
}

// R as a table: of[l] has a row for each strategy of layer l and a column for each one of layer l + 1.
struct ChangeTable {
  std::vector<std::vector<core::Picoseconds>> of;
};

ChangeTable change_table(const LayerProblem& problem, core::Picoseconds& most_time) {
  ChangeTable changes;
  for (std::size_t l = 0; l + 1 < problem.layers.size(); ++l) {
    std::vector<core::Picoseconds>& times = changes.of.emplace_back();
    for (std::size_t from = 0; from < problem.layers[l].size(); ++from)
      for (std::size_t to = 0; to < problem.layers[l + 1].size(); ++to) {
        times.push_back(problem.change_time ? problem.change_time(l, from, to) : 0);
        require_not_negative(times.back(), fmt::format("layers[{}].change_time", l));
      }
    add_largest(most_time, *std::max_element(times.begin(), times.end()), core::k_reach,
                fmt::format("layers[{}].change_time", l));
  }
  return changes;
}

ChangeTable require_valid_layers(const LayerProblem& problem) {
  core::Picoseconds most_time = 0;
  std::int64_t most_memory = 0;
  for (std::size_t l = 0; l < problem.layers.size(); ++l) {
    const std::string key = fmt::format("layers[{}]", l);
    if (problem.layers[l].empty())
      throw core::ConfigurationError(key, "the layer has no strategy", "give each layer one or more");
    LayerStrategy most;
    for (const LayerStrategy& each : problem.layers[l]) {
      require_not_negative(each.time, key + ".time");
      require_not_negative(each.memory, key + ".memory");
      most = {.time = std::max(most.time, each.time), .memory = std::max(most.memory, each.memory)};
    }
    add_largest(most_time, most.time, core::k_reach, key + ".time");
    add_largest(most_memory, most.memory, std::numeric_limits<std::int64_t>::max(), key + ".memory");
  }
  return change_table(problem, most_time);
}

core::Picoseconds change_time(const LayerProblem& problem, const ChangeTable& changes, std::size_t to_layer,
                              std::size_t from, std::size_t to) {
  if (to_layer == 0) return 0;
  return changes.of[to_layer - 1][from * problem.layers[to_layer].size() + to];
}

// The first layers, up to one that takes `strategy`.
struct PartialChoice {
  std::int64_t memory = 0;
  core::Picoseconds time = 0;
  std::size_t strategy = 0;
  std::size_t before = 0;  // index of what it continues, among those kept of the layer before
};

// Those that no other one beats in both memory and time: ascending in memory, descending in time.
std::vector<PartialChoice> undominated(std::vector<PartialChoice> all) {
  std::sort(all.begin(), all.end(), [](const PartialChoice& a, const PartialChoice& b) {
    return std::tie(a.memory, a.time, a.before) < std::tie(b.memory, b.time, b.before);
  });
  std::vector<PartialChoice> kept;
  for (const PartialChoice& each : all)
    if (kept.empty() || each.time < kept.back().time) kept.push_back(each);
  return kept;
}

// What is left of the capacity for the layers up to l when all later ones take their least memory; for every l.
std::vector<std::int64_t> room_up_to(const LayerProblem& problem) {
  std::vector<std::int64_t> room(problem.layers.size(), problem.capacity);
  for (std::size_t l = room.size(); l-- > 1;) {
    const std::vector<LayerStrategy>& own = problem.layers[l];
    const auto least = std::min_element(
        own.begin(), own.end(), [](const LayerStrategy& a, const LayerStrategy& b) { return a.memory < b.memory; });
    room[l - 1] = room[l] - least->memory;
  }
  return room;
}

// Steps of a table over budgets of whole units.
class UnitTable {
 public:
  UnitTable(const LayerProblem& problem, const ChangeTable& changes, std::int64_t unit)
      : problem_(problem), changes_(changes), unit_(unit), budget_(problem.capacity / unit) {
    std::int64_t most = 0;  // more budget than all layers can use needs no column
    std::size_t strategies = 0;
    for (const std::vector<LayerStrategy>& layer : problem.layers) {
      std::int64_t most_of_layer = 0;
      for (const LayerStrategy& each : layer) most_of_layer = std::max(most_of_layer, units(each));
      most = most > budget_ - most_of_layer ? budget_ : most + most_of_layer;
      strategies += layer.size();
    }
    budget_ = std::min(budget_, most);
    const double cells = static_cast<double>(strategies) * (static_cast<double>(budget_) + 1.0);
    if (cells > k_most_cells)
      throw core::ConfigurationError(
          "unit",
          fmt::format("units of {} bytes need {:.1e} cells, at most {:.1e} are held", unit, cells, k_most_cells),
          "give a larger unit");
  }

  std::optional<LayerChoice> fastest() {
    times_.assign(columns(), 0);
    for (std::size_t l = 0; l < problem_.layers.size(); ++l) add_layer(l);
    LayerChoice choice{.examined = examined_};
    if (problem_.layers.empty()) return choice;
    const std::size_t width = problem_.layers.back().size();
    const auto last = times_.end() - static_cast<std::ptrdiff_t>(width);  // all of the budget
    const auto least = std::min_element(last, times_.end());
    if (*least == k_unreachable) return std::nullopt;
    choice.time = *least;
    choice.strategies.assign(problem_.layers.size(), 0);
    auto strategy = static_cast<std::size_t>(least - last);
    std::int64_t left = budget_;
    for (std::size_t l = problem_.layers.size(); l-- > 0;) {
      const LayerStrategy& own = problem_.layers[l][strategy];
      choice.strategies[l] = strategy;
      choice.memory += own.memory;
      strategy = before_[l][static_cast<std::size_t>(left) * problem_.layers[l].size() + strategy];
      left -= units(own);
    }
    CAIRN_ASSERT(left >= 0 && choice.memory <= problem_.capacity);
    return choice;
  }

 private:
  static constexpr core::Picoseconds k_unreachable = std::numeric_limits<core::Picoseconds>::max();

  std::size_t columns() const { return static_cast<std::size_t>(budget_) + 1; }
  std::int64_t units(const LayerStrategy& strategy) const {
    return strategy.memory / unit_ + (strategy.memory % unit_ != 0 ? 1 : 0);
  }

  // From C(l - 1, ., .) to C(l, ., .): times_ has a row for each budget and a column for each strategy of the layer.
  void add_layer(std::size_t l) {
    const std::vector<LayerStrategy>& own = problem_.layers[l];
    const std::size_t width_before = l == 0 ? 1 : problem_.layers[l - 1].size();
    std::vector<core::Picoseconds> times(columns() * own.size(), k_unreachable);
    std::vector<std::uint32_t>& before = before_.emplace_back(times.size(), 0);
    for (std::size_t s = 0; s < own.size(); ++s) {
      if (units(own[s]) > budget_) continue;
      const auto needed = static_cast<std::size_t>(units(own[s]));
      for (std::size_t column = needed; column < columns(); ++column) {
        const std::size_t cell = column * own.size() + s;
        for (std::size_t from = 0; from < width_before; ++from) {
          const core::Picoseconds so_far = times_[(column - needed) * width_before + from];
          ++examined_;
          if (so_far == k_unreachable) continue;
          const core::Picoseconds time = so_far + change_time(problem_, changes_, l, from, s) + own[s].time;
          if (time >= times[cell]) continue;
          times[cell] = time;
          before[cell] = static_cast<std::uint32_t>(from);
        }
      }
    }
    times_ = std::move(times);
  }

  const LayerProblem& problem_;
  const ChangeTable& changes_;
  std::int64_t unit_;
  std::int64_t budget_;  // units
  std::vector<core::Picoseconds> times_;
  std::vector<std::vector<std::uint32_t>> before_;  // by layer: the strategy of the layer before
  std::size_t examined_ = 0;
};

// Every way to go on outwards to inwards: a kind that `taken` leaves, with each degree that divides what is left.
void add_leaves(std::int64_t left, std::vector<ParallelDegree>& taken, std::vector<ParallelStrategy>& leaves) {
  if (left == 1) {
    leaves.push_back({.degrees = taken});
    return;
  }
  const auto is_data = [](LayerParallelism kind) { return kind != LayerParallelism::tensor; };
  for (const LayerParallelism kind :
       {LayerParallelism::data, LayerParallelism::sharded_data, LayerParallelism::tensor}) {
    if (std::any_of(taken.begin(), taken.end(),
                    [&](const ParallelDegree& each) { return is_data(each.kind) == is_data(kind); }))
      continue;
    for (std::int64_t degree = 2; degree <= left; degree *= 2) {
      taken.push_back({.kind = kind, .degree = degree});
      add_leaves(left / degree, taken, leaves);
      taken.pop_back();
      if (degree > left / 2) break;  // twice the largest power of two is no number of 64 bits
    }
  }
}

}  // namespace

std::optional<LayerChoice> fastest_strategies(const LayerProblem& problem) {
  const ChangeTable changes = require_valid_layers(problem);
  if (problem.capacity < 0) return std::nullopt;
  const std::vector<std::int64_t> room = room_up_to(problem);
  std::vector<std::vector<PartialChoice>> kept = {{PartialChoice{}}};  // before layer 0: nothing is chosen
  LayerChoice choice;
  for (std::size_t l = 0; l < problem.layers.size(); ++l) {
    std::vector<PartialChoice> next;
    for (std::size_t s = 0; s < problem.layers[l].size(); ++s) {
      const LayerStrategy& own = problem.layers[l][s];
      std::vector<PartialChoice> all;
      for (std::size_t before = 0; before < kept[l].size(); ++before) {
        const PartialChoice& from = kept[l][before];
        ++choice.examined;
        if (own.memory > room[l] - from.memory) continue;
        all.push_back({.memory = from.memory + own.memory,
                       .time = from.time + change_time(problem, changes, l, from.strategy, s) + own.time,
                       .strategy = s,
                       .before = before});
      }
      for (const PartialChoice& each : undominated(std::move(all))) next.push_back(each);
    }
    kept.push_back(std::move(next));
  }
  const std::vector<PartialChoice>& whole = kept.back();
  if (whole.empty()) return std::nullopt;
  const auto best = std::min_element(whole.begin(), whole.end(), [](const PartialChoice& a, const PartialChoice& b) {
    return std::tie(a.time, a.memory) < std::tie(b.time, b.memory);
  });
  choice.time = best->time;
  choice.memory = best->memory;
  choice.strategies.assign(problem.layers.size(), 0);
  const PartialChoice* at = &*best;
  for (std::size_t l = problem.layers.size(); l-- > 0;) {
    choice.strategies[l] = at->strategy;
    at = &kept[l][at->before];
  }
  return choice;
}

std::optional<LayerChoice> fastest_strategies_by_units(const LayerProblem& problem, std::int64_t unit) {
  if (unit < 1) throw core::ConfigurationError("unit", fmt::format("{} bytes are no unit", unit), "give 1 or more");
  const ChangeTable changes = require_valid_layers(problem);
  if (problem.capacity < 0) return std::nullopt;
  return UnitTable(problem, changes, unit).fastest();
}

std::vector<ParallelStrategy> parallel_strategies(std::int64_t devices, Recomputation recomputation) {
  if (devices < 1 || (devices & (devices - 1)) != 0)
    throw core::ConfigurationError("devices", fmt::format("{} is no power of two", devices),
                                   "give the devices of a stage as 1, 2, 4, 8, ...");
  std::vector<ParallelStrategy> leaves;
  std::vector<ParallelDegree> taken;
  add_leaves(devices, taken, leaves);
  if (recomputation == Recomputation::never) return leaves;
  const std::size_t without = leaves.size();
  for (std::size_t i = 0; i < without; ++i) {
    leaves.push_back(leaves[i]);
    leaves.back().recompute = true;
  }
  return leaves;
}

}  // namespace cairn::allotment
