#include <cmath>
#include <vector>

#include "cairn/core/random.h"
#include "catch.h"
#include "support/networks.h"
#include "support/slow_flows.h"

using namespace cairn;
using core::Picoseconds;

TEST_CASE("a large network with few flows per link equals the independent simulation: changes are solved nearby") {
  core::Random random(43);
  // 128 hosts whose flows collide on the way up; then with links of any capacity, and with flows that come late.
  sim::FlowProblem problem = support::permutation(support::FatTree3(4, 8, support::Ascent::hash), 0, 1e6);
  for (int round = 0; round < 4; ++round) {
    if (round % 2 == 1)
      for (sim::Link& link : problem.links) link.capacity = support::k_link_bandwidth * (0.3 + random.uniform());
    if (round >= 2)
      for (sim::Flow& flow : problem.flows) flow.start = static_cast<Picoseconds>(random.below(100'000'000));
    const std::vector<Picoseconds> ends = sim::run_flows(problem).end;
    const std::vector<long double> expected = support::SlowFlows(problem).ends();
    for (std::size_t f = 0; f < ends.size(); ++f)
      REQUIRE(std::abs(static_cast<double>(ends[f]) - static_cast<double>(expected[f])) <= 2.0);
  }
}
