// How much each stage has to do, and which has most and least: what rebalancing asks. Every step takes O(log of the
// stages).
#pragma once

#include <cstdint>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace cairn::swarm {

class StageLoads {
 public:
  explicit StageLoads(std::int32_t stages) : loads_(stages) {
    for (std::int32_t stage = 0; stage < stages; ++stage) place(stage);
  }

  // requests: that its peers hold or that no peer could be given. peers: that serve it or are on their way to it.
  void add(std::int32_t stage, std::int64_t requests, std::int32_t peers) {
    Load& load = loads_[stage];
    by_need_.erase(need(stage));
    by_spare_.erase({load.requests, stage});
    load.requests += requests;
    load.peers += peers;
    place(stage);
  }

  std::int64_t requests(std::int32_t stage) const { return loads_[stage].requests; }
  bool deserted(std::int32_t stage) const { return loads_[stage].peers == 0; }

  // Without peers before any other, then with most requests; the lowest of several.
  std::int32_t most() const { return -std::get<2>(*by_need_.rbegin()); }
  // Has the fewest requests of those with more than one peer; the lowest of several.
  bool any_can_spare() const { return !by_spare_.empty(); }
  std::int32_t least() const { return by_spare_.begin()->second; }

 private:
  struct Load {
    std::int64_t requests = 0;
    std::int32_t peers = 0;
  };
  using Need = std::tuple<bool, std::int64_t, std::int32_t>;  // without peers, requests, -stage

  Need need(std::int32_t stage) const { return {deserted(stage), loads_[stage].requests, -stage}; }
  void place(std::int32_t stage) {
    by_need_.insert(need(stage));
    if (loads_[stage].peers > 1) by_spare_.emplace(loads_[stage].requests, stage);
  }

  std::vector<Load> loads_;
  std::set<Need> by_need_;
  std::set<std::pair<std::int64_t, std::int32_t>> by_spare_;
};

}  // namespace cairn::swarm
