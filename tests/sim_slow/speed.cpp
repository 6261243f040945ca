// Guards of speed: ratios to what anyone would write (a loop around std::priority_queue) in the same run,
// never seconds. Bounds are several times below what is measured on a quiet machine (tests/bench/sim_bench.cpp): they
// catch a lost algorithm, not a lost percent.
#include <algorithm>
#include <ctime>
#include <functional>
#include <limits>

#include "cairn/sim/flows.h"
#include "catch.h"
#include "support/networks.h"
#include "support/ring_of_tasks.h"

using namespace cairn;

namespace {

// Processor seconds per item: the best of five runs, which disturbances cannot improve.
double seconds_per_item(std::size_t items, const std::function<void()>& run) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 5; ++i) {
    const std::clock_t begin = std::clock();
    run();
    best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return best / static_cast<double>(items);
}

}  // namespace

TEST_CASE("flows are as fast as they were, beside a std::priority_queue") {
  const support::RingOfTasks tasks(256);
  const double baseline = seconds_per_item(tasks.tasks(), [&] { tasks.run_by_priority_queue(); });

  const sim::FlowProblem ring = support::ring(support::Star(256), 500'000, 1e6);
  CHECK(seconds_per_item(ring.flows.size(), [&] { sim::run_flows(ring); }) < 8 * baseline);  // measured: 1.4
  // 992 flows that all share: an event solves hundreds of rates.
  const sim::FlowProblem pairs = support::all_to_all(support::Star(32), 0, 1e6, false);
  CHECK(seconds_per_item(pairs.flows.size(), [&] { sim::run_flows(pairs); }) < 400 * baseline);  // measured: 60
}
