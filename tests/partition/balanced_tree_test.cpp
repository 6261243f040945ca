#include "cairn/partition/balanced_tree.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "cairn/core/diagnostics.h"
#include "cairn/partition/chain_cut.h"
#include "catch.h"
#include "random_costs.h"

namespace cairn::partition {
namespace {

constexpr std::int64_t k_tenth = 100'000'000'000;  // of 1e12 shares

Module module_of(std::int64_t time, std::vector<Module> children = {}) {
  return {.name = "", .time = time, .memory = 0, .children = std::move(children)};
}

Module flat_tree(const std::vector<std::int64_t>& times) {
  Module root;
  for (const std::int64_t time : times) root.children.push_back(module_of(time));
  return root;
}

Module random_tree(std::size_t depth, core::Random& random) {
  Module module{.name = "m",
                .time = static_cast<std::int64_t>(random.below(100)),
                .memory = static_cast<std::int64_t>(random.below(1000)),
                .children = {}};
  if (depth == 0) return module;
  const std::uint64_t children = random.below(6);
  for (std::uint64_t i = 0; i < children; ++i) module.children.push_back(random_tree(depth - 1, random));
  return module;
}

Module scaled_tree(Module module, std::int64_t time, std::int64_t memory) {
  module.time *= time;
  module.memory *= memory;
  for (Module& child : module.children) child = scaled_tree(child, time, memory);
  return module;
}

std::size_t modules_in(const Module& module) {
  std::size_t count = 1;
  for (const Module& child : module.children) count += modules_in(child);
  return count;
}

// Of every cut into `parts` parts that are not empty: the largest and the smallest part.
void for_every_cut(const std::vector<std::int64_t>& costs, std::size_t begin, std::size_t parts, std::int64_t largest,
                   std::int64_t smallest, const std::function<void(std::int64_t, std::int64_t)>& see) {
  std::int64_t part = 0;
  for (std::size_t end = begin + 1; end <= costs.size(); ++end) {
    part += costs[end - 1];
    const std::int64_t most = std::max(largest, part), least = std::min(smallest, part);
    if (parts == 1 && end == costs.size()) see(most, least);
    if (parts > 1) for_every_cut(costs, end, parts - 1, most, least, see);
  }
}

}  // namespace

// A = 2 + 2 + 2, B = 3, C = 1 on four devices: A wins devices 0 to 2, B wins 3, C none. In the order of execution
// 2 2 2 3 1, no four consecutive parts are below 4; C beside the first part of A is no such cut, and below it.
TEST_CASE("The tree of the header's example") {
  const Module root =
      module_of(0, {module_of(0, {module_of(2), module_of(2), module_of(2)}), module_of(3), module_of(1)});
  const TreePartition published = partition_tree(root, {.devices = 4, .memory_weight = 0.0});
  CHECK(published.device == std::vector<std::int64_t>{0, 0, 0, 1, 2, 3, 0});
  CHECK(published.load == std::vector<std::int64_t>{3 * k_tenth, 2 * k_tenth, 2 * k_tenth, 3 * k_tenth});
  const TreePartition ascending =
      partition_tree(root, {.devices = 4, .memory_weight = 0.0, .unserved = Unserved::device_before});
  CHECK(ascending.device == std::vector<std::int64_t>{0, 0, 0, 1, 2, 3, 3});
  CHECK(ascending.most == 4 * k_tenth);
  CHECK(cut_chain(normalized_costs(root, 0.0), 4).most == 4 * k_tenth);
}

// d'Hondt gives the quotients 8, 4 and 8/3 their devices, all of the one module that cannot use them, so that the
// others share its device: 10 tenths, where 8 is possible.
TEST_CASE("One module that costs far more than others wins devices that it cannot use") {
  const Module root = flat_tree({8, 1, 1});
  const TreePartition published = partition_tree(root, {.devices = 3, .memory_weight = 0.0});
  CHECK(published.device == std::vector<std::int64_t>{0, 0, 0, 0});
  CHECK(published.most == 10 * k_tenth);
  const TreePartition ascending =
      partition_tree(root, {.devices = 3, .memory_weight = 0.0, .unserved = Unserved::device_before});
  CHECK(ascending.device == std::vector<std::int64_t>{0, 0, 2, 2});
  CHECK(ascending.most == 8 * k_tenth);
}

// Five children on three devices: the cut of least maximum is 3 | 3 | 1 1 2, of 3, 3 and 4 tenths; its segments win a
// device each.
TEST_CASE("Children are cut into as many segments as there are devices") {
  const TreePartition result = partition_tree(flat_tree({3, 3, 1, 1, 2}), {.devices = 3, .memory_weight = 0.0});
  CHECK(result.device == std::vector<std::int64_t>{0, 0, 1, 2, 2, 2});
  CHECK(result.most == 4 * k_tenth);
}

// The common example of d'Hondt's method: 100, 80, 30 and 20 thousand votes for 8 seats give 4, 3, 1 and none, where
// the divisors 1, 3, 5 of Sainte-Lague would give 3, 3, 1 and 1.
TEST_CASE("Devices are won as seats are by d'Hondt's method") {
  Module root;
  for (const std::size_t votes : {100, 80, 30, 20})
    root.children.push_back(module_of(0, std::vector<Module>(votes / 5, module_of(5))));
  const TreePartition result = partition_tree(root, {.devices = 8, .memory_weight = 0.0});
  std::vector<std::int64_t> last(4);
  std::size_t module = 1;
  for (std::size_t party = 0; party < 4; ++party) {
    const std::size_t end = module + 1 + root.children[party].children.size();
    last[party] = result.device[end - 1];
    module = end;
  }
  CHECK(last == std::vector<std::int64_t>{3, 6, 7, 0});
}

// Shares by hand: times 1 and 3, bytes 6 and 2. w = 0.25: 0.75/4 + 0.25*6/8 = 0.375, and the rest, 0.625.
TEST_CASE("The cost of a module is a convex combination of its shares of time and memory") {
  Module root;
  root.children = {{.name = "a", .time = 1, .memory = 6}, {.name = "b", .time = 3, .memory = 2}};
  CHECK(normalized_costs(root, 0.25) == std::vector<std::int64_t>{0, 375'000'000'000, 625'000'000'000});
  CHECK(normalized_costs(root, 0.0) == std::vector<std::int64_t>{0, 250'000'000'000, 750'000'000'000});
  CHECK(normalized_costs(root, 1.0) == std::vector<std::int64_t>{0, 750'000'000'000, 250'000'000'000});
}

TEST_CASE("A tree of modules is placed whole, in order, and never below the optimum, on 3,000 random trees") {
  core::Random random(8);
  int best = 0, devices_idle = 0, deep = 0;
  for (int i = 0; i < 3000; ++i) {
    Module root = random_tree(3, random);
    root.time += 1;
    const double weight = static_cast<double>(random.below(5)) / 4;
    root.memory += 1;
    const std::int64_t devices = 1 + static_cast<std::int64_t>(random.below(9));
    const std::vector<std::int64_t> costs = normalized_costs(root, weight);
    REQUIRE(costs.size() == modules_in(root));
    deep += costs.size() > 20;
    TreeProblem problem{.devices = devices, .memory_weight = weight, .unserved = Unserved::device_before};
    const TreePartition ascending = partition_tree(root, problem);
    problem.unserved = Unserved::first_of_parent;
    const TreePartition published = partition_tree(root, problem);
    for (const TreePartition& each : {ascending, published}) {
      REQUIRE(each.device.size() == costs.size());
      REQUIRE(static_cast<std::int64_t>(each.load.size()) == devices);
      std::vector<std::int64_t> load(each.load.size(), 0);
      for (std::size_t m = 0; m < costs.size(); ++m) load.at(static_cast<std::size_t>(each.device[m])) += costs[m];
      REQUIRE(each.load == load);
      REQUIRE(each.most == *std::max_element(load.begin(), load.end()));
      const std::int64_t sum = std::accumulate(costs.begin(), costs.end(), std::int64_t{0});
      REQUIRE(each.most * devices >= sum);
      REQUIRE(each.most >= *std::max_element(costs.begin(), costs.end()));
    }
    // In the order of execution devices ascend, so that each has consecutive modules.
    REQUIRE(std::is_sorted(ascending.device.begin(), ascending.device.end()));
    const std::int64_t least = cut_chain(costs, devices).most;
    REQUIRE(ascending.most >= least);
    best += ascending.most == least;
    devices_idle += std::count(ascending.load.begin(), ascending.load.end(), 0) > 0;
  }
  INFO("of 3,000: " << best << " reach the optimum, " << devices_idle << " leave a device idle");
  CHECK(best > 300);
  CHECK(best < 2700);
  CHECK(devices_idle > 30);
  CHECK(deep > 500);
}

// The condition of the header, for every optimal cut, since any of them may be taken. It is not necessary.
TEST_CASE("On flat trees whose segments are alike the result is the optimum, on 3,000 random chains") {
  core::Random random(9);
  int alike = 0, different = 0, worse = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::size_t devices = 1 + random.below(4);
    std::vector<std::int64_t> times(devices + random.below(11 - devices));
    for (std::int64_t& time : times) time = 1 + static_cast<std::int64_t>(random.below(30));
    const Module root = flat_tree(times);
    const std::vector<std::int64_t> shares = normalized_costs(root, 0.0);
    const std::vector<std::int64_t> costs(shares.begin() + 1, shares.end());
    std::int64_t least_most = 2'000'000'000'000, thinnest = 0;
    for_every_cut(costs, 0, devices, 0, least_most, [&](std::int64_t most, std::int64_t least) {
      if (most < least_most) thinnest = least;
      if (most == least_most) thinnest = std::min(thinnest, least);
      least_most = std::min(least_most, most);
    });
    const TreePartition result = partition_tree(
        root,
        {.devices = static_cast<std::int64_t>(devices), .memory_weight = 0.0, .unserved = Unserved::device_before});
    REQUIRE(result.most >= least_most);
    if (least_most < 2 * thinnest) REQUIRE(result.most == least_most);
    alike += devices > 1 && least_most < 2 * thinnest;
    different += least_most >= 2 * thinnest;
    worse += result.most > least_most;
  }
  INFO("of 3,000: " << alike << " alike over several devices, " << different << " not, " << worse << " not optimal");
  CHECK(alike > 500);
  CHECK(different > 500);
  CHECK(worse > 0);
}

TEST_CASE("A tree is divided alike when all times or all bytes are in another unit") {
  core::Random random(10);
  for (int i = 0; i < 300; ++i) {
    Module root = random_tree(3, random);
    root.time += 1;
    const TreeProblem problem{.devices = 1 + static_cast<std::int64_t>(random.below(9)), .memory_weight = 0.3};
    const TreePartition one = partition_tree(root, problem);
    const auto factor = [&] { return 1 + static_cast<std::int64_t>(random.below(1'000'000)); };
    const TreePartition other = partition_tree(scaled_tree(root, factor(), factor()), problem);
    REQUIRE(other.device == one.device);
    REQUIRE(other.load == one.load);
  }
}

TEST_CASE("A module with one device keeps all that is below it") {
  const Module root = module_of(1, {module_of(2, {module_of(3), module_of(4)}), module_of(5)});
  CHECK(partition_tree(root, {.devices = 1}).device == std::vector<std::int64_t>{0, 0, 0, 0, 0});
  // 9 and 5 on two devices: one each.
  CHECK(partition_tree(root, {.devices = 2}).device == std::vector<std::int64_t>{0, 0, 0, 0, 1});
}

TEST_CASE("What no tree can be divided by is refused") {
  const Module root = flat_tree({1, 2});
  CHECK_THROWS_AS(partition_tree(root, {.devices = 0}), core::ConfigurationError);
  CHECK_THROWS_AS(partition_tree(root, {.devices = 2, .memory_weight = 1.5}), core::ConfigurationError);
  CHECK_THROWS_AS(partition_tree(root, {.devices = 2, .memory_weight = std::nan("")}), core::ConfigurationError);
  CHECK_THROWS_AS(partition_tree(root, {.devices = 2, .memory_weight = 1.0}), core::ConfigurationError);
  CHECK_THROWS_AS(partition_tree(flat_tree({1, -1}), {.devices = 2}), core::ConfigurationError);
  CHECK_THROWS_AS(partition_tree(flat_tree({k_most_cost, 1}), {.devices = 2}), core::ConfigurationError);
}

}  // namespace cairn::partition
