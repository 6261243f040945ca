// The queue of an event-driven simulation: events leave in the order (time, sequence); sequence is the order of push.
//
// Time never runs backwards: an event may be pushed for now() or later, never before. That makes a radix heap possible.
// Events later than now() lie in bucket b = bit width of (time XOR now), so bucket 1 differs from now in the lowest bit
// only, and so on; all events of a lower bucket come before all of a higher one. When nothing is left for now, the
// lowest bucket in use is emptied: now becomes its smallest time t, its events at t are next, and the others fall into
// lower buckets. An event falls at most once per bit, so push and pop take amortised O(log of the time range)
// whatever the number of events pending, with sequential access only.
//
// Why the order is exact: two events of equal time always share a bucket (now can come closer to one only by emptying
// the bucket that holds both), and buckets keep and hand on the order in which they were filled.
//
// Source: Ahuja, Mehlhorn, Orlin, Tarjan, "Faster Algorithms for the Shortest Path Problem", J. ACM 37(2), 1990.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "cairn/core/assert.h"
#include "cairn/core/time.h"

namespace cairn::sim {

template <class Payload>
class EventQueue {
 public:
  // time >= now(), which starts at 0.
  void push(core::Picoseconds time, Payload payload) {
    CAIRN_ASSERT(time >= now_);
    ++size_;
    place({time, std::move(payload)});
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  // The time of the event popped last.
  core::Picoseconds now() const { return now_; }
  // True when another event of the instant now() is pending: what ends or begins together can be handled together.
  bool pending_now() const { return next_ < instant_.size(); }

  // Not empty. Advances now() to the time of the event.
  Payload pop() {
    CAIRN_ASSERT(size_ > 0);
    if (next_ == instant_.size()) advance();
    --size_;
    return std::move(instant_[next_++]);
  }

 private:
  struct Entry {
    core::Picoseconds time;
    Payload payload;
  };

  // Times are not negative, so times differ in 63 bits at most.
  static constexpr std::size_t k_buckets = std::numeric_limits<core::Picoseconds>::digits + 1;

  void place(Entry entry) {
    const auto bucket = std::bit_width(static_cast<std::uint64_t>(entry.time ^ now_));
    if (bucket == 0) {
      instant_.push_back(std::move(entry.payload));
      return;
    }
    buckets_[bucket].push_back(std::move(entry));
    used_ |= std::uint64_t{1} << bucket;
  }

  void advance() {
    instant_.clear();
    next_ = 0;
    const int lowest = std::countr_zero(used_);
    used_ &= used_ - 1;
    std::vector<Entry>& bucket = buckets_[lowest];
    now_ = bucket.front().time;
    if (bucket.size() > 1)
      for (const Entry& entry : bucket) now_ = entry.time < now_ ? entry.time : now_;
    for (Entry& entry : bucket) place(std::move(entry));
    bucket.clear();
  }

  core::Picoseconds now_ = 0;
  std::size_t size_ = 0;
  std::uint64_t used_ = 0;        // bit b: bucket b holds events
  std::vector<Payload> instant_;  // events at now_, popped up to next_
  std::size_t next_ = 0;
  std::array<std::vector<Entry>, k_buckets> buckets_;
};

}  // namespace cairn::sim
