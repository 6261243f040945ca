// A pipeline played literally, event by event: devices look at the head of their lists whenever anything ends or
// arrives. Knows nothing of sweep orders.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <vector>

#include "cairn/pipeline/sweep.h"

namespace cairn::simulated {

using Time = std::int64_t;

class EventSimulator {
 public:
  EventSimulator(const pipeline::Schedule& schedule, const pipeline::StageTimes& times)
      : schedule_(schedule),
        times_(times),
        end(schedule.operations.size(), -1),
        start(schedule.operations.size(), -1),
        next_(schedule.row_begin.begin(), schedule.row_begin.end() - 1),
        busy_until_(next_.size(), 0) {
    for (int row = 0; row < schedule.rows(); ++row)
      for (int i = schedule.row_begin[row]; i < schedule.row_begin[row + 1]; ++i) {
        const pipeline::Operation& o = schedule.operations[i];
        if (pipeline::on_chain(o.phase)) where_[{kind(o), stage(row, o), o.micro_batch}] = i;
        row_of_.push_back(row);
      }
    for (const pipeline::Wait& wait : schedule.waits) awaits_[wait.operation].push_back(wait.on);
  }

  void run() {
    std::set<Time> instants{0};
    while (!instants.empty()) {
      const Time now = *instants.begin();
      instants.erase(instants.begin());
      for (bool started = true; started;) {
        started = false;
        for (int row = 0; row < schedule_.rows(); ++row) started |= try_start(row, now, instants);
      }
    }
  }

  Time makespan() const { return *std::max_element(end.begin(), end.end()); }

 private:
  enum Kind { up, gradient, weight };
  static Kind kind(const pipeline::Operation& o) {
    if (o.phase == pipeline::Phase::forward) return up;
    return o.phase == pipeline::Phase::weight_gradient ? weight : gradient;
  }
  int stage(int row, const pipeline::Operation& o) const {
    return schedule_.placement[schedule_.device_of_row(row) * schedule_.chunks + o.chunk];
  }

  // When everything that operation i awaits has arrived; -1 while something has not even been sent.
  Time arrived(int row, int i) const {
    const pipeline::Operation& o = schedule_.operations[i];
    std::vector<int> on;
    if (pipeline::on_chain(o.phase)) {
      const int s = stage(row, o);
      if (kind(o) == up && s % schedule_.chain_length > 0) on.push_back(where_.at({up, s - 1, o.micro_batch}));
      if (kind(o) == gradient && (s + 1) % schedule_.chain_length > 0)
        on.push_back(where_.at({gradient, s + 1, o.micro_batch}));
      if (kind(o) == gradient) on.push_back(where_.at({up, s, o.micro_batch}));
      if (kind(o) == weight) on.push_back(where_.at({gradient, s, o.micro_batch}));
    }
    if (const auto more = awaits_.find(i); more != awaits_.end())
      on.insert(on.end(), more->second.begin(), more->second.end());
    Time latest = 0;
    for (const int from : on) {
      if (end[from] < 0) return -1;
      const int other = row_of_[from];
      const bool near = schedule_.device_of_row(other) == schedule_.device_of_row(row);
      const pipeline::Operation& sender = schedule_.operations[from];
      latest = std::max(latest, end[from] + (near ? 0 : times_.delay(stage(other, sender), sender.phase)));
    }
    return latest;
  }

  bool try_start(int row, Time now, std::set<Time>& instants) {
    const int i = next_[row];
    if (i == schedule_.row_begin[row + 1] || busy_until_[row] > now) return false;
    const int count = schedule_.operations[i].joined ? 2 : 1;
    const bool overlaps = count == 2 && schedule_.operations[i].phase != schedule_.operations[i + 1].phase;
    Time duration = overlaps ? -times_.saving(stage(row, schedule_.operations[i])) : 0;
    for (int k = i; k < i + count; ++k) {
      const Time at = arrived(row, k);
      if (at < 0) return false;
      if (at > now) {
        instants.insert(at);
        return false;
      }
      duration += times_.duration(stage(row, schedule_.operations[k]), schedule_.operations[k].phase);
    }
    for (int k = i; k < i + count; ++k) start[k] = now, end[k] = now + duration;
    next_[row] += count;
    busy_until_[row] = now + duration;
    instants.insert(now + duration);
    return true;
  }

  const pipeline::Schedule& schedule_;
  const pipeline::StageTimes& times_;

 public:
  std::vector<Time> end;  // by position in the schedule's operations; -1: never ran
  std::vector<Time> start;

 private:
  std::vector<int> next_;
  std::vector<Time> busy_until_;
  std::vector<int> row_of_;
  std::map<std::tuple<Kind, int, int>, int> where_;
  std::map<int, std::vector<int>> awaits_;
};

}  // namespace cairn::simulated
