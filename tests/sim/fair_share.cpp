#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "cairn/core/assert.h"
#include "cairn/core/random.h"
#include "cairn/sim/fair_share.h"
#include "catch.h"

using namespace cairn;
using sim::Demand;
using sim::FairShare;
using sim::FlowId;

namespace {

constexpr double k_tolerance = 1e-9;  // relative; rates come from sums of a few dozen doubles

struct FlowSpec {
  std::vector<Demand> demands;
  double weight = 1.0;
  double bound = FairShare::k_unbounded;
};

// Independent and slow: all links afresh in every round, one settled link or flow a round.
std::map<FlowId, double> reference(const std::vector<double>& capacities, const std::map<FlowId, FlowSpec>& flows) {
  std::map<FlowId, double> rates;
  while (rates.size() < flows.size()) {
    double lowest = std::numeric_limits<double>::infinity();
    std::vector<FlowId> settling;
    for (std::uint32_t link = 0; link < capacities.size(); ++link) {
      double left = capacities[link], pull = 0.0;
      std::vector<FlowId> growing;
      for (const auto& [id, flow] : flows)
        for (const Demand& demand : flow.demands) {
          if (demand.link != link) continue;
          const auto settled = rates.find(id);
          if (settled != rates.end())
            left -= demand.amount * settled->second;
          else
            pull += demand.amount * flow.weight, growing.push_back(id);
        }
      if (!growing.empty() && std::max(left, 0.0) / pull < lowest)
        lowest = std::max(left, 0.0) / pull, settling = growing;
    }
    for (const auto& [id, flow] : flows)
      if (!rates.contains(id) && flow.bound / flow.weight < lowest) lowest = flow.bound / flow.weight, settling = {id};
    for (const FlowId id : settling) rates[id] = lowest * flows.at(id).weight;
  }
  return rates;
}

// No link over capacity; every flow at its bound or on a full link on which no flow has a larger rate / weight.
void check_max_min(const FairShare& system, const std::vector<double>& capacities,
                   const std::map<FlowId, FlowSpec>& flows) {
  for (std::uint32_t link = 0; link < capacities.size(); ++link)
    REQUIRE(system.load(link) <= capacities[link] * (1 + k_tolerance));
  for (const auto& [id, flow] : flows) {
    bool justified = system.rate(id) >= flow.bound * (1 - k_tolerance);
    for (const Demand& demand : flow.demands) {
      if (system.load(demand.link) < capacities[demand.link] * (1 - k_tolerance)) continue;
      justified |= std::all_of(flows.begin(), flows.end(), [&](const auto& other) {
        const auto& list = other.second.demands;
        const bool shares =
            std::any_of(list.begin(), list.end(), [&](const Demand& d) { return d.link == demand.link; });
        return !shares ||
               system.rate(other.first) / other.second.weight <= system.rate(id) / flow.weight * (1 + k_tolerance);
      });
    }
    REQUIRE(justified);
  }
}

FlowSpec random_flow(core::Random& random, std::uint32_t links, bool plain) {
  FlowSpec flow;
  const std::uint64_t uses = 1 + random.below(std::min<std::uint32_t>(4, links));
  while (flow.demands.size() < uses) {
    const auto link = static_cast<std::uint32_t>(random.below(links));
    if (std::none_of(flow.demands.begin(), flow.demands.end(), [&](const Demand& d) { return d.link == link; }))
      flow.demands.push_back({.link = link, .amount = plain ? 1.0 : 0.1 + random.uniform()});
  }
  if (!plain) flow.weight = random.below(2) == 0 ? 1.0 : 0.5 + random.uniform();
  if (!plain && random.below(3) == 0) flow.bound = 3 * random.uniform();
  return flow;
}

}  // namespace

TEST_CASE("the example of the header") {
  FairShare system;
  const auto a = system.add_link(10), b = system.add_link(4);
  const FlowId f1 = system.add_flow(std::vector<Demand>{{a, 1.0}, {b, 1.0}});
  const FlowId f2 = system.add_flow(std::vector<Demand>{{a, 1.0}});
  const FlowId f3 = system.add_flow(std::vector<Demand>{{b, 1.0}});
  system.solve();
  CHECK(system.moved().size() == 3);
  CHECK(system.bottleneck(f1) == b);
  CHECK(system.bottleneck(f2) == a);
  CHECK(system.rate(f1) == 2.0);
  CHECK(system.rate(f2) == 8.0);
  CHECK(system.rate(f3) == 2.0);
  // Without flow 3, B serves flow 1 alone: t_B = 4, t_A = 5: x1 = 4, x2 = 6.
  system.remove_flow(f3);
  system.solve();
  CHECK(system.rate(f1) == 4.0);
  CHECK(system.rate(f2) == 6.0);
  CHECK(system.load(a) == 10.0);
  // A at 6: t_A = 3 first: both 3.
  system.set_capacity(a, 6);
  system.solve();
  CHECK(system.rate(f1) == 3.0);
  CHECK(system.rate(f2) == 3.0);
  system.solve();
  CHECK(system.moved().empty());
  CHECK(system.solved_groups() == 0);
}

TEST_CASE("weights and bounds, by hand") {
  // 12 shared by weights 1, 2, 3: 2, 4, 6. With the third bounded at 3: (12 - 3)/(1 + 2) = 3: 3, 6, 3.
  FairShare system;
  const std::vector<Demand> link{{system.add_link(12), 1.0}};
  const FlowId f1 = system.add_flow(link, 1), f2 = system.add_flow(link, 2), f3 = system.add_flow(link, 3);
  system.solve();
  CHECK(std::vector{system.rate(f1), system.rate(f2), system.rate(f3)} == std::vector{2.0, 4.0, 6.0});
  system.remove_flow(f3);
  const FlowId bounded = system.add_flow(link, 3, 3);
  system.solve();
  CHECK(std::vector{system.rate(f1), system.rate(f2), system.rate(bounded)} == std::vector{3.0, 6.0, 3.0});
}

TEST_CASE("two kernels that want more memory bandwidth than there is") {
  // Shares of the bandwidth at full speed 0.8 and 0.4: t = 1/(0.8 + 0.4) = 5/6 of full speed each.
  // A third that wants 0.1: 1/1.3 each; it does not help that it asks for little, since speeds are equalised.
  FairShare system;
  const auto memory = system.add_link(1);
  const FlowId a = system.add_flow(std::vector<Demand>{{memory, 0.8}}, 1, 1);
  const FlowId b = system.add_flow(std::vector<Demand>{{memory, 0.4}}, 1, 1);
  system.solve();
  CHECK(system.rate(a) == Approx(5.0 / 6).epsilon(k_tolerance));
  CHECK(system.rate(b) == Approx(5.0 / 6).epsilon(k_tolerance));
  system.remove_flow(a);
  system.solve();
  CHECK(system.rate(b) == 1.0);  // bound: alone it runs at full speed
}

TEST_CASE("only what is connected is solved again") {
  FairShare system;
  const auto a = system.add_link(6), b = system.add_link(6);
  system.add_flow(std::vector<Demand>{{a, 1.0}});
  const FlowId other = system.add_flow(std::vector<Demand>{{b, 1.0}});
  system.solve();
  const FlowId late = system.add_flow(std::vector<Demand>{{b, 1.0}});
  system.solve();
  REQUIRE(system.solved_groups() == 1);
  const auto links = system.solved(0).links;
  CHECK(std::vector(links.begin(), links.end()) == std::vector{b});
  REQUIRE(system.moved().size() == 1);
  CHECK(system.moved()[0].flow == late);
  CHECK(system.moved()[0].from == sim::k_no_link);
  CHECK(system.rate(other) == 3.0);
}

TEST_CASE("a stopped link stops its flows; a flow needs no link if it has a bound") {
  FairShare system;
  const auto down = system.add_link(0);
  const FlowId stopped = system.add_flow(std::vector<Demand>{{down, 1.0}});
  const FlowId free = system.add_flow({}, 1, 7);
  system.solve();
  CHECK(system.rate(stopped) == 0.0);
  CHECK(system.rate(free) == 7.0);
  CHECK_THROWS_AS(system.add_flow({}), core::InternalError);
  CHECK_THROWS_AS(system.add_flow(std::vector<Demand>{{7, 1.0}}), core::InternalError);
  system.remove_flow(free);
  CHECK_THROWS_AS(system.remove_flow(free), core::InternalError);
}

TEST_CASE("extreme weights: what is left for a small flow is not rounding error") {
  // Weights 1e12 (bounded at 1) and 1 on 3: the first settles at 1, the second gets 2.
  FairShare system;
  const std::vector<Demand> link{{system.add_link(3), 1.0}};
  const FlowId big = system.add_flow(link, 1e12, 1), small = system.add_flow(link, 1e-6);
  system.solve();
  CHECK(system.rate(big) == 1.0);
  CHECK(system.rate(small) == Approx(2.0).epsilon(k_tolerance));
}

TEST_CASE("random systems under random changes equal the slow reference") {
  core::Random random(17);
  int systems = 0;
  for (int round = 0; round < 600; ++round) {
    const auto links = static_cast<std::uint32_t>(1 + random.below(10));
    const bool plain = round % 3 == 0;  // unit demands and small whole capacities: many ties
    FairShare system;
    std::vector<double> capacities;
    const auto capacity = [&] { return plain ? static_cast<double>(random.below(6)) : 10 * random.uniform(); };
    for (std::uint32_t l = 0; l < links; ++l) system.add_link(capacities.emplace_back(capacity()));
    std::map<FlowId, FlowSpec> flows;
    for (int change = 0; change < 20; ++change, ++systems) {
      for (std::uint64_t n = 1 + random.below(4); n > 0; --n) {
        // Flows come faster than they go at first, then the other way round.
        const std::uint64_t kind = random.below(change < 10 ? 5 : 8);
        if (kind < 3 || flows.empty()) {
          const FlowSpec flow = random_flow(random, links, plain);
          flows[system.add_flow(flow.demands, flow.weight, flow.bound)] = flow;
        } else if (kind != 4) {
          const FlowId gone = std::next(flows.begin(), static_cast<long>(random.below(flows.size())))->first;
          system.remove_flow(gone);
          flows.erase(gone);
        } else {
          const auto link = static_cast<std::uint32_t>(random.below(links));
          system.set_capacity(link, capacities[link] = capacity());
        }
      }
      std::map<FlowId, sim::LinkId> before;
      for (const auto& [id, flow] : flows) before[id] = system.bottleneck(id);
      system.solve();
      const auto moved = system.moved();
      for (const auto& [id, rate] : reference(capacities, flows)) {
        REQUIRE(system.rate(id) == Approx(rate).epsilon(k_tolerance).margin(k_tolerance));
        const auto entry = std::find_if(moved.begin(), moved.end(), [&](const auto& m) { return m.flow == id; });
        REQUIRE((entry != moved.end()) == (system.bottleneck(id) != before[id]));
        if (entry != moved.end()) REQUIRE(entry->from == before[id]);
      }
      check_max_min(system, capacities, flows);
    }
  }
  CHECK(systems >= 10'000);
}

TEST_CASE("the links whose loads a solve may have changed") {
  // A and B joined by flow 1; C apart. Flow 2 on B takes half of it: A's load falls from 4 to 2 although nothing came
  // to it.
  FairShare system;
  const auto a = system.add_link(10), b = system.add_link(4), c = system.add_link(1);
  system.add_flow(std::vector<Demand>{{a, 1.0}, {b, 1.0}});
  system.add_flow(std::vector<Demand>{{c, 1.0}});
  system.solve();
  CHECK(system.load(a) == 4.0);
  system.add_flow(std::vector<Demand>{{b, 1.0}});
  system.solve();
  CHECK(system.load(a) == 2.0);
  std::vector<std::uint32_t> all;
  for (std::size_t i = 0; i < system.solved_groups(); ++i) {
    const auto links = system.links_of(system.solved(i).group);
    all.insert(all.end(), links.begin(), links.end());
  }
  CHECK(std::count(all.begin(), all.end(), a) == 1);
  CHECK(std::count(all.begin(), all.end(), b) == 1);
  CHECK(std::count(all.begin(), all.end(), c) == 0);
  CHECK(system.links_of(FairShare::k_alone).empty());
}
