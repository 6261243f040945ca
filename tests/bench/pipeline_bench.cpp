// Generating and sweeping a large schedule: 64 stages, 512 micro-batches, two chunks; 131,072 operations.
#include <benchmark/benchmark.h>

#include "cairn/pipeline/generators.h"
#include "cairn/pipeline/sweep.h"

namespace {

using namespace cairn;

constexpr pipeline::Settings k_large{.stages = 64, .micro_batches = 512, .chunks = 2};

pipeline::StageTimes times_of(const pipeline::Schedule& schedule) {
  pipeline::StageTimes times(schedule.virtual_stages());
  times.set_duration(pipeline::Phase::forward, 100);
  times.set_duration(pipeline::Phase::backward, 200);
  times.set_delay(7);
  return times;
}

void generate_and_makespan(benchmark::State& state) {
  for (auto _ : state) {
    const pipeline::Schedule schedule = pipeline::generate("interleaved-1f1b", k_large);
    const pipeline::SweepOrder order = pipeline::sweep_order(schedule);
    benchmark::DoNotOptimize(pipeline::makespan(order, times_of(schedule)));
  }
}
BENCHMARK(generate_and_makespan)->Unit(benchmark::kMillisecond);

void generate_and_sweep(benchmark::State& state) {
  for (auto _ : state) {
    const pipeline::Schedule schedule = pipeline::generate("interleaved-1f1b", k_large);
    benchmark::DoNotOptimize(pipeline::sweep(schedule, times_of(schedule)).makespan);
  }
}
BENCHMARK(generate_and_sweep)->Unit(benchmark::kMillisecond);

// The order is made once; each further set of times costs this.
void makespan_again(benchmark::State& state) {
  const pipeline::Schedule schedule = pipeline::generate("interleaved-1f1b", k_large);
  const pipeline::SweepOrder order = pipeline::sweep_order(schedule);
  for (auto _ : state) benchmark::DoNotOptimize(pipeline::makespan(order, times_of(schedule)));
}
BENCHMARK(makespan_again)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
