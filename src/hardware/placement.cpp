#include "cairn/hardware/placement.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"

namespace cairn::hardware {
namespace {

std::int64_t members_of(const std::vector<Axis>& axes) {
  return std::accumulate(axes.begin(), axes.end(), std::int64_t{1},
                         [](std::int64_t n, const Axis& axis) { return n * axis.size; });
}

void check_axes(const std::vector<Axis>& axes, std::int64_t world, const Network& network) {
  std::int64_t extent = 1;
  for (const Axis& axis : axes) {
    if (axis.size < 1 || axis.stride < 1 || axis.stride % extent != 0) {
      throw core::ConfigurationError("strategy.order",
                                     "a group of extent " + std::to_string(axis.size) + " and stride " +
                                         std::to_string(axis.stride) + " is no digit of the rank",
                                     "order the axes inner to outer");
    }
    extent = axis.size * axis.stride;
  }
  if (world < 1 || world % extent != 0) {
    throw core::ConfigurationError(
        "strategy", "groups of extent " + std::to_string(extent) + " do not tile " + std::to_string(world) + " ranks",
        "make the degrees multiply to the number of accelerators");
  }
  if (world > network.gpus()) {
    throw core::ConfigurationError(
        "cluster.nodes", std::to_string(world) + " ranks on " + std::to_string(network.gpus()) + " accelerators",
        "add nodes or lower a degree");
  }
}

// Coordinates of an axis inside one domain, when the axis lies evenly.
std::optional<std::int64_t> inside_evenly(const Axis& axis, std::int64_t domain) {
  if (axis.size == 1) return 1;
  if (domain % (axis.size * axis.stride) == 0) return axis.size;
  if (axis.stride % domain == 0) return 1;
  if (domain % axis.stride == 0 && axis.size % (domain / axis.stride) == 0) return domain / axis.stride;
  return std::nullopt;
}

std::optional<LevelPlacement> place_evenly(const std::vector<Axis>& axes, std::int64_t world, std::int64_t domain) {
  const std::int64_t size = members_of(axes);
  if (domain >= world) return LevelPlacement{.domains = 1, .fewest = size, .most = size, .leaving_groups = 0};
  if (world % domain != 0) return std::nullopt;
  std::int64_t inside = 1;
  for (const Axis& axis : axes) {
    const std::optional<std::int64_t> part = inside_evenly(axis, domain);
    if (!part) return std::nullopt;
    inside *= *part;
  }
  return LevelPlacement{.domains = size / inside,
                        .fewest = inside,
                        .most = inside,
                        .leaving_groups = inside == size ? 0 : domain / inside};
}

// The lowest rank of the group of `rank`: its coordinates along the axes removed.
std::int64_t base_of(std::int64_t rank, const std::vector<Axis>& axes) {
  std::int64_t base = rank;
  for (const Axis& axis : axes) base -= (rank / axis.stride % axis.size) * axis.stride;
  return base;
}

LevelPlacement count_ranks(const std::vector<Axis>& axes, std::int64_t world, std::int64_t domain) {
  std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> members;  // group -> domain -> members
  for (std::int64_t rank = 0; rank < world; ++rank) ++members[base_of(rank, axes)][rank / domain];
  std::map<std::int64_t, std::int64_t> leaving;  // domain -> groups with members elsewhere too
  LevelPlacement result{.domains = 1, .fewest = members_of(axes), .most = 1, .leaving_groups = 0};
  for (const auto& [base, parts] : members) {
    result.domains = std::max(result.domains, static_cast<std::int64_t>(parts.size()));
    for (const auto& [at, count] : parts) {
      result.fewest = std::min(result.fewest, count);
      result.most = std::max(result.most, count);
      if (parts.size() > 1) result.leaving_groups = std::max(result.leaving_groups, ++leaving[at]);
    }
  }
  return result;
}

}  // namespace

std::size_t GroupPlacement::enclosing_level() const {
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (levels[i].domains == 1) return i;
  }
  return levels.size() - 1;
}

bool GroupPlacement::even() const {
  return std::all_of(levels.begin(), levels.end(), [](const LevelPlacement& level) { return level.even(); });
}

GroupPlacement place(const std::vector<Axis>& axes, std::int64_t world, const Network& network) {
  check_axes(axes, world, network);
  GroupPlacement placement{.size = members_of(axes)};
  placement.levels.reserve(network.levels.size());
  for (const NetworkLevel& level : network.levels) {
    const std::optional<LevelPlacement> even = place_evenly(axes, world, level.domain);
    placement.levels.push_back(even ? *even : count_ranks(axes, world, level.domain));
  }
  return placement;
}

}  // namespace cairn::hardware
