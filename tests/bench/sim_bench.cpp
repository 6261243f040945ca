// How fast flows over networks run, per second. The baseline in the same run is a ring all-reduce as tasks through
// std::priority_queue; a claim is a ratio to it.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "cairn/sim/flows.h"
#include "support/networks.h"
#include "support/ring_of_tasks.h"

namespace {

using namespace cairn;

constexpr std::uint32_t k_ranks = 1024;

void priority_queue_baseline(benchmark::State& state) {
  const support::RingOfTasks tasks(k_ranks);
  for (auto _ : state) benchmark::DoNotOptimize(tasks.run_by_priority_queue());
  state.SetItemsProcessed(static_cast<std::int64_t>(tasks.tasks()) * static_cast<std::int64_t>(state.iterations()));
}
BENCHMARK(priority_queue_baseline)->Unit(benchmark::kMillisecond);

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

}  // namespace

BENCHMARK_MAIN();
