// Systems too large for a slow reference, one change at a time: rates are max-min exactly when no link is over capacity
// and every flow has a full link on which none is faster. And what a solve reports: which links hold flows back, and
// which levels changed.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "cairn/core/random.h"
#include "cairn/sim/fair_share.h"
#include "catch.h"

using namespace cairn;
using core::Random;
using sim::Demand;
using sim::FairShare;
using sim::FlowId;
using sim::LinkId;

namespace {

constexpr double k_tolerance = 1e-9;  // relative; sums of up to a few hundred doubles

struct Shape {
  std::uint32_t links, hops;
  std::size_t flows;  // about which the number of flows stays
  bool equal;         // capacities
  bool plain = true;  // weights and demands 1, no bounds
};

class System {
 public:
  System(Random& random, const Shape& shape) : random_(random), shape_(shape) {
    for (std::uint32_t l = 0; l < shape.links; ++l) {
      capacities_.push_back(shape.equal ? 10.0 : 1 + 10 * random.uniform());
      share_.add_link(capacities_.back());
    }
  }

  void change() {
    const std::uint64_t kind = random_.below(100);
    if (kind == 0) {
      const auto link = static_cast<LinkId>(random_.below(shape_.links));
      share_.set_capacity(link, capacities_[link] = 10 * random_.uniform());
    } else if (routes_.empty() || random_.below(2 * shape_.flows) >= routes_.size()) {
      std::vector<LinkId> route;
      for (std::uint64_t hop = 1 + random_.below(shape_.hops); hop > 0; --hop) {
        const auto link = static_cast<LinkId>(random_.below(shape_.links));
        if (std::find(route.begin(), route.end(), link) == route.end()) route.push_back(link);
      }
      add(route);
    } else {
      const auto gone = std::next(routes_.begin(), static_cast<long>(random_.below(routes_.size())));
      share_.remove_flow(gone->first);
      bounds_.erase(gone->first);
      routes_.erase(gone);
    }
  }

  void solve_and_check() {
    std::map<LinkId, double> levels = held_back_levels();
    share_.solve();
    check_max_min();
    std::set<LinkId> solved;
    for (std::size_t i = 0; i < share_.solved_groups(); ++i) {
      const FairShare::Solved group = share_.solved(i);
      solved.insert(group.links.begin(), group.links.end());
      for (const LinkId link : group.renewed) {
        REQUIRE(std::find(group.links.begin(), group.links.end(), link) != group.links.end());
        levels.erase(link);
      }
    }
    const std::map<LinkId, double> now = held_back_levels();
    for (const LinkId link : solved) REQUIRE(now.contains(link));
    for (const auto& [link, level] : now)
      if (const auto before = levels.find(link); before != levels.end()) REQUIRE(before->second == level);
  }

 private:
  void add(const std::vector<LinkId>& links) {
    std::vector<Demand> demands;
    for (const LinkId link : links) demands.push_back({link, shape_.plain ? 1.0 : 0.1 + random_.uniform()});
    const double weight = shape_.plain ? 1.0 : 0.5 + random_.uniform();
    const double bound = shape_.plain || random_.below(3) > 0 ? FairShare::k_unbounded : random_.uniform();
    const FlowId flow = shape_.plain ? share_.add_routed(links) : share_.add_flow(demands, weight, bound);
    routes_[flow] = demands;
    bounds_[flow] = bound;
  }

  // Of the links that hold flows back.
  std::map<LinkId, double> held_back_levels() const {
    std::map<LinkId, double> levels;
    for (const auto& [flow, demands] : routes_) {
      const LinkId link = share_.bottleneck(flow);
      if (link != sim::k_no_link) levels[link] = share_.level(link);
    }
    return levels;
  }

  void check_max_min() const {
    std::vector<double> load(capacities_.size(), 0.0), fastest(capacities_.size(), 0.0);
    for (const auto& [flow, demands] : routes_)
      for (const Demand& demand : demands) {
        load[demand.link] += demand.amount * share_.rate(flow);
        fastest[demand.link] = std::max(fastest[demand.link], share_.rate(flow) / share_.weight(flow));
      }
    for (std::size_t l = 0; l < load.size(); ++l) REQUIRE(load[l] <= capacities_[l] * (1 + k_tolerance));
    for (const auto& [flow, demands] : routes_) {
      const double rate = share_.rate(flow), level = rate / share_.weight(flow), bound = bounds_.at(flow);
      REQUIRE(rate <= bound * (1 + k_tolerance));
      if (rate >= bound * (1 - k_tolerance)) continue;
      REQUIRE(std::any_of(demands.begin(), demands.end(), [&](const Demand& demand) {
        return load[demand.link] >= capacities_[demand.link] * (1 - k_tolerance) &&
               fastest[demand.link] <= level * (1 + k_tolerance);
      }));
    }
  }

  Random& random_;
  Shape shape_;
  FairShare share_;
  std::vector<double> capacities_;
  std::map<FlowId, std::vector<Demand>> routes_;
  std::map<FlowId, double> bounds_;
};

}  // namespace

TEST_CASE("large systems stay max-min through a thousand changes") {
  Random random(47);
  // Sparse: a change is solved nearby. In between. Busy: the order of before is swept.
  for (const Shape& shape :
       {Shape{400, 3, 250, false}, Shape{300, 4, 200, true}, Shape{120, 3, 200, false}, Shape{30, 2, 300, false},
        Shape{24, 3, 200, true}, Shape{150, 6, 1200, false}, Shape{150, 6, 1200, true},
        Shape{200, 3, 150, false, false}, Shape{20, 2, 100, false, false}}) {
    System system(random, shape);
    for (std::size_t i = 0; i < shape.flows; ++i) system.change();
    for (int i = 0; i < 200; ++i) {
      for (std::uint64_t n = 1 + random.below(10) / 8; n > 0; --n) system.change();
      system.solve_and_check();
    }
  }
}
