// How fast the kernel runs: tasks per second of a ring all-reduce as explicit messages, and flows per second over
// networks. The baseline in the same run is the same ring through std::priority_queue; a claim is a ratio to it.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "cairn/core/random.h"
#include "cairn/sim/shared_tasks.h"
#include "cairn/sim/task_graph.h"
#include "support/networks.h"
#include "support/ring_tasks.h"

namespace {

using namespace cairn;

constexpr std::uint32_t k_ranks = 1024;

const sim::TaskGraph& ring_tasks() {
  static const sim::TaskGraph graph = support::ring_tasks(k_ranks);
  return graph;
}

template <class Run>
void tasks(benchmark::State& state, Run run) {
  const sim::TaskGraph& graph = ring_tasks();
  for (auto _ : state) benchmark::DoNotOptimize(run(graph));
  state.SetItemsProcessed(static_cast<std::int64_t>(graph.tasks()) * static_cast<std::int64_t>(state.iterations()));
}
BENCHMARK_CAPTURE(tasks, priority_queue_baseline, support::run_by_priority_queue)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(tasks, event_loop, [](const sim::TaskGraph& g) {
  return sim::run_events(g);
})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(tasks, sweep, sim::run_sweep)->Unit(benchmark::kMillisecond);

void flows(benchmark::State& state, const std::function<sim::FlowProblem(std::uint32_t)>& make) {
  const sim::FlowProblem problem = make(static_cast<std::uint32_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(sim::run_flows(problem));
  state.SetItemsProcessed(static_cast<std::int64_t>(problem.flows.size()) *
                          static_cast<std::int64_t>(state.iterations()));
}
constexpr core::Picoseconds k_latency = 500'000;
BENCHMARK_CAPTURE(flows, ring_on_star, [](std::uint32_t n) { return support::ring(support::Star(n), k_latency, 1e6); })
    ->Arg(1024)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(flows, random_all_to_all_on_star,
                  [](std::uint32_t n) { return support::all_to_all(support::Star(n), 0, 1e6, false); })
    ->Arg(64)
    ->Arg(96)
    ->Arg(128)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(flows, random_all_to_all_on_fat_tree,
                  [](std::uint32_t n) { return support::all_to_all(support::FatTree2(n, 16, 4), 0, 1e6, false); })
    ->Arg(64)
    ->Arg(128)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(flows, equal_all_to_all_on_star,
                  [](std::uint32_t n) { return support::all_to_all(support::Star(n), 0, 1e6, true); })
    ->Arg(256)
    ->Arg(1024)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(flows, weighted_all_to_all_on_fat_tree,
                  [](std::uint32_t n) {
                    sim::FlowProblem problem = support::all_to_all(support::FatTree2(n, 16, 4), k_latency, 1e6, false);
                    problem.sharing = sim::Sharing::rtt_weighted;
                    return problem;
                  })
    ->Arg(64)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(flows, random_pairs_on_three_level_fat_tree,
                  [](std::uint32_t flows) {
                    return support::random_pairs(support::FatTree3(16, 4, support::Ascent::hash), flows, 0, 1e6);
                  })
    ->Arg(10'000)
    ->Arg(100'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(flows, permutation_on_three_level_fat_tree,
                  [](std::uint32_t pods) {
                    return support::permutation(support::FatTree3(16, pods, support::Ascent::destination), 0, 1e6);
                  })
    ->Arg(64)  // 16,384 hosts
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(flows, hashed_permutation_on_three_level_fat_tree,
                  [](std::uint32_t pods) {
                    return support::permutation(support::FatTree3(16, pods, support::Ascent::hash), 0, 1e6);
                  })
    ->Arg(64)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(flows, hashed_permutation_on_tapered_fat_tree,
                  [](std::uint32_t taper) {
                    return support::permutation(support::FatTree3(16, 64, support::Ascent::hash, taper), 0, 1e6);
                  })
    ->Arg(2)
    ->Arg(4)
    ->Unit(benchmark::kMillisecond);

// Devices that each run kernels and transfers side by side on one memory, the transfers over links in pairs.
void shared_tasks(benchmark::State& state) {
  const auto devices = static_cast<std::uint32_t>(state.range(0));
  core::Random random(1);
  sim::TaskGraphBuilder builder;
  sim::SharedResources shared{.capacity = std::vector<double>(2 * devices, 1.0),
                              .demand_begin = {0},
                              .demands = {},
                              .weight = {},
                              .changes = {}};
  std::vector<sim::ResourceId> kernels, transfers;
  for (std::uint32_t d = 0; d < devices; ++d) {
    kernels.push_back(builder.add_resource(sim::Discipline::program_order));
    transfers.push_back(builder.add_resource(sim::Discipline::program_order));
  }
  for (int step = 0; step < 200; ++step)
    for (std::uint32_t d = 0; d < devices; ++d)
      for (const bool kernel : {true, false}) {
        builder.add_task(10'000'000 + static_cast<core::Picoseconds>(random.below(10'000'000)),
                         (kernel ? kernels : transfers)[d]);
        shared.demands.push_back({.link = d, .amount = kernel ? 0.8 : 0.3});
        if (!kernel) shared.demands.push_back({.link = devices + d / 2, .amount = 0.7});
        shared.demand_begin.push_back(static_cast<std::uint32_t>(shared.demands.size()));
      }
  const sim::TaskGraph graph = builder.build();
  for (auto _ : state) benchmark::DoNotOptimize(sim::run_shared_events(graph, shared));
  state.SetItemsProcessed(static_cast<std::int64_t>(graph.tasks()) * static_cast<std::int64_t>(state.iterations()));
}
BENCHMARK(shared_tasks)->Arg(8)->Arg(1024)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
