#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "cairn/core/assert.h"
#include "cairn/core/random.h"
#include "cairn/sim/event_queue.h"
#include "catch.h"

using namespace cairn;
using sim::EventQueue;

TEST_CASE("events of one instant leave in the order of push, also across later pushes") {
  EventQueue<int> queue;
  queue.push(12, 1);
  queue.push(9, 2);
  queue.push(12, 3);
  queue.push(0, 4);
  CHECK(queue.size() == 4);
  CHECK(queue.pop() == 4);
  CHECK(queue.now() == 0);
  queue.push(12, 5);
  CHECK(queue.pop() == 2);
  CHECK(queue.now() == 9);
  queue.push(12, 6);
  queue.push(9, 7);
  CHECK(queue.pending_now());
  CHECK(queue.pop() == 7);
  CHECK_FALSE(queue.pending_now());
  for (const int expected : {1, 3, 5, 6}) CHECK(queue.pop() == expected);
  CHECK(queue.now() == 12);
  CHECK(queue.empty());
}

TEST_CASE("the whole range of time") {
  constexpr auto last = std::numeric_limits<core::Picoseconds>::max();
  EventQueue<int> queue;
  queue.push(last, 2);
  queue.push(last - 1, 1);
  queue.push(1, 0);
  for (int i = 0; i < 3; ++i) CHECK(queue.pop() == i);
  CHECK(queue.now() == last);
}

TEST_CASE("the past and an empty queue are refused") {
  EventQueue<int> queue;
  CHECK_THROWS_AS(queue.pop(), core::InternalError);
  queue.push(5, 0);
  queue.pop();
  CHECK_THROWS_AS(queue.push(4, 0), core::InternalError);
}

TEST_CASE("random pushes and pops leave in the order of a sorted list of (time, sequence)") {
  core::Random random(3);
  for (int round = 0; round < 200; ++round) {
    EventQueue<int> queue;
    std::vector<std::pair<core::Picoseconds, int>> pending;  // sequence = payload
    const std::uint64_t range = round % 3 == 0 ? 3 : round % 3 == 1 ? 1000 : std::uint64_t{1} << 40;
    int sequence = 0;
    while (sequence < 400 || !pending.empty()) {
      if (sequence < 400 && (pending.empty() || random.below(2) == 0)) {
        const auto time = queue.now() + static_cast<core::Picoseconds>(random.below(range));
        queue.push(time, sequence);
        pending.emplace_back(time, sequence++);
      } else {
        const auto smallest = std::min_element(pending.begin(), pending.end());
        REQUIRE(queue.pop() == smallest->second);
        REQUIRE(queue.now() == smallest->first);
        pending.erase(smallest);
      }
      REQUIRE(queue.size() == pending.size());
    }
  }
}
