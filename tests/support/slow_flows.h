// An independent simulation of flows over links, as slow as it is plain: real time in long double, all rates afresh at
// every event by progressive filling over all links, no groups, no queue, no rounding but of what it returns.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cairn/sim/flows.h"

namespace cairn::support {

class SlowFlows {
 public:
  explicit SlowFlows(const sim::FlowProblem& problem) : p_(problem) {}

  // By flow, in picoseconds. Every flow ends.
  std::vector<long double> ends() {
    const std::size_t n = p_.flows.size();
    end_.assign(n, -1), enter_.assign(n, -1), left_.resize(n);
    for (std::size_t f = 0; f < n; ++f) left_[f] = p_.flows[f].bytes;
    for (const sim::Link& link : p_.links) capacity_.push_back(link.capacity);
    std::vector<sim::CapacityChange> changes = p_.changes;
    std::stable_sort(changes.begin(), changes.end(), [](auto& a, auto& b) { return a.time < b.time; });
    std::size_t next_change = 0, ended = 0;
    long double now = 0;
    release(now);
    while (ended < n) {
      const std::vector<long double> rate = rates(now);
      long double next = std::numeric_limits<long double>::infinity();
      for (std::size_t f = 0; f < n; ++f) {
        if (end_[f] >= 0 || enter_[f] < 0) continue;
        if (enter_[f] > now)
          next = std::min(next, enter_[f]);
        else if (left_[f] <= k_done * p_.flows[f].bytes)
          next = now;
        else if (rate[f] > 0)
          next = std::min(next, now + left_[f] / rate[f] * 1e12L);
      }
      if (next_change < changes.size()) next = std::min(next, static_cast<long double>(changes[next_change].time));
      for (std::size_t f = 0; f < n; ++f)
        if (end_[f] < 0 && enter_[f] >= 0 && enter_[f] <= now) left_[f] -= rate[f] * (next - now) * 1e-12L;
      now = next;
      for (; next_change < changes.size() && static_cast<long double>(changes[next_change].time) <= now; ++next_change)
        capacity_[changes[next_change].link] = changes[next_change].capacity;
      for (std::size_t f = 0; f < n; ++f)
        if (end_[f] < 0 && enter_[f] >= 0 && enter_[f] <= now && left_[f] <= k_done * p_.flows[f].bytes)
          end_[f] = now, ++ended;
      release(now);
    }
    return end_;
  }

 private:
  static constexpr long double k_done = 1e-15L;  // of its bytes: ended

  long double latency(std::size_t f) const {
    long double sum = 0;
    for (const sim::LinkId link : p_.routes[p_.flows[f].route]) sum += static_cast<long double>(p_.links[link].latency);
    return sum;
  }

  // Successors build on whole picoseconds, as a simulation's clock has them.
  void release(long double now) {
    for (std::size_t f = 0; f < p_.flows.size(); ++f) {
      if (enter_[f] >= 0) continue;
      long double ready = static_cast<long double>(p_.flows[f].start);
      bool free = true;
      for (std::uint32_t i = p_.after_begin.empty() ? 0 : p_.after_begin[f];
           i < (p_.after_begin.empty() ? 0 : p_.after_begin[f + 1]); ++i) {
        free &= end_[p_.after[i]] >= 0;
        ready = std::max(ready, std::round(end_[p_.after[i]]));
      }
      if (free) enter_[f] = std::max(ready, std::floor(now)) + latency(f);
    }
  }

  std::vector<long double> rates(long double now) const {
    std::vector<long double> rate(p_.flows.size(), 0);
    std::vector<bool> growing(p_.flows.size());
    std::size_t left = 0;
    for (std::size_t f = 0; f < p_.flows.size(); ++f)
      left += growing[f] = end_[f] < 0 && enter_[f] >= 0 && enter_[f] <= now;
    while (left > 0) {
      std::vector<long double> free(capacity_.begin(), capacity_.end()), pull(capacity_.size(), 0);
      for (std::size_t f = 0; f < rate.size(); ++f)
        for (const sim::LinkId link : p_.routes[p_.flows[f].route])
          (growing[f] ? pull[link] += weight(f) : free[link] -= rate[f]);
      std::size_t narrowest = 0;
      long double level = std::numeric_limits<long double>::infinity();
      for (std::size_t l = 0; l < free.size(); ++l)
        if (pull[l] > 0 && std::max(free[l], 0.0L) / pull[l] < level)
          level = std::max(free[l], 0.0L) / pull[l], narrowest = l;
      for (std::size_t f = 0; f < rate.size(); ++f) {
        const auto route = p_.routes[p_.flows[f].route];
        if (!growing[f] || std::find(route.begin(), route.end(), narrowest) == route.end()) continue;
        rate[f] = level * weight(f), growing[f] = false, --left;
      }
    }
    return rate;
  }
  long double weight(std::size_t f) const {
    return p_.sharing == sim::Sharing::rtt_weighted && latency(f) > 0 ? 1e12L / latency(f) : 1.0L;
  }

  const sim::FlowProblem& p_;
  std::vector<long double> end_, enter_, left_, capacity_;
};

}  // namespace cairn::support
