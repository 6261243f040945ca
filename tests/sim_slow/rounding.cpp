#include <cmath>
#include <cstdint>
#include <vector>

#include "cairn/sim/flows.h"
#include "catch.h"

using namespace cairn;

TEST_CASE("rounding does not accumulate over 100,000 events") {
  // A link of 3 bytes/ns never idles: its last byte passes at all bytes / 3, however often the sharing changes. Short
  // flows of 1 byte beside a long one take 2/3 ns: their ends and the time saved by each rounding fall to one side.
  constexpr std::uint32_t k_short = 100'000;
  sim::FlowProblem problem;
  problem.links = {{.capacity = 3e9, .latency = 0}};
  problem.routes.add(std::vector<sim::LinkId>{0});
  problem.flows.push_back({.route = 0, .bytes = 1e6, .start = 0});
  for (std::uint32_t i = 0; i < k_short; ++i) problem.flows.push_back({.route = 0, .bytes = 1, .start = 1000 * i});
  const double exact = (1e6 + k_short) / 3e9 * 1e12;
  CHECK(std::abs(static_cast<double>(sim::run_flows(problem).end[0]) - exact) <= 2.0);

  // The same in a chain, each after the one before.
  problem.after_begin = {0, 0};
  for (sim::FlowId i = 1; i <= k_short; ++i) {
    problem.flows[i].start = 0;
    if (i > 1) problem.after.push_back(i - 1);
    problem.after_begin.push_back(static_cast<std::uint32_t>(problem.after.size()));
  }
  const sim::FlowTimes chain = sim::run_flows(problem);
  CHECK(std::abs(static_cast<double>(chain.makespan) - exact) <= 2.0);
}
