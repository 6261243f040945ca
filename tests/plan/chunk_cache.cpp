#include <algorithm>
#include <set>

#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "cairn/plan/chunk_cache.h"
#include "catch.h"

using namespace cairn;

namespace {

// The least misses of any policy, by trying every chunk that could make room.
std::int64_t least_misses(const std::vector<std::int64_t>& trace, std::size_t moment, std::set<std::int64_t> here,
                          std::size_t room) {
  while (moment < trace.size() && here.count(trace[moment]) > 0) ++moment;
  if (moment == trace.size()) return 0;
  if (here.size() < room) {
    here.insert(trace[moment]);
    return 1 + least_misses(trace, moment + 1, here, room);
  }
  std::int64_t best = static_cast<std::int64_t>(trace.size());
  for (const std::int64_t leaving : here) {
    std::set<std::int64_t> then = here;
    then.erase(leaving);
    then.insert(trace[moment]);
    best = std::min(best, 1 + least_misses(trace, moment + 1, then, room));
  }
  return best;
}

std::vector<std::int64_t> random_trace(core::Random& random, std::uint64_t length, std::uint64_t chunks) {
  std::vector<std::int64_t> trace;
  for (std::uint64_t i = 0; i < length; ++i) trace.push_back(static_cast<std::int64_t>(random.below(chunks)));
  return trace;
}

}  // namespace

TEST_CASE("The chunk wanted farthest ahead makes room") {
  // Room for 2. 1, 2: loaded. 3: 1 is wanted at moment 5, 2 at moment 4, so 1 goes. 3, 2: there. 1: loaded.
  const std::vector<std::int64_t> trace{1, 2, 3, 3, 2, 1};
  const plan::ChunkTurns turns = plan::take_turns(trace, 2);
  REQUIRE(turns.missed == std::vector<char>{1, 1, 1, 0, 0, 1});
  REQUIRE(turns.given_up == std::vector<std::int64_t>{-1, -1, 1, -1, -1, 3});
  REQUIRE(turns.misses == 4);
}

TEST_CASE("Giving up the farthest next use is the optimum on every short trace") {
  core::Random random(11);
  for (int i = 0; i < 400; ++i) {
    const std::vector<std::int64_t> trace = random_trace(random, 1 + random.below(10), 2 + random.below(4));
    const auto room = static_cast<std::int64_t>(1 + random.below(3));
    REQUIRE(plan::take_turns(trace, room).misses == least_misses(trace, 0, {}, static_cast<std::size_t>(room)));
  }
}

TEST_CASE("No other rule misses less on long traces") {
  core::Random random(12);
  for (int i = 0; i < 100; ++i) {
    const std::vector<std::int64_t> trace = random_trace(random, 500, 2 + random.below(40));
    const auto room = static_cast<std::int64_t>(1 + random.below(20));
    const std::int64_t best = plan::take_turns(trace, room).misses;
    REQUIRE(best <= plan::take_turns(trace, room, plan::Eviction::least_recently_used).misses);
    REQUIRE(best <= plan::take_turns(trace, room, plan::Eviction::first_in).misses);
  }
}

TEST_CASE("Forward and backward over n chunks with room for c miss n - c in each pass once they repeat") {
  // At the turn the c chunks used last are there; the pass back finds them and loads the other n - c.
  for (std::int64_t n = 1; n <= 9; ++n)
    for (std::int64_t c = 1; c <= n; ++c) {
      std::vector<std::int64_t> trace;
      for (int repeat = 0; repeat < 3; ++repeat) {
        for (std::int64_t k = 0; k < n; ++k) trace.push_back(k);
        for (std::int64_t k = n; k-- > 0;) trace.push_back(k);
      }
      const plan::ChunkTurns turns = plan::take_turns(trace, c);
      const auto pass = [&](std::int64_t first) {
        return std::count(turns.missed.begin() + first, turns.missed.begin() + first + n, 1);
      };
      REQUIRE(pass(2 * n) == n - c);
      REQUIRE(pass(3 * n) == n - c);
      for (std::int64_t k = 0; k < c; ++k) REQUIRE(turns.missed[static_cast<std::size_t>(2 * n + k)] == 0);
    }
}

TEST_CASE("Room for no chunk is an error") {
  REQUIRE_THROWS_AS(plan::take_turns(std::vector<std::int64_t>{1}, 0), core::ConfigurationError);
}
