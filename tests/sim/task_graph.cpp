#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "cairn/sim/task_graph.h"
#include "catch.h"

using namespace cairn;
using sim::Discipline;
using sim::TaskGraph;
using sim::TaskGraphBuilder;
using sim::TaskId;

namespace {

using Times = std::vector<core::Picoseconds>;

// Independent: the least solution of the equations, by pushing tasks later until nothing changes.
Times relax(const TaskGraph& graph) {
  Times end(graph.duration);
  for (bool changed = true; changed;) {
    changed = false;
    for (TaskId task = 0; task < graph.tasks(); ++task)
      for (const TaskId after : graph.successors_of(task))
        if (end[after] < end[task] + graph.duration[after]) {
          end[after] = end[task] + graph.duration[after];
          changed = true;
        }
  }
  return end;
}

// Ring all-reduce of `ranks` ranks: step s of rank r follows steps s-1 of ranks r and r-1, 2(ranks-1) steps.
TaskGraph ring(std::uint32_t ranks, core::Picoseconds duration) {
  TaskGraphBuilder builder;
  const std::uint32_t steps = 2 * (ranks - 1);
  for (std::uint32_t i = 0; i < ranks * steps; ++i) builder.add_task(duration);
  for (std::uint32_t s = 0; s + 1 < steps; ++s)
    for (std::uint32_t r = 0; r < ranks; ++r) {
      builder.add_dependency(s * ranks + r, (s + 1) * ranks + r);
      builder.add_dependency(s * ranks + r, (s + 1) * ranks + (r + 1) % ranks);
    }
  return builder.build();
}

std::string error_of(const TaskGraph& graph, sim::TaskTimes (*run)(const TaskGraph&)) {
  try {
    run(graph);
  } catch (const core::ConfigurationError& error) {
    return error.what();
  }
  return {};
}

sim::TaskTimes events(const TaskGraph& graph) { return sim::run_events(graph); }

}  // namespace

TEST_CASE("a diamond, by hand") {
  // 0 (5) -> 1 (10), 2 (1); 1, 2 -> 3 (2): ends 5, 15, 6, 17.
  TaskGraphBuilder builder;
  for (const core::Picoseconds d : {5, 10, 1, 2}) builder.add_task(d);
  for (const auto& [a, b] : std::vector<std::pair<TaskId, TaskId>>{{0, 1}, {0, 2}, {1, 3}, {2, 3}})
    builder.add_dependency(a, b);
  const TaskGraph graph = builder.build();
  CHECK(sim::run_events(graph).end == Times{5, 15, 6, 17});
  CHECK(sim::run_sweep(graph).end == Times{5, 15, 6, 17});
  CHECK(sim::run_events(graph).makespan == 17);
  CHECK(sim::run_sweep(graph).makespan == 17);
}

TEST_CASE("no tasks take no time") {
  const TaskGraph graph = TaskGraphBuilder().build();
  CHECK(sim::run_events(graph).makespan == 0);
  CHECK(sim::run_sweep(graph).makespan == 0);
}

TEST_CASE("ring all-reduce takes 2(P-1) steps") {
  const TaskGraph graph = ring(8, 1000);
  CHECK(sim::run_events(graph).makespan == 14'000);
  CHECK(sim::run_sweep(graph).makespan == 14'000);
}

TEST_CASE("a program-order resource serves by id, whoever is ready first") {
  // Task 1 waits for 0 (10); task 2 would be ready at once but comes after 1 on the same stream: 1: 10-13, 2: 13-17.
  TaskGraphBuilder builder;
  const auto stream = builder.add_resource(Discipline::program_order);
  builder.add_task(10);
  builder.add_task(3, stream);
  builder.add_task(4, stream);
  builder.add_dependency(0, 1);
  const TaskGraph graph = builder.build();
  CHECK(sim::run_events(graph).end == Times{10, 13, 17});
  CHECK(sim::run_sweep(graph).end == Times{10, 13, 17});
}

TEST_CASE("an arrival-order resource serves first come, first served") {
  // As above, but task 2 is there first: 2: 0-4; 1 is ready at 10: 10-13.
  TaskGraphBuilder builder;
  const auto link = builder.add_resource(Discipline::arrival_order);
  builder.add_task(10);
  builder.add_task(3, link);
  builder.add_task(4, link);
  builder.add_dependency(0, 1);
  CHECK(sim::run_events(builder.build()).end == Times{10, 13, 4});
  CHECK_THROWS_AS(sim::run_sweep(builder.build()), core::InternalError);
}

TEST_CASE("arrival order at one instant follows the completions, then the edges") {
  // Tasks 0 and 1 end together at 5, in this order. 0 releases 4 then 3, 1 releases 2: the line is 4, 3, 2.
  TaskGraphBuilder builder;
  const auto link = builder.add_resource(Discipline::arrival_order);
  builder.add_resource(Discipline::program_order);
  builder.add_task(5);
  builder.add_task(5);
  for (int i = 0; i < 3; ++i) builder.add_task(10, link);
  builder.add_dependency(0, 4);
  builder.add_dependency(0, 3);
  builder.add_dependency(1, 2);
  CHECK(sim::run_events(builder.build()).end == Times{5, 5, 35, 25, 15});
}

TEST_CASE("observers see starts and ends in order") {
  struct Log : sim::TaskObserver {
    void on_start(TaskId task, core::Picoseconds time) override { lines.emplace_back('s', task, time); }
    void on_end(TaskId task, core::Picoseconds time) override { lines.emplace_back('e', task, time); }
    std::vector<std::tuple<char, TaskId, core::Picoseconds>> lines;
  };
  TaskGraphBuilder builder;
  const auto link = builder.add_resource(Discipline::arrival_order);
  builder.add_task(2, link);
  builder.add_task(3, link);
  builder.add_task(0);
  builder.add_dependency(1, 2);
  Log log;
  sim::run_events(builder.build(), &log);
  const decltype(log.lines) expected{{'s', 0, 0}, {'e', 0, 2}, {'s', 1, 2}, {'e', 1, 5}, {'s', 2, 5}, {'e', 2, 5}};
  CHECK(log.lines == expected);
}

TEST_CASE("cycles are named") {
  // 0 -> 1 -> 2 -> 3 -> 1, and 4 behind it.
  TaskGraphBuilder builder;
  for (int i = 0; i < 5; ++i) builder.add_task(1);
  for (const auto& [a, b] : std::vector<std::pair<TaskId, TaskId>>{{0, 1}, {1, 2}, {2, 3}, {3, 1}, {3, 4}})
    builder.add_dependency(a, b);
  for (auto* run : {&events, &sim::run_sweep})
    CHECK(error_of(builder.build(), run) ==
          "error: tasks: tasks wait for each other: 3 -> 1 -> 2 -> 3 (remove one of these dependencies)");
  TaskGraphBuilder itself;
  itself.add_task(1);
  itself.add_dependency(0, 0);
  for (auto* run : {&events, &sim::run_sweep}) CHECK(error_of(itself.build(), run).find("0 -> 0") != std::string::npos);
}

TEST_CASE("event loop and sweep agree bit for bit with an independent solution on random graphs") {
  core::Random random(11);
  for (int round = 0; round < 1000; ++round) {
    TaskGraphBuilder builder;
    const auto tasks = static_cast<TaskId>(1 + random.below(40));
    std::vector<sim::ResourceId> streams;
    // Streams impose the order of ids, so they go only with edges that lead upwards.
    const bool upwards = round % 2 == 0;
    for (int i = 0; upwards && i < 3; ++i) streams.push_back(builder.add_resource(Discipline::program_order));
    std::vector<TaskId> rank(tasks);
    for (TaskId t = 0; t < tasks; ++t) rank[t] = t;
    for (TaskId t = tasks; !upwards && t > 1; --t) std::swap(rank[t - 1], rank[random.below(t)]);
    for (TaskId t = 0; t < tasks; ++t)
      builder.add_task(static_cast<core::Picoseconds>(random.below(round % 5 == 0 ? 2 : 1'000'000)),
                       streams.empty() || random.below(2) == 0 ? sim::k_no_resource : streams[random.below(3)]);
    for (std::uint64_t e = random.below(3 * tasks); e > 0; --e) {
      const auto a = static_cast<TaskId>(random.below(tasks)), b = static_cast<TaskId>(random.below(tasks));
      if (a != b) builder.add_dependency(rank[std::min(a, b)], rank[std::max(a, b)]);
    }
    const TaskGraph graph = builder.build();
    const Times expected = relax(graph);
    const sim::TaskTimes by_events = sim::run_events(graph);
    const sim::TaskTimes by_sweep = sim::run_sweep(graph);
    REQUIRE(by_events.end == expected);
    REQUIRE(by_sweep.end == expected);
    REQUIRE(by_events.makespan == *std::max_element(expected.begin(), expected.end()));
    REQUIRE(by_sweep.makespan == by_events.makespan);
  }
}

TEST_CASE("arrival-order resources equal an independent simulation without ties") {
  // One resource for all tasks, no dependencies but a start delay each (distinct): served in the order of arrival.
  core::Random random(5);
  for (int round = 0; round < 200; ++round) {
    TaskGraphBuilder builder;
    const auto link = builder.add_resource(Discipline::arrival_order);
    const auto tasks = static_cast<TaskId>(1 + random.below(20));
    std::vector<std::pair<core::Picoseconds, core::Picoseconds>> jobs;  // arrival, duration
    for (TaskId t = 0; t < tasks; ++t) {
      jobs.emplace_back(100 * random.below(1000) + t, random.below(3000));
      builder.add_task(jobs.back().first);
      builder.add_task(jobs.back().second, link);
      builder.add_dependency(2 * t, 2 * t + 1);
    }
    const Times end = sim::run_events(builder.build()).end;
    std::vector<TaskId> order(tasks);
    for (TaskId t = 0; t < tasks; ++t) order[t] = t;
    std::sort(order.begin(), order.end(), [&](TaskId a, TaskId b) { return jobs[a].first < jobs[b].first; });
    core::Picoseconds free = 0;
    for (const TaskId t : order) {
      free = std::max(free, jobs[t].first) + jobs[t].second;
      REQUIRE(end[2 * t + 1] == free);
    }
  }
}
