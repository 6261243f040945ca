// Random flows against an independent slow simulation, laws that hold for all of them, and input of any kind.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "catch.h"
#include "support/networks.h"
#include "support/slow_flows.h"

using namespace cairn;
using core::Picoseconds;
using core::Random;
using sim::FlowProblem;
using sim::LinkId;

namespace {

struct Shape {
  std::uint64_t links, hops, flows, start_range;  // at most
  bool whole;                                     // equal sizes and capacities: many things fall together
};

FlowProblem random_problem(Random& random, const Shape& shape) {
  FlowProblem problem;
  const std::uint64_t links = 1 + random.below(shape.links);
  for (std::uint64_t l = 0; l < links; ++l)
    problem.links.push_back({.capacity = shape.whole ? 1e9 : 1e9 * (0.2 + random.uniform()),
                             .latency = random.below(2) == 0 ? 0 : static_cast<Picoseconds>(random.below(300'000))});
  problem.after_begin = {0};
  const std::uint64_t flows = 1 + random.below(shape.flows);
  for (std::uint32_t f = 0; f < flows; ++f) {
    std::vector<LinkId> route;
    for (std::uint64_t hop = 1 + random.below(shape.hops); hop > 0; --hop) {
      const auto link = static_cast<LinkId>(random.below(links));
      if (std::find(route.begin(), route.end(), link) == route.end() || random.below(20) == 0) route.push_back(link);
    }
    problem.flows.push_back({.route = problem.routes.add(route),
                             .bytes = shape.whole ? 1000.0 : std::floor(2000 * random.uniform()),
                             .start = static_cast<Picoseconds>(random.below(shape.start_range))});
    if (f > 0 && random.below(5) == 0) problem.after.push_back(static_cast<sim::FlowId>(random.below(f)));
    problem.after_begin.push_back(static_cast<std::uint32_t>(problem.after.size()));
  }
  for (std::uint64_t c = random.below(4); c > 0; --c)
    problem.changes.push_back({.time = static_cast<Picoseconds>(random.below(4'000'000)),
                               .link = static_cast<LinkId>(random.below(links)),
                               .capacity = random.below(4) == 0 ? 0.0 : 2e9 * random.uniform()});
  for (LinkId link = 0; link < links; ++link)  // every link runs in the end
    problem.changes.push_back({.time = 5'000'000, .link = link, .capacity = 1e9});
  const bool late =
      std::all_of(problem.links.begin(), problem.links.end(), [](const sim::Link& l) { return l.latency > 0; });
  if (late && random.below(2) == 0) problem.sharing = sim::Sharing::rtt_weighted;
  return problem;
}

}  // namespace

TEST_CASE("random flows end when an independent simulation says") {
  Random random(29);
  // Few busy links, long routes, scattered groups, and everything at once.
  const std::vector<Shape> shapes{{3, 2, 40, 3'000'000, false},
                                  {8, 3, 60, 2'000'000, false},
                                  {60, 3, 60, 1'000'000, false},
                                  {10, 4, 50, 1, true},
                                  {12, 2, 120, 1, false}};
  int compared = 0;
  for (int round = 0; round < 150; ++round) {
    const FlowProblem problem = random_problem(random, shapes[static_cast<std::size_t>(round) % shapes.size()]);
    const std::vector<Picoseconds> ends = sim::run_flows(problem).end;
    const std::vector<long double> expected = support::SlowFlows(problem).ends();
    for (std::size_t f = 0; f < ends.size(); ++f, ++compared) {
      INFO("round " << round << " flow " << f << " of " << ends.size());
      // Each release is rounded, and a tie that rounds otherwise shifts what follows: 1 ps per link of a chain.
      REQUIRE(std::abs(static_cast<double>(ends[f]) - static_cast<double>(expected[f])) <= 5.0);
    }
  }
  CHECK(compared > 2500);
}

TEST_CASE("a busy network equals the independent simulation: marks and the order of before are used throughout") {
  // 90 flows per solve over 20 links: far more flows than links.
  for (const double bytes : {1e6, 3.7e5}) {
    const FlowProblem problem = support::all_to_all(support::Star(10), 0, bytes, false);
    const std::vector<Picoseconds> ends = sim::run_flows(problem).end;
    const std::vector<long double> expected = support::SlowFlows(problem).ends();
    for (std::size_t f = 0; f < ends.size(); ++f)
      REQUIRE(std::abs(static_cast<double>(ends[f]) - static_cast<double>(expected[f])) <= 2.0);
  }
}

TEST_CASE("no flow beats its own links, and no link carries more than it can") {
  Random random(31);
  for (int round = 0; round < 50; ++round) {
    FlowProblem problem = random_problem(random, {20, 4, 200, 2'000'000, false});
    problem.changes.clear();
    const sim::FlowTimes times = sim::run_flows(problem);
    std::vector<double> carried(problem.links.size(), 0.0);
    for (std::size_t f = 0; f < problem.flows.size(); ++f) {
      const sim::Flow& flow = problem.flows[f];
      double slowest = std::numeric_limits<double>::infinity(), latency = 0.0;
      for (const LinkId link : problem.routes[flow.route]) {
        slowest = std::min(slowest, problem.links[link].capacity);
        latency += static_cast<double>(problem.links[link].latency);
        carried[link] += flow.bytes;
      }
      const double least = static_cast<double>(flow.start) + latency + flow.bytes / slowest * 1e12;
      REQUIRE(static_cast<double>(times.end[f]) >= least - 1.0);
    }
    for (std::size_t l = 0; l < carried.size(); ++l)
      REQUIRE(carried[l] / problem.links[l].capacity <= core::to_seconds(times.makespan + 1));
    REQUIRE(times.makespan == *std::max_element(times.end.begin(), times.end.end()));
    REQUIRE(sim::run_flows(problem).end == times.end);
  }
}

TEST_CASE("scaling all bytes scales all times") {
  // Powers of two are exact in doubles; with times in whole picoseconds the rest is rounding.
  Random random(37);
  for (int round = 0; round < 50; ++round) {
    FlowProblem problem = random_problem(random, {10, 3, 60, 1, false});
    for (sim::Link& link : problem.links) link.latency = 0;
    problem.changes.clear(), problem.after.clear(), problem.after_begin.clear();
    problem.sharing = sim::Sharing::max_min;
    const auto once = sim::run_flows(problem).end;
    for (sim::Flow& flow : problem.flows) flow.bytes *= 1024;
    const auto scaled = sim::run_flows(problem).end;
    for (std::size_t f = 0; f < once.size(); ++f)
      REQUIRE(std::abs(static_cast<double>(scaled[f]) / 1024 - static_cast<double>(once[f])) <= 1.0);
  }
}

TEST_CASE("input of any kind ends, or is refused with a reason") {
  Random random(41);
  int refused = 0, ended = 0;
  for (int round = 0; round < 1500; ++round) {
    FlowProblem problem = random_problem(random, {6, 3, 12, 1'000'000, round % 2 == 0});
    const auto one_of = [&](std::uint64_t n) { return random.below(n) == 0; };
    const double odd[] = {0.0, -1.0, 1e-300, 1e300, std::numeric_limits<double>::infinity(), std::nan("")};
    if (one_of(4)) problem.links[random.below(problem.links.size())].capacity = odd[random.below(6)];
    if (one_of(4)) problem.flows[random.below(problem.flows.size())].bytes = odd[random.below(6)];
    if (one_of(8)) problem.flows[0].route = static_cast<sim::RouteId>(random.below(40));
    if (one_of(8)) problem.routes.links[0] = static_cast<LinkId>(random.below(9));
    if (one_of(8)) problem.routes.add({});
    if (one_of(8)) problem.links[0].latency = static_cast<Picoseconds>(random.next());
    if (one_of(8) && !problem.after.empty()) problem.after[0] = static_cast<sim::FlowId>(random.below(15));
    if (one_of(3)) problem.changes.pop_back();
    if (one_of(3))
      problem.changes.push_back({.time = 6'000'000, .link = static_cast<LinkId>(random.below(8)), .capacity = 0.0});
    if (one_of(3)) problem.sharing = sim::Sharing::rtt_weighted;
    try {
      const sim::FlowTimes times = sim::run_flows(problem);
      ++ended;
      for (const Picoseconds end : times.end) REQUIRE((end >= 0 && end <= times.makespan));
    } catch (const core::ConfigurationError& error) {
      ++refused;
      REQUIRE_FALSE(error.diagnostics().empty());
      REQUIRE_FALSE(error.diagnostics().front().hint.empty());
    }
  }
  CHECK(ended > 300);
  CHECK(refused > 300);
}
