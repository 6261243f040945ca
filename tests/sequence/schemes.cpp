// Laws of every scheme of the registry, refusals, and how even the work is.
#include <numeric>
#include <set>

#include "cairn/core/diagnostics.h"
#include "cairn/sequence/folds.h"
#include "cairn/sequence/oracle.h"
#include "cairn/sequence/scheme.h"
#include "catch.h"
#include "sequence/scheme_cases.h"

using namespace cairn;
using namespace cairn::sequence;
using test::all_cases;
using test::all_grids;
using test::Case;

namespace {

std::int64_t visible_pairs(const Problem& problem) {
  std::int64_t visible = 0;
  for (std::int64_t q = 0; q < problem.tokens; ++q)
    for (std::int64_t k = 0; k < problem.tokens; ++k) visible += problem.sees(q, k) ? 1 : 0;
  return visible;
}

std::vector<RankList> lists_of(const Case& each, Pass pass) {
  std::vector<RankList> lists;
  for (std::int64_t rank = 0; rank < each.grid.ranks(); ++rank)
    lists.push_back(each.scheme->list(each.problem, each.grid, pass, rank));
  return lists;
}

// Pairs of every rank.
std::vector<std::int64_t> work(std::string_view name, const Problem& problem, const Grid& grid, Pass pass) {
  std::vector<std::int64_t> pairs_of_ranks;
  for (std::int64_t rank = 0; rank < grid.ranks(); ++rank)
    pairs_of_ranks.push_back(pairs(problem, scheme(name).list(problem, grid, pass, rank)));
  return pairs_of_ranks;
}

double efficiency(const std::vector<std::int64_t>& work) {
  const double sum = static_cast<double>(std::accumulate(work.begin(), work.end(), std::int64_t{0}));
  return sum / static_cast<double>(work.size()) / static_cast<double>(*std::max_element(work.begin(), work.end()));
}

std::string refusal(std::string_view name, const Problem& problem, const Grid& grid) {
  return scheme(name).refusal(problem, grid).value_or("");
}

}  // namespace

TEST_CASE("every scheme computes attention and its gradients") {
  std::uint64_t seed = 1;
  for (const Case& each : all_cases())
    for (const Pass pass : {Pass::forward, Pass::backward}) {
      INFO(each << (pass == Pass::forward ? ", forward" : ", backward"));
      const Verdict verdict = verify(*each.scheme, each.problem, each.grid, pass, seed++);
      CHECK(verdict.fault.value_or("") == "");
      CHECK(verdict.largest_error <= 1e-5);
      CHECK(verdict.pairs == each.problem.heads * visible_pairs(each.problem));
    }
}

TEST_CASE("every grid has a case with each mask, but for causal contiguous blocks in two dimensions") {
  for (const Scheme& scheme : schemes())
    for (const Grid& grid : all_grids(scheme))
      for (const Mask mask : {Mask::full, Mask::causal}) {
        INFO(scheme.name << " on " << text(grid));
        const Problem problem{.tokens = 4 * grid.ranks(),
                              .heads = grid.head_ranks,
                              .kv_heads = grid.head_ranks,
                              .head_dim = 2,
                              .mask = mask};
        const bool offered = mask == Mask::full || !test::two_dimensional(scheme) || grid.layout != Layout::contiguous;
        CHECK(scheme.refusal(problem, grid).has_value() != offered);
      }
}

TEST_CASE("ranks send together what they receive together, and compute every pair") {
  for (Case each : all_cases()) {
    each.problem.sequences = 3;
    INFO(each);
    for (const Pass pass : {Pass::forward, Pass::backward}) {
      std::int64_t sent = 0, received = 0, computed = 0;
      for (const RankList& list : lists_of(each, pass)) {
        sent += bytes_sent(each.problem, list);
        received += bytes_received(each.problem, list);
        computed += pairs(each.problem, list);
      }
      CHECK(sent == received);
      CHECK((sent > 0) == (each.grid.ranks() > 1));
      CHECK(computed == 3 * each.problem.heads * visible_pairs(each.problem));
    }
  }
}

TEST_CASE("a kernel can state the mask of every tile by places") {
  for (Case each : all_cases()) {
    each.problem.documents.clear();
    INFO(each);
    for (const Pass pass : {Pass::forward, Pass::backward})
      for (const RankList& list : lists_of(each, pass))
        for (const Tile& tile : list.tiles) CHECK(local_offset(each.problem, tile.queries, tile.keys).has_value());
  }
}

TEST_CASE("something happens in every stage, and nothing outside") {
  for (const Case& each : all_cases()) {
    INFO(each);
    for (const Pass pass : {Pass::forward, Pass::backward}) {
      std::set<std::int32_t> busy;
      std::set<std::int32_t> stages;
      for (const RankList& list : lists_of(each, pass)) {
        stages.insert(list.stages);
        for (const Tile& tile : list.tiles) busy.insert(tile.stage);
        for (const Call& call : list.calls)
          for (std::int32_t stage = call.begins; stage <= call.ends; ++stage) busy.insert(stage);
      }
      CHECK(stages.size() == 1);
      CHECK(*busy.begin() == 0);
      CHECK(*busy.rbegin() == *stages.begin() - 1);
      CHECK(static_cast<std::int32_t>(busy.size()) == *stages.begin());
    }
  }
}

TEST_CASE("a scheme is known by its name and says what it is") {
  std::set<std::string_view> names;
  for (const Scheme& each : schemes()) {
    INFO(each.name);
    CHECK(&scheme(each.name) == &each);
    CHECK(names.insert(each.name).second);
    CHECK_FALSE(each.summary.empty());
    CHECK_FALSE(each.source.empty());
    for (const Grid& grid : each.grids(12)) {
      CHECK(grid.ranks() == 12);
      CHECK((each.splits_heads || grid.head_ranks == 1));
    }
    CHECK_FALSE(each.grids(12).empty());
    CHECK(each.grids(0).empty());
  }
  CHECK(names.size() == 17);
  const std::vector<std::string> listed = scheme_names();
  CHECK(std::equal(listed.begin(), listed.end(), schemes().begin(), schemes().end(),
                   [](const std::string& name, const Scheme& each) { return name == each.name; }));
  CHECK_THROWS_AS(scheme("pigeon"), core::ConfigurationError);
}

TEST_CASE("grids are what their schemes offer") {
  // 6 ranks: windows of 1, 2, 3, 6 ranks, for each of two layouts.
  CHECK(scheme("double-ring").grids(6).size() == 8);
  // 1 x 6, 2 x 3, 3 x 2, 6 x 1 in two layouts.
  CHECK(scheme("attention2d").grids(6).size() == 8);
  CHECK(scheme("ulysses").grids(6) == std::vector<Grid>{{.head_ranks = 6}});
  CHECK(scheme("usp").grids(4) == std::vector<Grid>{{.columns = 4, .layout = Layout::zigzag},
                                                    {.head_ranks = 2, .columns = 2, .layout = Layout::zigzag},
                                                    {.head_ranks = 4, .layout = Layout::zigzag}});
  // Heads 1: windows 1, 2, 4; heads 2, inside and outside: windows 1, 2; heads 4.
  CHECK(scheme("loongtrain").grids(4).size() == 3 + 2 * 2 + 1);
}

TEST_CASE("a grid reads as its ranks") {
  CHECK(text({.columns = 8}) == "8");
  CHECK(text({.head_ranks = 2, .rows = 4, .columns = 2}) == "4 x 2 (heads 2)");
  CHECK(text({.head_ranks = 2, .heads_inner = false, .columns = 4, .window = 2, .layout = Layout::zigzag}) ==
        "4 (heads 2 outside, window 2, zigzag)");
}

TEST_CASE("systems that share alike have the same lists") {
  const auto same = [](std::string_view one, std::string_view other) {
    for (const std::int64_t ranks : {1, 2, 4, 6}) {
      CHECK(scheme(one).grids(ranks) == scheme(other).grids(ranks));
      for (const Grid& grid : scheme(one).grids(ranks))
        CHECK(scheme(one).owned({.tokens = 24, .heads = 12, .kv_heads = 12}, grid, ranks - 1) ==
              scheme(other).owned({.tokens = 24, .heads = 12, .kv_heads = 12}, grid, ranks - 1));
    }
  };
  same("zigzag", "megatron-p2p");
  same("ulysses", "megatron-a2a");
  same("usp", "megatron-a2a-p2p");
}

TEST_CASE("a scheme says why it cannot share a problem") {
  using Catch::Matchers::Contains;
  const Problem good{.tokens = 64, .heads = 8, .kv_heads = 4, .head_dim = 2};
  Problem problem = good;
  problem.tokens = 61;
  CHECK_THAT(refusal("ring", problem, {.columns = 8}), Contains("61 tokens") && Contains("pad to 64"));
  problem.tokens = 72;  // 9 of a rank: no two equal chunks
  CHECK_THAT(refusal("zigzag", problem, {.columns = 8, .layout = Layout::zigzag}),
             Contains("16 equal pieces") && Contains("pad to 80"));
  problem.tokens = 0;
  CHECK_THAT(refusal("ring", problem, {.columns = 8}), Contains("pad to 8"));
  CHECK_THAT(refusal("ulysses", good, {.head_ranks = 16}), Contains("16 ranks cannot split 8 heads"));
  problem = {.tokens = 60, .heads = 12, .kv_heads = 6};
  CHECK_THAT(refusal("ulysses", problem, {.head_ranks = 4}),
             Contains("4 ranks cannot split 6 heads of keys and values"));
  CHECK(refusal("ulysses", good, {.head_ranks = 8}) == "");  // two ranks hold each key head
  CHECK_THAT(refusal("double-ring", good, {.columns = 8, .window = 3, .layout = Layout::zigzag}),
             Contains("windows of 3"));
  CHECK_THAT(refusal("ring", good, {.columns = 8, .window = 2}), Contains("no inner ring"));
  CHECK_THAT(refusal("attention2d", good, {.rows = 2, .columns = 4}), Contains("must be striped"));
  CHECK(refusal("attention2d", good, {.rows = 2, .columns = 4, .layout = Layout::striped}) == "");
  CHECK_THAT(refusal("ring", good, {.head_ranks = 2, .columns = 4}), Contains("splits no heads"));
  CHECK_THAT(refusal("ulysses", good, {.head_ranks = 2, .columns = 4}), Contains("splits heads alone"));
  CHECK_THAT(refusal("usp", good, {.head_ranks = 2, .heads_inner = false, .columns = 4, .layout = Layout::zigzag}),
             Contains("must be consecutive"));
  CHECK_THAT(refusal("ring", good, {.rows = 2, .columns = 4}), Contains("no rows"));
  CHECK_THAT(refusal("ring", good, {.columns = 8, .layout = Layout::zigzag}), Contains("zigzag"));
  CHECK_THAT(refusal("ring", good, {.columns = 0}), Contains("no ranks"));
}

TEST_CASE("a refusal comes with whatever a scheme does not offer") {
  for (const Scheme& each : schemes())
    for (const Grid& grid : each.grids(8)) {
      INFO(each.name << " on " << text(grid));
      Problem problem{.tokens = 16 * 8, .heads = grid.head_ranks, .kv_heads = grid.head_ranks, .mask = Mask::full};
      CHECK(each.refusal(problem, grid).value_or("") == "");
      ++problem.tokens;
      CHECK(each.refusal(problem, grid).has_value());
    }
}

// The last of p ranks sees p blocks, p - 1 of them whole, the first half of one: 2p-1 times as much, but for the
// diagonals, n/p pairs more in every rank.
TEST_CASE("contiguous blocks are as uneven as they can be") {
  for (const std::int64_t p : {2, 4, 8})
    for (const Pass pass : {Pass::forward, Pass::backward}) {
      const std::int64_t m = 16;
      const Problem problem{.tokens = m * p, .heads = 1, .kv_heads = 1};
      const auto of_ranks = work("ring", problem, {.columns = p}, pass);
      CHECK(of_ranks.front() == m * (m + 1) / 2);
      CHECK(of_ranks.back() - m / 2 == (2 * p - 1) * (of_ranks.front() - m / 2));
    }
}

TEST_CASE("zigzag work is exactly even, in every stage") {
  for (const std::string_view name : {"zigzag", "double-ring"})
    for (const std::int64_t p : {2, 4, 8}) {
      const Problem problem{.tokens = 8 * p, .heads = 2, .kv_heads = 1};
      const Grid grid{.columns = p, .window = name == "zigzag" ? 1 : 2, .layout = Layout::zigzag};
      for (const Pass pass : {Pass::forward, Pass::backward})
        for (std::int64_t rank = 0; rank < p; ++rank) {
          const RankList list = scheme(name).list(problem, grid, pass, rank);
          REQUIRE(static_cast<std::int64_t>(list.tiles.size()) == p);
          // Two chunks of 4: triangles of 10 pairs and a whole square of 16; then 8 x 4, or 4 x 8.
          for (const Tile& tile : list.tiles) {
            CHECK(pairs(problem, tile.queries, tile.keys) == (tile.stage == 0 ? 36 : 32));
            CHECK(tile.joins == (tile.stage > 0));
          }
        }
    }
}

// n = 64: a rank of 4 has 16 queries, rank j sees 16 (j + 1) + 4 (0 + ... + 15) pairs: 544 of the last, 520 in the mean.
TEST_CASE("striped work is nearly even") {
  const Problem problem{.tokens = 64, .heads = 1, .kv_heads = 1};
  const auto striped = [&](std::int64_t p) {
    return efficiency(work("striped", problem, {.columns = p, .layout = Layout::striped}, Pass::forward));
  };
  CHECK(striped(4) == Approx(520.0 / 544.0));
  CHECK(striped(4) == Approx(0.956).epsilon(1e-3));
  CHECK(striped(8) == Approx(260.0 / 288.0));
  CHECK(striped(8) == Approx(0.903).epsilon(1e-3));
}

// A tile of 64 x 64 with its diagonal or without: 64 * 65 / 2 or 64 * 63 / 2 pairs. All pairs are 512 * 513 / 2.
TEST_CASE("the work of attention2d is even within its diagonals") {
  const Problem problem{.tokens = 512, .heads = 1, .kv_heads = 1};
  const Grid grid{.rows = 8, .columns = 8, .layout = Layout::striped};
  for (const std::string_view name : {"attention2d", "attention2d-overlapped"})
    for (const Pass pass : {Pass::forward, Pass::backward}) {
      const auto of_ranks = work(name, problem, grid, pass);
      CHECK(*std::min_element(of_ranks.begin(), of_ranks.end()) == 2016);
      CHECK(*std::max_element(of_ranks.begin(), of_ranks.end()) == 2080);
      CHECK(std::accumulate(of_ranks.begin(), of_ranks.end(), std::int64_t{0}) == 64 * 2052);
    }
}

TEST_CASE("attention2d cuts its causal tile as far as the sides differ") {
  const auto tiles = [](std::int64_t rows, std::int64_t columns) {
    const Problem problem{.tokens = 4 * rows * columns, .heads = 1, .kv_heads = 1};
    const Grid grid{.rows = rows, .columns = columns, .layout = Layout::striped};
    return scheme("attention2d").list(problem, grid, Pass::forward, 0).tiles;
  };
  const auto joins = [](const std::vector<Tile>& all) {
    return std::count_if(all.begin(), all.end(), [](const Tile& tile) { return tile.joins; });
  };
  CHECK(tiles(4, 4).size() == 1);
  CHECK(tiles(2, 8).size() == 4);  // of queries, which nothing joins
  CHECK(joins(tiles(2, 8)) == 0);
  CHECK(tiles(8, 2).size() == 4);  // of keys, joined one to the other
  CHECK(joins(tiles(8, 2)) == 3);
  CHECK(tiles(4, 6).size() == 3 * 2);  // 12 / 4 of queries, 12 / 6 of keys
  CHECK(joins(tiles(4, 6)) == 3);
}

TEST_CASE("a causal contiguous ring leaves out keys behind its queries and passes them on") {
  const Problem problem{.tokens = 16, .heads = 1, .kv_heads = 1};
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    const RankList list = scheme("ring").list(problem, {.columns = 4}, Pass::forward, rank);
    CHECK(static_cast<std::int64_t>(list.tiles.size()) == rank + 1);
    CHECK(list.calls.size() == 3);
  }
}

TEST_CASE("megatron's all-gather runs a kernel for each of its chunks") {
  const Problem problem{.tokens = 32, .heads = 1, .kv_heads = 1};
  const Grid grid{.columns = 4, .layout = Layout::zigzag};
  const RankList list = scheme("megatron-all-gather").list(problem, grid, Pass::forward, 1);
  REQUIRE(list.tiles.size() == 2);
  CHECK(list.tiles[0].keys == Tokens{{.first = 0, .count = 8}});
  CHECK(list.tiles[1].keys == Tokens{{.first = 0, .count = 28}});
  CHECK(list.tiles[1].queries == Tokens{{.first = 24, .count = 4}});
}

TEST_CASE("a double ring sends to the next window for as long as it goes around its own") {
  const Problem problem{.tokens = 48, .heads = 1, .kv_heads = 1};
  const Grid grid{.columns = 6, .window = 3, .layout = Layout::zigzag};
  using Spans = std::vector<std::pair<std::int32_t, std::int32_t>>;
  const auto spans = [&](Pass pass, std::int32_t lane) {
    Spans found;
    for (const Call& call : scheme("double-ring").list(problem, grid, pass, 4).calls)
      if (call.lane == lane) found.push_back({call.begins, call.ends});
    return found;
  };
  CHECK(spans(Pass::forward, 1) == Spans{{0, 2}});
  CHECK(spans(Pass::forward, 0) == Spans{{0, 0}, {1, 1}, {3, 3}, {4, 4}});
  CHECK(spans(Pass::backward, 1) == Spans{{0, 2}, {3, 5}});  // K, V of the first turn; dK, dV of it during the second
  CHECK(spans(Pass::backward, 0) == Spans{{0, 0}, {1, 1}, {1, 1}, {2, 2}, {3, 3}, {4, 4}, {4, 4}, {5, 5}, {6, 6}});
}
