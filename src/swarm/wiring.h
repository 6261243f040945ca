// Which peer of a stage is given the next request: interleaved weighted round robin by measured times; and which has
// the fewest. Every step takes O(log of the peers).
#pragma once

#include <cstdint>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "cairn/core/random.h"

namespace cairn::swarm {

class Wiring {
 public:
  void add(std::int32_t peer, core::Random& random) {
    const double least = by_rank_.empty() ? 0.0 : by_rank_.begin()->priority;
    const Rank rank{.priority = least, .tie = random.next(), .peer = peer};
    by_rank_.insert(rank);
    by_held_.emplace(0, peer);
    by_peer_.insert_or_assign(peer, Entry{.rank = rank});
  }
  void remove(std::int32_t peer) {
    const auto entry = by_peer_.find(peer);
    by_rank_.erase(entry->second.rank);
    by_held_.erase({entry->second.held, peer});
    by_peer_.erase(entry);
  }
  bool empty() const { return by_peer_.empty(); }
  std::size_t size() const { return by_peer_.size(); }

  // Not empty. work: time of the request on a peer of speed 1.
  std::int32_t choose(double work, core::Random& random) {
    auto first = by_rank_.extract(by_rank_.begin());
    Rank& rank = first.value();
    Entry& entry = by_peer_.at(rank.peer);
    rank.priority += entry.estimate * work;
    rank.tie = random.next();
    entry.rank = rank;
    by_rank_.insert(std::move(first));
    hold(entry, 1);
    return entry.rank.peer;
  }

  // The peer holds one request less.
  void release(std::int32_t peer) {
    const auto entry = by_peer_.find(peer);
    if (entry != by_peer_.end()) hold(entry->second, -1);
  }

  // Not empty. The peer that holds the fewest requests, the lowest of several.
  std::int32_t idlest() const { return by_held_.begin()->second; }

  // slowness: time taken over that of a peer of speed 1. Of a peer that has left nothing is kept.
  void measured(std::int32_t peer, double slowness, double smoothing) {
    const auto found = by_peer_.find(peer);
    if (found == by_peer_.end()) return;
    Entry& entry = found->second;
    entry.estimate = entry.known ? (1.0 - smoothing) * entry.estimate + smoothing * slowness : slowness;
    entry.known = true;
  }

 private:
  struct Rank {
    double priority = 0.0;
    std::uint64_t tie = 0;
    std::int32_t peer = 0;
    friend bool operator<(const Rank& a, const Rank& b) {
      return std::tie(a.priority, a.tie, a.peer) < std::tie(b.priority, b.tie, b.peer);
    }
  };
  struct Entry {
    Rank rank = {};
    std::int32_t held = 0;  // requests
    double estimate = 1.0;
    bool known = false;
  };

  void hold(Entry& entry, std::int32_t more) {
    auto place = by_held_.extract({entry.held, entry.rank.peer});
    place.value().first = entry.held += more;
    by_held_.insert(std::move(place));
  }

  std::set<Rank> by_rank_;
  std::set<std::pair<std::int32_t, std::int32_t>> by_held_;  // requests, peer
  std::unordered_map<std::int32_t, Entry> by_peer_;
};

}  // namespace cairn::swarm
