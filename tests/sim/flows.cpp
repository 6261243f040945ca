#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "cairn/core/diagnostics.h"
#include "cairn/sim/flows.h"
#include "catch.h"
#include "support/networks.h"

using namespace cairn;
using core::Picoseconds;
using sim::FlowProblem;
using sim::LinkId;

namespace {

using Times = std::vector<Picoseconds>;
constexpr Picoseconds k_ns = 1000;

// Links of 1 byte/ns each, without latency.
FlowProblem links(std::size_t n) {
  FlowProblem problem;
  problem.links.assign(n, {.capacity = 1e9, .latency = 0});
  return problem;
}

void add(FlowProblem& problem, const std::vector<LinkId>& route, double bytes, Picoseconds start = 0) {
  problem.flows.push_back({.route = problem.routes.add(route), .bytes = bytes, .start = start});
}

void after(FlowProblem& problem, const std::vector<std::vector<sim::FlowId>>& lists) {
  problem.after_begin = {0};
  for (const auto& list : lists) {
    problem.after.insert(problem.after.end(), list.begin(), list.end());
    problem.after_begin.push_back(static_cast<std::uint32_t>(problem.after.size()));
  }
}

std::string error_of(const FlowProblem& problem) {
  try {
    sim::run_flows(problem);
  } catch (const core::ConfigurationError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a flow alone takes its latencies and its bytes at the narrowest link") {
  // 100 + 20 ns of latency, then 500 bytes at 0.5 byte/ns: 1120 ns.
  FlowProblem problem = links(2);
  problem.links[0].latency = 100 * k_ns;
  problem.links[1] = {.capacity = 5e8, .latency = 20 * k_ns};
  add(problem, {0, 1}, 500);
  add(problem, {0, 1}, 0, 3000 * k_ns);  // no bytes: only the latency
  CHECK(sim::run_flows(problem).end == Times{1120 * k_ns, 3120 * k_ns});
  CHECK(sim::run_flows(problem).makespan == 3120 * k_ns);
}

TEST_CASE("two flows share a link until one ends") {
  // 100 and 300 bytes on one link: at 1/2 each until 200 ns, then 200 bytes remain at full rate: 400 ns.
  FlowProblem problem = links(1);
  add(problem, {0}, 100);
  add(problem, {0}, 300);
  CHECK(sim::run_flows(problem).end == Times{200 * k_ns, 400 * k_ns});
  // A third of 100 bytes from 100 ns on: 50 and 250 bytes remain, three share: the first ends at 250 ns. Then 200 and
  // 50 remain at 1/2: the third ends at 350 ns, the second has 150 left: 500 ns.
  add(problem, {0}, 100, 100 * k_ns);
  CHECK(sim::run_flows(problem).end == Times{250 * k_ns, 500 * k_ns, 350 * k_ns});
}

TEST_CASE("max-min over two links") {
  // Link 0 of 10, link 1 of 4 bytes/ns: rates 2 (both links), 8 (link 0), 2 (link 1), as in fair_share.h.
  FlowProblem problem = links(2);
  problem.links[0].capacity = 10e9;
  problem.links[1].capacity = 4e9;
  add(problem, {0, 1}, 400);
  add(problem, {0}, 800);  // ends at 100 ns; the first still shares link 1: 2 bytes/ns
  add(problem, {1}, 100);  // ends at 50 ns; then the first has 300 left, link 1 gives it 4, and link 0 gives 10 - 4 = 6
  // From 50 ns: flow 1 has 400 left; both want link 0: fair share 5 > 4, so the first runs at 4, the second at 6:
  // the second ends at 50 + 400/6 = 116.667 ns, the first at 50 + 300/4 = 125 ns.
  CHECK(sim::run_flows(problem).end == Times{125 * k_ns, 116'667, 50 * k_ns});
}

TEST_CASE("flows wait for those they come after, and for their start") {
  FlowProblem problem = links(2);
  problem.links[1].latency = 7 * k_ns;
  add(problem, {0}, 10);
  add(problem, {1}, 5);             // after 0: 10 + 7 + 5
  add(problem, {0}, 1, 40 * k_ns);  // after 1, not before 40
  add(problem, {0}, 1);             // after 1 and 2
  after(problem, {{}, {0}, {1}, {1, 2}});
  CHECK(sim::run_flows(problem).end == Times{10 * k_ns, 22 * k_ns, 41 * k_ns, 42 * k_ns});
}

TEST_CASE("a link changes its capacity while a flow crosses it") {
  // 100 bytes at 1/ns until 40 ns, stopped until 100 ns, then 60 bytes at 3/ns: 120 ns.
  FlowProblem problem = links(1);
  add(problem, {0}, 100);
  problem.changes = {{.time = 100 * k_ns, .link = 0, .capacity = 3e9}, {.time = 40 * k_ns, .link = 0, .capacity = 0}};
  CHECK(sim::run_flows(problem).end == Times{120 * k_ns});
}

TEST_CASE("a route that crosses a link twice loads it twice") {
  // 100 bytes that go through link 0 twice pass at 1/2 byte/ns; beside a plain flow both run at 1/3 until 100 bytes
  // have passed at 300 ns.
  FlowProblem problem = links(2);
  add(problem, {0, 1, 0}, 100);
  CHECK(sim::run_flows(problem).end == Times{200 * k_ns});
  add(problem, {0}, 100);
  CHECK(sim::run_flows(problem).end == Times{300 * k_ns, 300 * k_ns});
}

TEST_CASE("sharing by round-trip time") {
  // Latencies 10 and 30 ns on the shared link's ways in: weights 3 : 1. The second enters 20 ns after the first, which
  // has 380 of 400 bytes left then; rates 3/4 and 1/4: the first ends at 30 + 380/(3/4) = 536.667 ns, the second has
  // 300 - 126.667 = 173.333 bytes left: 710 ns.
  FlowProblem problem = links(3);
  problem.links[1].latency = 10 * k_ns;
  problem.links[2].latency = 30 * k_ns;
  add(problem, {0, 1}, 400);
  add(problem, {0, 2}, 300);
  problem.sharing = sim::Sharing::rtt_weighted;
  CHECK(sim::run_flows(problem).end == Times{536'667, 710 * k_ns});
}

TEST_CASE("observers see what happens in order") {
  struct Log : sim::FlowObserver {
    void on_release(sim::FlowId f, Picoseconds t) override { lines.emplace_back('r', f, t); }
    void on_enter(sim::FlowId f, Picoseconds t) override { lines.emplace_back('i', f, t); }
    void on_end(sim::FlowId f, Picoseconds t) override { lines.emplace_back('e', f, t); }
    void on_capacity(LinkId l, Picoseconds t, double) override { lines.emplace_back('c', l, t); }
    std::vector<std::tuple<char, std::uint32_t, Picoseconds>> lines;
  };
  FlowProblem problem = links(1);
  problem.links[0].latency = 1 * k_ns;
  add(problem, {0}, 4);
  add(problem, {0}, 2);
  after(problem, {{}, {0}});
  problem.changes = {{.time = 3 * k_ns, .link = 0, .capacity = 2e9}};  // 2 bytes have passed, 2 remain: 1 ns
  Log log;
  sim::run_flows(problem, &log);
  const decltype(log.lines) expected{{'r', 0, 0},        {'i', 0, 1 * k_ns}, {'c', 0, 3 * k_ns}, {'e', 0, 4 * k_ns},
                                     {'r', 1, 4 * k_ns}, {'i', 1, 5 * k_ns}, {'e', 1, 6 * k_ns}};
  CHECK(log.lines == expected);
}

TEST_CASE("closed forms: ring all-reduce and equal all-to-all") {
  // Ring: 2 (P-1) (route latency + chunk / B); 1e6 bytes at 12.5e9 bytes/s = 80 us.
  const support::Star star(16);
  CHECK(sim::run_flows(support::ring(star, 500 * k_ns, 1e6)).makespan == 30 * 81'000 * k_ns);
  const support::FatTree2 tree(64, 16, 4);  // a step is as slow as its flow between leaves: 4 links
  CHECK(sim::run_flows(support::ring(tree, 500 * k_ns, 1e6)).makespan == 126 * 82'000 * k_ns);
  // All-to-all, star: (P-1) bytes / B, all together. Fat tree: a leaf sends 16 (P-16) flows over 4 cables.
  const sim::FlowTimes equal = sim::run_flows(support::all_to_all(star, 0, 1e6, true));
  CHECK(equal.end == Times(16 * 15, 15 * 80'000 * k_ns));
  CHECK(sim::run_flows(support::all_to_all(tree, 0, 1e6, true)).makespan == 16 * 48 / 4 * 80'000 * k_ns);
}

TEST_CASE("what a caller gets wrong is said with its place") {
  const auto broken = [](auto change) {
    FlowProblem problem = links(2);
    add(problem, {0, 1}, 10);
    add(problem, {1}, 10);
    change(problem);
    return error_of(problem);
  };
  const auto has = [](const std::string& text, const std::string& part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  CHECK(broken([](FlowProblem&) {}).empty());
  has(broken([](FlowProblem& p) { p.links[1].capacity = 0; }), "link 1: has no bandwidth");
  has(broken([](FlowProblem& p) { p.links[0].capacity = -1; }), "link 0: has no bandwidth");
  has(broken([](FlowProblem& p) { p.links[0].capacity = std::nan(""); }), "link 0: has no bandwidth");
  has(broken([](FlowProblem& p) { p.links[0].latency = -1; }), "link 0: has a negative latency");
  has(broken([](FlowProblem& p) { add(p, {}, 1); }), "flow 2: crosses no link");
  has(broken([](FlowProblem& p) { add(p, {5}, 1); }), "route 2: crosses link 5, which does not exist");
  has(broken([](FlowProblem& p) { p.flows[1].route = 9; }), "flow 1: has no route");
  has(broken([](FlowProblem& p) { p.flows[1].bytes = -3; }), "flow 1: has no valid size");
  has(broken([](FlowProblem& p) { p.flows[0].start = -3; }), "flow 0: starts before 0");
  has(broken([](FlowProblem& p) { after(p, {{}, {7}}); }), "flow 1: comes after flow 7, which does not exist");
  has(broken([](FlowProblem& p) { after(p, {{1}, {0}}); }), "flows wait for each other: 1 -> 0 -> 1");
  has(broken([](FlowProblem& p) { p.changes = {{.time = 0, .link = 3, .capacity = 1}}; }), "capacity change 0");
  has(broken([](FlowProblem& p) { p.changes = {{.time = 1, .link = 1, .capacity = 0}}; }),
      "flow 0: never ends: link 1 has stopped");
  has(broken([](FlowProblem& p) {
        p.links[0].latency = 5;
        p.sharing = sim::Sharing::rtt_weighted;
      }),
      "flow 1: has a route without latency");
  // All errors of a problem at once.
  const std::string both = broken([](FlowProblem& p) { p.links[0].capacity = 0, p.flows[1].bytes = -1; });
  has(both, "link 0");
  has(both, "flow 1");
}
