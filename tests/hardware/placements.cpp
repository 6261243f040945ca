// Group placement against enumeration: the groups are listed as base + combinations of strides, and counted domain by
// domain.
#include <algorithm>
#include <map>
#include <set>

#include "cairn/hardware/placement.h"
#include "catch.h"
#include "hardware/support.h"

namespace cairn::hardware {
namespace {

Network hierarchy(const std::vector<std::int64_t>& sizes) {
  Network net;
  std::int64_t unit = 1;
  for (const std::int64_t size : sizes) {
    net.levels.push_back(NetworkLevel{.size = size, .unit = unit, .domain = unit * size});
    unit *= size;
  }
  return net;
}

// Every group as the list of its ranks: bases in order, each rank used once.
std::vector<std::vector<std::int64_t>> list_groups(const std::vector<Axis>& axes, std::int64_t world) {
  std::vector<std::int64_t> offsets{0};
  for (const Axis& axis : axes) {
    std::vector<std::int64_t> grown;
    for (std::int64_t i = 0; i < axis.size; ++i) {
      for (const std::int64_t offset : offsets) grown.push_back(offset + i * axis.stride);
    }
    offsets = grown;
  }
  std::vector<std::vector<std::int64_t>> groups;
  std::set<std::int64_t> used;
  for (std::int64_t base = 0; base < world; ++base) {
    if (used.count(base) > 0) continue;
    groups.emplace_back();
    for (const std::int64_t offset : offsets) {
      REQUIRE(used.insert(base + offset).second);
      groups.back().push_back(base + offset);
    }
  }
  REQUIRE(static_cast<std::int64_t>(used.size()) == world);
  return groups;
}

LevelPlacement enumerate(const std::vector<std::vector<std::int64_t>>& groups, std::int64_t domain) {
  LevelPlacement result{
      .domains = 0, .fewest = static_cast<std::int64_t>(groups.front().size()), .most = 0, .leaving_groups = 0};
  std::map<std::int64_t, std::int64_t> leaving;
  for (const auto& group : groups) {
    std::map<std::int64_t, std::int64_t> inside;
    for (const std::int64_t rank : group) ++inside[rank / domain];
    result.domains = std::max(result.domains, static_cast<std::int64_t>(inside.size()));
    for (const auto& [at, count] : inside) {
      result.fewest = std::min(result.fewest, count);
      result.most = std::max(result.most, count);
      if (inside.size() > 1) ++leaving[at];
    }
  }
  for (const auto& [at, count] : leaving) result.leaving_groups = std::max(result.leaving_groups, count);
  return result;
}

}  // namespace

TEST_CASE("tensor, data and pipeline groups of four nodes of eight", "[hardware][placement]") {
  // Order tp 2, dp 4, pp 4. One node holds tp x dp = 8 ranks: both groups stay inside; each pipeline group has one rank
  // per node.
  const Network net = hierarchy({8, 4});
  CHECK(place({{2, 1}}, 32, net).levels == std::vector<LevelPlacement>{{1, 2, 2, 0}, {1, 2, 2, 0}});
  CHECK(place({{4, 2}}, 32, net).levels == std::vector<LevelPlacement>{{1, 4, 4, 0}, {1, 4, 4, 0}});
  CHECK(place({{4, 8}}, 32, net).levels == std::vector<LevelPlacement>{{4, 1, 1, 8}, {1, 4, 4, 0}});
  CHECK(place({{4, 8}}, 32, net).enclosing_level() == 1);
  CHECK(place({{2, 1}}, 32, net).enclosing_level() == 0);
  // A tensor group over two nodes: eight members in each, one group on a node's NICs.
  CHECK(place({{16, 1}}, 32, net).levels[0] == LevelPlacement{2, 8, 8, 1});
  // dp 8 at stride 4: two members per node, four groups share the NICs.
  CHECK(place({{8, 4}}, 32, net).levels[0] == LevelPlacement{4, 2, 2, 4});
}

TEST_CASE("groups that straddle nodes unevenly", "[hardware][placement]") {
  // tp 6 on nodes of 4, 12 ranks: 0-5 puts 4 + 2, 6-11 puts 2 + 4; node 1 sees both groups leave.
  const GroupPlacement placed = place({{6, 1}}, 12, hierarchy({4, 3}));
  CHECK(placed.levels[0] == LevelPlacement{2, 2, 4, 2});
  CHECK_FALSE(placed.even());
  // tp 3 on nodes of 8, 24 ranks: {6, 7, 8} has 2 + 1, {15, 16, 17} 1 + 2; most stay whole.
  CHECK(place({{3, 1}}, 24, hierarchy({8, 3})).levels[0] == LevelPlacement{2, 1, 3, 2});
}

TEST_CASE("placement equals enumeration for every small mesh", "[hardware][placement]") {
  int cases = 0;
  for (const std::vector<std::int64_t>& sizes :
       {std::vector<std::int64_t>{8, 6}, {4, 12}, {6, 8}, {2, 2, 12}, {3, 4, 4}, {48}, {1, 48}, {5, 10}}) {
    const Network net = hierarchy(sizes);
    for (const std::int64_t world : {48, 24, 36, 40}) {
      if (world > net.gpus()) continue;
      for (std::int64_t stride = 1; stride <= world; ++stride) {
        for (std::int64_t size = 1; size * stride <= world; ++size) {
          if (world % (size * stride) != 0) continue;
          std::vector<std::vector<Axis>> choices{{{size, stride}}};
          for (std::int64_t outer = 2; size * stride * outer <= world;
               ++outer) {  // a second axis, next to it or with a gap
            for (const std::int64_t gap : {1, 2, 3}) {
              if (world % (size * stride * gap * outer) == 0)
                choices.push_back({{size, stride}, {outer, size * stride * gap}});
            }
          }
          for (const auto& axes : choices) {
            const GroupPlacement placed = place(axes, world, net);
            const auto groups = list_groups(axes, world);
            for (std::size_t i = 0; i < net.levels.size(); ++i) {
              if (!(placed.levels[i] == enumerate(groups, net.levels[i].domain))) {
                CAPTURE(world, size, stride, axes.size(), net.levels[i].domain);
                CHECK(placed.levels[i] == enumerate(groups, net.levels[i].domain));
              }
              ++cases;
            }
          }
        }
      }
    }
  }
  CHECK(cases > 1000);
}

TEST_CASE("axes that are no digits of the rank are refused", "[hardware][placement]") {
  const Network net = hierarchy({8, 4});
  CHECK_THROWS_AS(place({{3, 1}}, 32, net), core::ConfigurationError);          // 3 does not tile 32
  CHECK_THROWS_AS(place({{2, 1}, {2, 3}}, 12, net), core::ConfigurationError);  // stride 3 above an extent of 2
  CHECK_THROWS_AS(place({{2, 1}}, 64, net), core::ConfigurationError);          // more ranks than accelerators
}

}  // namespace cairn::hardware
