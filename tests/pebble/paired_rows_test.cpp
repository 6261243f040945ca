// Bounds of attention and of the Fourier transform against plays of their graphs, and by hand.
#include <cmath>

#include "cairn/pebble/operation_text.h"
#include "cairn/pebble/schedule.h"
#include "catch.h"
#include "pebble/games.h"
#include "pebble/graphs.h"
#include "support/share.h"

using namespace cairn::pebble;

namespace {

Words bound_of(const Operation& operation, Words fast, const std::string& method) {
  for (const LowerBound& bound : lower_bounds(operation, fast))
    if (bound.method.starts_with(method)) return bound.words;
  FAIL("no bound by " << method);
  return 0;
}

}  // namespace

TEST_CASE("paired rows: never above a play of attention or of its derivative") {
  std::size_t index = 0, beyond = 0;
  double closest = 0.0;
  for (const std::string kind : {"attention", "attention-backward"})
    for (const std::string size : {"n=24 d=1", "n=40 d=1", "n=12 d=2 heads=2 kv_heads=1", "n=30 d=1 causal=1"})
      for (Words more : {0, 2, 5, 9, 14, 30}) {
        if (!cairn::test::taken(index++)) continue;
        const Operation operation = parse_operation(kind + " " + size);
        const Cdag graph = operation.graph();
        const Words fast = minimum_fast_words(graph, k_rbw) + more;
        const Words play = best_ordered_play(graph, Sliding::forbidden, fast).words;
        const Words bound = bound_of(operation, fast, "whole pairs");
        INFO(kind << " " << size << " S=" << fast << " bound " << bound << " play " << play);
        REQUIRE(bound <= play);
        REQUIRE(bound_of(operation, fast, "steps of running sums") <= play);
        REQUIRE(best_ordered_play(graph, Sliding::allowed, fast).words >= bound);
        if (bound > operation.inputs + operation.outputs) ++beyond;
        closest = std::max(closest, static_cast<double>(bound) / static_cast<double>(play));
      }
  if (cairn::test::k_share == 1) {
    CHECK(beyond >= 10);
    CHECK(closest > 0.15);  // orders that know nothing of rows; against schedules that do: the bracket of attention
  }
}

TEST_CASE("paired rows: values made again, by hand") {
  // d = 1, S = T = 1,000: 2,000 words at hand, which are at most 500 x 500 pairs and the rows' sums, 2,000^2 / 16. Of
  // each of 100,000 rows all but the first 2,000 steps count: 9.8e9 / 250,000 = 39,200 stretches, less one.
  const auto best = [](const std::string& text, Words fast, Game game) {
    return bracket(parse_operation(text), fast, game);
  };
  const Game hong_kung{Rules::hong_kung, Sliding::forbidden};
  CHECK(best("attention n=100000 d=1", 1000, hong_kung).lower.words >= 1000 * Words{39'199});
  // The derivative: three sums a pair, 2,000^2 / 14.4 and 29.4e9 steps: 105,840 stretches.
  CHECK(best("attention-backward n=100000 d=1", 1000, hong_kung).lower.words >= 1000 * Words{105'839});
  // Causal rows of 1 to 100,000 pairs: 98,000 x 98,001 / 2 steps.
  CHECK(best("attention n=100000 d=1 causal=1", 1000, hong_kung).lower.words >= 1000 * Words{19'207});
  // Four query heads of one key head: steps of dK and dV by key row are four times as many.
  const std::string grouped = "attention-backward n=100000 d=1 heads=4 kv_heads=1";
  CHECK(best(grouped, 1000, hong_kung).lower.words >= 4 * 1000 * Words{105'839});
  // Sound against every schedule known, and near the best of them for long sequences: 14 / 10.8 and 4 / 4.
  std::size_t index = 0;
  for (const std::string kind : {"attention", "attention-backward"})
    for (const std::string size :
         {"n=4096 d=8", "n=65536 d=64", "n=20000 d=16 causal=1", "n=9000 d=4 heads=4 kv_heads=2"})
      for (Words fast = 600; fast < 40'000'000; fast *= 50)
        for (Game game : {k_rbw, hong_kung}) {
          if (!cairn::test::taken(index++)) continue;
          const Bracket both = best(kind + " " + size, fast, game);
          INFO(kind << " " << size << " S=" << fast);
          if (both.upper) REQUIRE(both.upper->words >= both.lower.words);
        }
  const auto ratio = [](const Bracket& both) {
    return static_cast<double>(both.upper->words) / static_cast<double>(both.lower.words);
  };
  CHECK(ratio(best("attention-backward n=8388608 d=64", 300 * 64 * 64, hong_kung)) <= 1.36);
  CHECK(ratio(best("attention n=8388608 d=64", 300 * 64 * 64, hong_kung)) <= 1.1);
}

TEST_CASE("paired rows: attention by hand") {
  // d = 1, S + 1 = 64, T = 64: whole pairs 128^2 / 16 = 1,024, cut ones at most 64 more. 544 x 1,088 pairs in 1,088
  // queries and keys, n = 1,088: n^2 / 1,088 = 1,088 stretches, less one, of 64 words, less n zeros. Another T may give
  // more.
  const Operation operation = parse_operation("attention n=1088 d=1");
  CHECK(bound_of(operation, 63, "whole pairs") >= 64 * (1088 - 1) - 1088);
  // Not claimed where values may be computed again.
  for (const LowerBound& bound : lower_bounds(operation, 63))
    if (bound.method.starts_with("whole pairs"))
      CHECK_FALSE(bound.games.contains({Rules::hong_kung, Sliding::forbidden}));
}

TEST_CASE("attention with a running maximum: its graph, bound and schedule") {
  // d = 2, n = 3: per query row and key 2 products; first key: exponential, 2 outputs; each other: maximum, weight,
  // scale, sum, 2 outputs; 2 quotients a row. 3 (3 x 2 + 1 + 2 + 2 x 6 + 2) + 18 inputs.
  const Operation online = parse_operation("attention n=3 d=2 online=1");
  CHECK(online.graph().size() == 3 * (3 * 2 + 1 + 2 + 2 * 6 + 2) + 18);
  CHECK(minimum_fast_words(online, k_rbw) == 5);
  CHECK(minimum_fast_words(online.graph(), k_rbw) == 5);
  // One query row at a time, 2 d + 2 words and 2 d + 4 for a key row and a score: as many words as the schedule says.
  for (const std::string size : {"n=6 d=3", "n=9 d=2 causal=1", "n=5 d=2 heads=2 kv_heads=1"}) {
    INFO(size);
    const Operation operation = parse_operation("attention online=1 " + size);
    const Words d = operation.contractions[0].domain.dims().back().extent.constant, fast = 4 * d + 6;
    const Cdag graph = operation.graph();
    const auto schedule = operation.schedules.front()(fast, Sliding::forbidden);
    REQUIRE(schedule.has_value());
    const UpperBound play = play_in_order(graph, Sliding::forbidden, fast, {.order = graph.order()});
    REQUIRE(verify(graph, k_rbw, fast, play.play).cost.has_value());
    CHECK(play.words <= schedule->words);
    CHECK(bracket(operation, fast, k_rbw).lower.words <= play.words);
  }
  // Both sides are those of the plain softmax.
  const std::string large = "attention n=1048576 d=64";
  const Words fast = 300 * 64 * 64;
  const Bracket plain = bracket(parse_operation(large), fast, k_rbw);
  const Bracket kept = bracket(parse_operation(large + " online=1"), fast, k_rbw);
  CHECK(kept.lower.words == plain.lower.words);
  CHECK(kept.upper->words == plain.upper->words);
}

TEST_CASE("butterflies: never above a play, in any game") {
  std::size_t index = 0;
  for (int n : {8, 16, 64, 256, 1024})
    for (Words fast : {3, 4, 6, 10, 18, 34, 66})
      for (Game game : k_all_games) {
        if (!cairn::test::taken(index++)) continue;
        const Operation operation = fft_operation(n);
        const Bracket both = bracket(operation, fast, game);
        INFO("n=" << n << " S=" << fast << " " << to_string(game));
        if (both.upper) REQUIRE(both.lower.words <= both.upper->words);
        if (n <= 256 && game.sliding == Sliding::forbidden)
          REQUIRE(both.lower.words <= best_ordered_play(operation.graph(), Sliding::forbidden, fast).words);
      }
}

TEST_CASE("butterflies: a large transform, by hand") {
  // n = 2^40, S = 1,000, T = 2^20 - 1,000, X = 2^20 words at hand: at most X (20 + j) / (1 - 2^-(j+1)) values, j = 3:
  // 24.53 X. Of 40 n values: 40 / 24.53 n / X stretches of T loads; the outputs stored.
  const double n = std::exp2(40.0), x = std::exp2(20.0);
  const double values = x * 23.0 / (1.0 - std::exp2(-4.0));
  const double loads = (x - 1000.0) * (40.0 * n / values - 1.0);
  const Words bound = bracket(fft_operation(Words{1} << 40), 1000, k_rbw).lower.words;
  CHECK(static_cast<double>(bound) >= loads + n - 1.0);
  // Larger stretches lose less at their ends and more by their reach; two sides of a known order: within a factor of 4.
  const Bracket both = bracket(fft_operation(Words{1} << 40), Words{1} << 20, k_rbw);
  CHECK(both.lower.words > 2 * (Words{1} << 40));
  CHECK(static_cast<double>(both.upper->words) / static_cast<double>(both.lower.words) < 4.0);
}
