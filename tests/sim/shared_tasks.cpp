#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "cairn/sim/shared_tasks.h"
#include "catch.h"
#include "support/networks.h"

using namespace cairn;
using core::Picoseconds;
using sim::Demand;
using sim::SharedResources;
using sim::TaskGraph;
using sim::TaskGraphBuilder;
using sim::TaskId;

namespace {

using Times = std::vector<Picoseconds>;

SharedResources resources(std::vector<double> capacity, const std::vector<std::vector<Demand>>& by_task) {
  SharedResources shared{
      .capacity = std::move(capacity), .demand_begin = {0}, .demands = {}, .weight = {}, .changes = {}};
  for (const auto& demands : by_task) {
    shared.demands.insert(shared.demands.end(), demands.begin(), demands.end());
    shared.demand_begin.push_back(static_cast<std::uint32_t>(shared.demands.size()));
  }
  return shared;
}

std::string error_of(const TaskGraph& graph, const SharedResources& shared) {
  try {
    sim::run_shared_events(graph, shared);
  } catch (const core::ConfigurationError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a kernel beside a transfer that takes some of its memory bandwidth") {
  // Stream 1: kernels of 100 and 60 ns, each wanting 0.9 of the memory. Stream 2: a transfer of 66 ns, wanting 0.2.
  // Both at 1/1.1 until the transfer ends at 66 x 1.1 = 72.6 ns; the first kernel has 34 ns left: 106.6; the second
  // alone ends at 166.6 ns. A task without demands of 50 ns takes 50 ns.
  TaskGraphBuilder builder;
  const auto stream = builder.add_resource(sim::Discipline::program_order);
  builder.add_task(100'000, stream);
  builder.add_task(60'000, stream);
  builder.add_task(66'000);
  builder.add_task(50'000);
  const SharedResources shared = resources({1.0}, {{{0, 0.9}}, {{0, 0.9}}, {{0, 0.2}}, {}});
  CHECK(sim::run_shared_events(builder.build(), shared).end == Times{106'600, 166'600, 72'600, 50'000});
}

TEST_CASE("weights of 1 / rate alone share a link by equal rates") {
  // A link of 10 bytes/ns, two transfers that reach 10 and 5 bytes/ns alone, of 100 bytes each: 10 and 20 ns. Equal
  // rates of 5: the fast one ends at 20 ns, as does the slow one. Equal slowing: 10 x + 5 x = 10, x = 2/3: the fast
  // ends at 15 ns with the slow one half done, which then runs at full speed: 25 ns.
  TaskGraphBuilder builder;
  builder.add_task(10'000);
  builder.add_task(20'000);
  SharedResources shared = resources({10.0}, {{{0, 10.0}}, {{0, 5.0}}});
  CHECK(sim::run_shared_events(builder.build(), shared).end == Times{15'000, 25'000});
  shared.weight = {1.0 / 10, 1.0 / 5};
  CHECK(sim::run_shared_events(builder.build(), shared).end == Times{20'000, 20'000});
}

TEST_CASE("a resource that slows down and recovers") {
  // Half of the memory from 10 to 30 ns: a task of 40 ns that wants all of it runs 10, then 10 in 20, then 20: 50 ns.
  TaskGraphBuilder builder;
  builder.add_task(40'000);
  SharedResources shared = resources({1.0}, {{{0, 1.0}}});
  shared.changes = {{.time = 10'000, .link = 0, .capacity = 0.5}, {.time = 30'000, .link = 0, .capacity = 4.0}};
  CHECK(sim::run_shared_events(builder.build(), shared).end == Times{50'000});
}

TEST_CASE("where resources suffice the ends are those of the plain loop, bit for bit") {
  core::Random random(59);
  for (int round = 0; round < 300; ++round) {
    TaskGraphBuilder builder;
    const auto tasks = static_cast<TaskId>(1 + random.below(40));
    std::vector<sim::ResourceId> streams;
    for (int i = 0; i < 3; ++i) streams.push_back(builder.add_resource(sim::Discipline::program_order));
    std::vector<std::vector<Demand>> demands(tasks);
    for (TaskId t = 0; t < tasks; ++t) {
      const std::uint64_t range = std::uint64_t{1} << random.below(50);
      builder.add_task(static_cast<Picoseconds>(random.below(range)), streams[random.below(3)]);
      for (std::uint32_t r = 0; r < 4; ++r)
        if (random.below(2) == 0) demands[t].push_back({r, 0.01 + random.uniform()});
    }
    for (std::uint64_t e = random.below(2 * tasks); e > 0; --e) {
      const auto a = static_cast<TaskId>(random.below(tasks)), b = static_cast<TaskId>(random.below(tasks));
      if (a != b) builder.add_dependency(std::min(a, b), std::max(a, b));
    }
    const TaskGraph graph = builder.build();
    // Three streams never want more than 3 x 1.01 of a resource.
    const sim::TaskTimes shared = sim::run_shared_events(graph, resources({3.1, 3.1, 3.1, 3.1}, demands));
    const sim::TaskTimes plain = sim::run_events(graph);
    REQUIRE(shared.end == plain.end);
    REQUIRE(shared.makespan == plain.makespan);
  }
}

TEST_CASE("transfers as tasks end when flows do") {
  const sim::FlowProblem problem = support::all_to_all(support::Star(8), 0, 1e6, false);
  TaskGraphBuilder builder;
  std::vector<std::vector<Demand>> demands;
  for (const sim::Flow& flow : problem.flows) {
    builder.add_task(core::to_picoseconds(flow.bytes / support::k_link_bandwidth));
    demands.emplace_back();
    for (const sim::LinkId link : problem.routes[flow.route])
      demands.back().push_back({link, support::k_link_bandwidth});
  }
  const Times tasks =
      sim::run_shared_events(builder.build(), resources(std::vector<double>(16, support::k_link_bandwidth), demands))
          .end;
  const Times flows = sim::run_flows(problem).end;
  // Durations are rounded to picoseconds before, by up to 1/2, and up to 7 flows share.
  for (std::size_t f = 0; f < flows.size(); ++f) REQUIRE(std::abs(tasks[f] - flows[f]) <= 5);
}

TEST_CASE("what a caller gets wrong about shared resources is said with its place") {
  TaskGraphBuilder builder;
  builder.add_task(10);
  builder.add_task(10);
  const TaskGraph graph = builder.build();
  const auto has = [&](const SharedResources& shared, const std::string& part) {
    const std::string text = error_of(graph, shared);
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  has(resources({0.0}, {{}, {}}), "resource 0: has no capacity");
  has(resources({1.0}, {{}, {{3, 1.0}}}), "task 1: needs resource 3, which does not exist");
  has(resources({1.0}, {{{0, -1.0}}, {}}), "task 0: needs no valid amount of resource 0");
  has(resources({1.0}, {{{0, std::nan("")}}, {}}), "task 0: needs no valid amount of resource 0");
  SharedResources shared = resources({1.0}, {{{0, 1.0}}, {}});
  shared.weight = {1.0, 0.0};
  has(shared, "task 1: has no valid weight");
  shared.weight.clear();
  shared.changes = {{.time = 5, .link = 0, .capacity = 0.0}};
  has(shared, "task 0: never ends: resource 0 has stopped");
  shared.changes = {{.time = -5, .link = 2, .capacity = 0.0}};
  has(shared, "capacity change 0: is of no resource");
  TaskGraphBuilder cyclic;
  cyclic.add_task(1);
  cyclic.add_task(1);
  cyclic.add_dependency(0, 1);
  cyclic.add_dependency(1, 0);
  CHECK(error_of(cyclic.build(), resources({1.0}, {{{0, 1.0}}, {}})).find("1 -> 0 -> 1") != std::string::npos);
}
