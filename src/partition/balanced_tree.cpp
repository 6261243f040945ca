#include "cairn/partition/balanced_tree.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "cairn/partition/chain_cut.h"

namespace cairn::partition {
namespace {

constexpr double k_whole_model = 1e12;

void gather_modules(const Module& module, std::vector<const Module*>& all) {
  all.push_back(&module);
  for (const Module& child : module.children) gather_modules(child, all);
}

std::int64_t total_of(const std::vector<const Module*>& modules, std::int64_t Module::*part) {
  std::int64_t total = 0;
  for (const Module* const each : modules) {
    const std::int64_t cost = each->*part;
    if (cost < 0 || cost > k_most_cost - total)
      throw core::ConfigurationError(
          "modules", fmt::format("{}: {} is below 0, or all modules are more than can be added up", each->name, cost),
          "give picoseconds and bytes of 0 or more");
    total += cost;
  }
  return total;
}

struct DeviceRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// A module by its place in the order of all, each before its children.
struct CostedModule {
  std::int64_t cost = 0;  // with all below it
  std::vector<std::size_t> children;
};

// The ends of `count` segments, none empty, of least maximum cost.
std::vector<std::size_t> segment_ends(std::span<const std::int64_t> costs, std::size_t count) {
  const std::size_t size = costs.size();
  std::vector<std::int64_t> before(size + 1, 0);
  for (std::size_t i = 0; i < size; ++i) before[i + 1] = before[i] + costs[i];
  // least[i]: the least maximum of the first i costs in k segments; from[k][i]: where the last of these begins.
  std::vector<std::int64_t> least(size + 1, std::numeric_limits<std::int64_t>::max());
  least[0] = 0;
  std::vector<std::vector<std::size_t>> from(count + 1, std::vector<std::size_t>(size + 1, 0));
  for (std::size_t k = 1; k <= count; ++k) {
    std::vector<std::int64_t> next(size + 1, std::numeric_limits<std::int64_t>::max());
    for (std::size_t i = k; i <= size; ++i)
      for (std::size_t j = k - 1; j < i; ++j) {
        const std::int64_t most = std::max(least[j], before[i] - before[j]);
        if (most >= next[i]) continue;
        next[i] = most;
        from[k][i] = j;
      }
    least.swap(next);
  }
  std::vector<std::size_t> ends(count);
  std::size_t end = size;
  for (std::size_t k = count; k > 0; --k) {
    ends[k - 1] = end;
    end = from[k][end];
  }
  CAIRN_ASSERT(end == 0);
  return ends;
}

// How many of `seats` each of the costs wins by d'Hondt's method.
std::vector<std::int64_t> seats_won(std::span<const std::int64_t> costs, std::int64_t seats) {
  std::vector<std::int64_t> won(costs.size(), 0);
  for (; seats > 0; --seats) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < costs.size(); ++i)
      if (costs[i] * (won[best] + 1) > costs[best] * (won[i] + 1)) best = i;
    ++won[best];
  }
  return won;
}

class TreeDivision {
 public:
  TreeDivision(const Module& root, const TreeProblem& problem, std::span<const std::int64_t> own)
      : unserved_(problem.unserved), own_(own), devices_(own.size(), 0) {
    modules_.reserve(own.size());
    add(root);
    give(0, {.first = 0, .count = problem.devices});
  }
  std::vector<std::int64_t> take_devices() { return std::move(devices_); }

 private:
  std::size_t add(const Module& module) {
    const std::size_t index = modules_.size();
    modules_.push_back({.cost = own_[index], .children = {}});
    for (const Module& child : module.children) {
      const std::size_t added = add(child);
      modules_[index].children.push_back(added);
      modules_[index].cost += modules_[added].cost;
    }
    return index;
  }

  void give(std::size_t module, DeviceRange range) {
    devices_[module] = range.first;
    const std::vector<std::size_t>& children = modules_[module].children;
    if (range.count > 1 && !children.empty())
      divide(children, range);
    else
      for (const std::size_t child : children) give(child, {.first = range.first, .count = 1});
  }

  void divide(std::span<const std::size_t> children, DeviceRange range) {
    std::vector<std::int64_t> costs, of_segments;
    for (const std::size_t child : children) costs.push_back(modules_[child].cost);
    const std::vector<std::size_t> ends =
        segment_ends(costs, std::min(static_cast<std::size_t>(range.count), children.size()));
    for (std::size_t i = 0, begin = 0; i < ends.size(); begin = ends[i++]) {
      of_segments.push_back(0);
      for (std::size_t child = begin; child < ends[i]; ++child) of_segments.back() += costs[child];
    }
    const std::vector<std::int64_t> won = seats_won(of_segments, range.count);
    std::int64_t next = range.first;
    for (std::size_t i = 0, begin = 0; i < ends.size(); begin = ends[i++]) {
      const std::span<const std::size_t> segment = children.subspan(begin, ends[i] - begin);
      DeviceRange own{.first = next, .count = won[i]};
      next += won[i];
      if (own.count == 0)
        own = {.first = unserved_ == Unserved::first_of_parent ? range.first : std::max(range.first, next - 1),
               .count = 1};
      if (own.count > 1 && segment.size() > 1)
        divide(segment, own);
      else
        for (const std::size_t child : segment) give(child, own);
    }
    CAIRN_ASSERT(next == range.first + range.count);
  }

  Unserved unserved_;
  std::span<const std::int64_t> own_;
  std::vector<CostedModule> modules_;
  std::vector<std::int64_t> devices_;
};

}  // namespace

std::vector<std::int64_t> normalized_costs(const Module& root, double memory_weight) {
  if (!(memory_weight >= 0.0 && memory_weight <= 1.0))
    throw core::ConfigurationError("memory_weight", fmt::format("{} is out of range", memory_weight),
                                   "give a number from 0, for time alone, to 1, for memory alone");
  std::vector<const Module*> modules;
  gather_modules(root, modules);
  const auto time = static_cast<double>(total_of(modules, &Module::time));
  const auto memory = static_cast<double>(total_of(modules, &Module::memory));
  if (!(time > 0.0 && memory_weight < 1.0) && !(memory > 0.0 && memory_weight > 0.0))
    throw core::ConfigurationError("modules", "no module costs anything", "give times, or bytes and a weight of them");
  std::vector<std::int64_t> result;
  for (const Module* const each : modules) {
    double share = 0.0;
    if (time > 0.0) share += (1.0 - memory_weight) * (static_cast<double>(each->time) / time);
    if (memory > 0.0) share += memory_weight * (static_cast<double>(each->memory) / memory);
    result.push_back(std::llround(share * k_whole_model));
  }
  return result;
}

TreePartition partition_tree(const Module& root, const TreeProblem& problem) {
  if (problem.devices < 1 || problem.devices > k_most_parts)
    throw core::ConfigurationError("devices", fmt::format("{} is out of range", problem.devices),
                                   "give between 1 and 1,000,000 devices");
  const std::vector<std::int64_t> own = normalized_costs(root, problem.memory_weight);
  TreePartition result{.device = TreeDivision(root, problem, own).take_devices(),
                       .load = std::vector<std::int64_t>(static_cast<std::size_t>(problem.devices), 0)};
  for (std::size_t i = 0; i < own.size(); ++i) result.load[static_cast<std::size_t>(result.device[i])] += own[i];
  result.most = *std::max_element(result.load.begin(), result.load.end());
  return result;
}

}  // namespace cairn::partition
