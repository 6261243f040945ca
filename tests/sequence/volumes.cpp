// What ranks receive, in closed form. The closed forms live here alone: p ranks, r rows, c columns, u ranks that split
// heads, b sequences of n tokens, e bytes of an operand, g of a gradient, 4 of a statistic.
#include <algorithm>
#include <numeric>

#include "cairn/core/random.h"
#include "cairn/sequence/folds.h"
#include "cairn/sequence/scheme.h"
#include "catch.h"

using namespace cairn;
using namespace cairn::sequence;

namespace {

constexpr std::int64_t k_statistic = 4;

// A problem of any shape that the ranks of a grid can share, of any form of heads that u ranks can split.
Problem drawn(core::Random& random, const Grid& grid, Mask mask) {
  const auto upto = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most)));
  };
  const std::int64_t u = grid.head_ranks;
  Problem problem{.tokens = 2 * grid.ranks() * upto(5),
                  .sequences = upto(3),
                  .kv_heads = u * upto(2),
                  .head_dim = 8 * upto(3),
                  .value_dim = 8 * upto(3),
                  .mask = mask,
                  .wire = {.operand = upto(2), .gradient = 2 * upto(2), .statistic = k_statistic}};
  problem.heads = problem.kv_heads * upto(4);
  if (u % 2 == 0 && upto(3) == 1) {  // copies of key heads
    problem.kv_heads = u / 2;
    problem.heads = u * upto(3);
  }
  return problem;
}

// What the closed forms are made of: a rank's own b n/p tokens, and elements of a token for one of u ranks.
struct Sizes {
  Sizes(const Problem& problem, const Grid& grid)
      : own(problem.sequences * problem.tokens / grid.token_ranks()),
        queries(problem.heads / grid.head_ranks * problem.head_dim),
        outputs(problem.heads / grid.head_ranks * problem.values()),
        keys(std::max<std::int64_t>(problem.kv_heads / grid.head_ranks, 1) * (problem.head_dim + problem.values())),
        statistics(problem.heads / grid.head_ranks * k_statistic),
        e(problem.wire.operand),
        g(problem.wire.gradient) {}
  std::int64_t own, queries, outputs;
  std::int64_t keys;        // K and V together
  std::int64_t statistics;  // [B]
  std::int64_t e, g;
};

std::int64_t ring_closed_form(const Sizes& s, std::int64_t p, Pass pass) {
  if (p == 1) return 0;
  return s.own * s.keys * (pass == Pass::forward ? (p - 1) * s.e : (p - 1) * s.e + p * s.g);
}

std::int64_t all_gather_closed_form(const Sizes& s, std::int64_t p, Pass pass) {
  return (p - 1) * s.own * s.keys * (pass == Pass::forward ? s.e : s.e + s.g);
}

std::int64_t attention2d_closed_form(const Sizes& s, std::int64_t r, std::int64_t c, Pass pass) {
  return pass == Pass::forward
             ? s.own * ((c - 1) * ((s.queries + s.outputs) * s.e + s.statistics) + (r - 1) * s.keys * s.e)
             : s.own * ((c - 1) * ((s.queries + s.outputs) * s.e + 2 * s.statistics + s.queries * s.g) +
                        (r - 1) * s.keys * (s.e + s.g));
}

// Of ranks off the diagonal: K, V, and backward also dK, dV.
std::int64_t moved_keys_closed_form(const Sizes& s, std::int64_t r, std::int64_t c, std::int64_t rank, Pass pass) {
  if ((rank / c - rank % c) % std::gcd(r, c) == 0) return 0;
  return s.own * s.keys * (pass == Pass::forward ? s.e : s.e + s.g);
}

// Each of u ranks owns one u-th of the tokens of which it has some heads.
std::int64_t head_exchange_closed_form(const Sizes& s, std::int64_t u, Pass pass) {
  return s.own / u * (u - 1) *
         (pass == Pass::forward ? (s.queries + s.keys + s.outputs) * s.e
                                : s.outputs * s.e + (s.queries + s.keys) * s.g);
}

std::int64_t messages(const RankList& list) {
  return std::count_if(list.calls.begin(), list.calls.end(), [](const Call& call) { return !call.sends.empty(); });
}

// Calls check(problem, grid, pass, rank) for every rank of every grid of a scheme of the mask, each for several problems.
template <class Check>
void for_ranks(std::string_view name, Mask mask, Check check) {
  core::Random random(7);
  for (const std::int64_t ranks : {1, 2, 3, 4, 6, 8, 12, 16, 24, 64})
    for (const Grid& grid : scheme(name).grids(ranks))
      for (int draw = 0; draw < 3; ++draw) {
        const Problem problem = drawn(random, grid, mask);
        if (grid.layout == Layout::contiguous && grid.rows > 1 && mask == Mask::causal) continue;
        for (const Pass pass : {Pass::forward, Pass::backward})
          for (const std::int64_t rank : {std::int64_t{0}, ranks / 3, ranks - 1}) {
            INFO(name << " on " << text(grid) << ", rank " << rank << ", n " << problem.tokens << ", heads "
                      << problem.heads << "/" << problem.kv_heads);
            check(problem, grid, pass, rank);
          }
      }
}

std::int64_t received(std::string_view name, const Problem& problem, const Grid& grid, Pass pass, std::int64_t rank) {
  return bytes_received(problem, scheme(name).list(problem, grid, pass, rank));
}

// A scheme's closed form by rank of those that share tokens, and what the split of heads adds.
template <class ClosedForm>
void check_volume(std::string_view name, Mask mask, ClosedForm closed_form) {
  for_ranks(name, mask, [&](const Problem& problem, const Grid& grid, Pass pass, std::int64_t rank) {
    const std::int64_t token_rank = grid.heads_inner ? rank / grid.head_ranks : rank % grid.token_ranks();
    const Sizes sizes(problem, grid);
    CHECK(received(name, problem, grid, pass, rank) ==
          closed_form(sizes, grid, token_rank, pass) + head_exchange_closed_form(sizes, grid.head_ranks, pass));
  });
}

}  // namespace

TEST_CASE("every rank of a ring receives (p-1) blocks of K, V and p parts of dK, dV") {
  const auto closed_form = [](const Sizes& sizes, const Grid& grid, std::int64_t, Pass pass) {
    return ring_closed_form(sizes, grid.token_ranks(), pass);
  };
  for (const Mask mask : {Mask::full, Mask::causal})
    for (const std::string_view name :
         {"ring", "striped", "zigzag", "gathered-zigzag", "usp", "megatron-p2p", "megatron-a2a-p2p"})
      check_volume(name, mask, closed_form);
  check_volume("double-ring", Mask::full, closed_form);
  check_volume("loongtrain", Mask::full, closed_form);
}

// The published form, in 2 bytes everywhere: 2 b n d_kv (p-1)/p and (4p-2) b n d_kv / p elements.
TEST_CASE("a ring moves its published volume in its published messages") {
  for (const std::int64_t p : {2, 4, 8, 64}) {
    const std::int64_t b = 2, n = 4 * p, kv_heads = 2, d_kv = kv_heads * 16;
    const Problem problem{.tokens = n, .sequences = b, .heads = 8, .kv_heads = kv_heads, .head_dim = 16};
    for (const std::string_view name : {"ring", "striped", "zigzag"}) {
      const Grid grid = scheme(name).grids(p).front();
      const RankList forward = scheme(name).list(problem, grid, Pass::forward, p / 2);
      const RankList backward = scheme(name).list(problem, grid, Pass::backward, p / 2);
      CHECK(bytes_received(problem, forward) == 2 * (2 * b * n * d_kv * (p - 1) / p));
      CHECK(bytes_received(problem, backward) == 2 * ((4 * p - 2) * b * n * d_kv / p));
      CHECK(messages(forward) == p - 1);
      CHECK(messages(backward) == 2 * p - 1);
      CHECK(forward.stages == p);
      CHECK(backward.stages == p + 1);
    }
  }
}

// Keys and values come in one call beside the first tile; the p parts of dK, dV in as many as in a ring. From the second
// tile on rank 0, whose queries meet both chunks of every later rank, holds the keys of all p - 1 others.
TEST_CASE("a gathered ring has one all-gather in place of the hops of keys") {
  for (const std::int64_t p : {2, 4, 8, 64}) {
    const Problem problem{.tokens = 4 * p, .sequences = 2, .heads = 8, .kv_heads = 2, .head_dim = 16};
    const Grid grid = scheme("gathered-zigzag").grids(p).front();
    const auto list = [&](Pass pass, std::int64_t rank) {
      return scheme("gathered-zigzag").list(problem, grid, pass, rank);
    };
    const RankList forward = list(Pass::forward, p / 2), backward = list(Pass::backward, p / 2);
    CHECK(messages(forward) == 1);
    CHECK(messages(backward) == 1 + p);
    CHECK(forward.stages == p);
    CHECK(backward.stages == p + 1);
    for (const RankList& each : {forward, backward}) {
      CHECK(each.calls.front().collective == collective::Collective::all_gather);
      CHECK(each.calls.front().begins == 0);
      CHECK(each.calls.front().ends == 0);
      CHECK(each.tiles.size() == static_cast<std::size_t>(p));
    }
    CHECK(buffer_bytes(problem, list(Pass::forward, 0)) >= (p - 1) * Sizes(problem, grid).own * 2 * 32 * 2);
  }
}

// In window a > 0 of w ranks, the parts of dK, dV of the blocks of a earlier windows have one chunk, not two, on the
// w - 1 hops inside the window: later queries see the first chunk alone.
TEST_CASE("a causal double ring sends no rows of gradients that there are not") {
  const auto closed_form = [](const Sizes& sizes, const Grid& grid, std::int64_t rank, Pass pass) {
    const std::int64_t whole = ring_closed_form(sizes, grid.token_ranks(), pass);
    if (pass == Pass::forward || grid.layout != Layout::zigzag) return whole;
    return whole - rank / grid.window * (grid.window - 1) * sizes.own / 2 * sizes.keys * sizes.g;
  };
  check_volume("double-ring", Mask::causal, closed_form);
  check_volume("loongtrain", Mask::causal, closed_form);
}

TEST_CASE("a double ring sends as often as a ring") {
  const Problem problem{.tokens = 48, .heads = 1, .kv_heads = 1};
  for (const Grid& grid : scheme("double-ring").grids(12)) {
    if (grid.window == 12 || grid.window == 1) continue;
    INFO(text(grid));
    const RankList forward = scheme("double-ring").list(problem, grid, Pass::forward, 5);
    const RankList backward = scheme("double-ring").list(problem, grid, Pass::backward, 5);
    CHECK(messages(forward) == 11);
    CHECK(messages(backward) == 23);
    const auto outer = [](const RankList& list) {
      return std::count_if(list.calls.begin(), list.calls.end(), [](const Call& call) { return call.lane == 1; });
    };
    CHECK(outer(forward) == 12 / grid.window - 1);
    CHECK(outer(backward) == 2 * (12 / grid.window - 1));
  }
}

TEST_CASE("an all-gather of K, V brings (p-1)/p of them, and backward the sums of dK, dV as much") {
  for (const Mask mask : {Mask::full, Mask::causal})
    for (const std::string_view name : {"all-gather", "megatron-all-gather"})
      check_volume(name, mask, [](const Sizes& sizes, const Grid& grid, std::int64_t, Pass pass) {
        return all_gather_closed_form(sizes, grid.token_ranks(), pass);
      });
}

TEST_CASE("a split of heads alone moves the exchanges of tokens for heads") {
  for (const std::string_view name : {"ulysses", "megatron-a2a"})
    check_volume(name, Mask::causal, [](const Sizes&, const Grid&, std::int64_t, Pass) { return std::int64_t{0}; });
}

// b n (2d + 2 d_kv)(p-1)/p^2 elements; where two ranks have a copy of each key head, 2 d_kv counts twice.
TEST_CASE("Ulysses moves its published volume") {
  for (const std::int64_t p : {2, 4, 8}) {
    const std::int64_t b = 3, n = p * p * 2, d = 2 * p * 16;
    for (const std::int64_t kv_heads : {2 * p, p, p / 2}) {
      const std::int64_t copies = kv_heads < p ? 2 : 1, d_kv = kv_heads * 16;
      const Problem problem{.tokens = n, .sequences = b, .heads = 2 * p, .kv_heads = kv_heads, .head_dim = 16};
      for (const Pass pass : {Pass::forward, Pass::backward}) {
        const RankList list = scheme("ulysses").list(problem, {.head_ranks = p}, pass, p - 1);
        CHECK(bytes_received(problem, list) == 2 * (b * n * (2 * d + 2 * d_kv * copies) * (p - 1) / (p * p)));
        CHECK(messages(list) == 2);
      }
    }
  }
}

TEST_CASE("attention2d gathers along rows and columns, and moves keys off the diagonal of a causal mask first") {
  for (const std::string_view name : {"attention2d", "attention2d-overlapped", "ulysses-2d"}) {
    check_volume(name, Mask::full, [](const Sizes& sizes, const Grid& grid, std::int64_t, Pass pass) {
      return attention2d_closed_form(sizes, grid.rows, grid.columns, pass);
    });
    check_volume(name, Mask::causal, [](const Sizes& sizes, const Grid& grid, std::int64_t rank, Pass pass) {
      return attention2d_closed_form(sizes, grid.rows, grid.columns, pass) +
             moved_keys_closed_form(sizes, grid.rows, grid.columns, rank, pass);
    });
  }
}

// V_f = e b n/p [2 d (c-1) + 2 d_kv (r-1)] + 4 b h n/p (c-1), V_b = e b n/p [3 d (c-1) + 4 d_kv (r-1)] + 8 b h n/p (c-1);
// keys that move first: 2 e b n/p d_kv, of all ranks but p / gcd(r, c).
TEST_CASE("attention2d moves its derived volume") {
  struct Shape {
    std::int64_t rows, columns, common;
  };
  for (const auto& [r, c, common] : {Shape{1, 4, 1}, Shape{2, 2, 2}, Shape{2, 4, 2}, Shape{4, 2, 2}, Shape{4, 4, 4},
                                     Shape{8, 8, 8}, Shape{4, 6, 2}, Shape{3, 4, 1}, Shape{5, 1, 1}}) {
    const std::int64_t p = r * c, own = 4, n = own * p, b = 2, h = 8, d = h * 16, d_kv = d / 4, e = 2;
    const Problem problem{.tokens = n, .sequences = b, .heads = h, .kv_heads = h / 4, .head_dim = 16};
    const Grid grid{.rows = r, .columns = c, .layout = Layout::striped};
    const std::int64_t forward = e * b * own * (2 * d * (c - 1) + 2 * d_kv * (r - 1)) + 4 * b * h * own * (c - 1);
    const std::int64_t backward = e * b * own * (3 * d * (c - 1) + 4 * d_kv * (r - 1)) + 8 * b * h * own * (c - 1);
    const std::int64_t moved = 2 * e * b * own * d_kv;
    for (const std::string_view name : {"attention2d", "attention2d-overlapped"}) {
      INFO(name << " on " << text(grid));
      std::int64_t movers = 0;
      for (std::int64_t rank = 0; rank < p; ++rank) {
        const std::int64_t more = received(name, problem, grid, Pass::forward, rank) - forward;
        CHECK((more == 0 || more == moved));
        CHECK(received(name, problem, grid, Pass::backward, rank) == backward + 2 * more);
        movers += more == moved ? 1 : 0;
      }
      CHECK(movers == p - p / common);
    }
  }
}

TEST_CASE("attention2d along one side is an all-gather of keys, or of queries") {
  const Problem problem{.tokens = 64, .heads = 4, .kv_heads = 2, .head_dim = 8};
  const Grid column{.rows = 8, .columns = 1, .layout = Layout::striped};
  for (const Pass pass : {Pass::forward, Pass::backward})
    CHECK(received("attention2d", problem, column, pass, 3) ==
          received("all-gather", problem, {.columns = 8}, pass, 3));
}

TEST_CASE("a token ring brings Q and sends O with its log-sum-exp home") {
  const auto operands = [](const Sizes& s, Pass pass) {
    return pass == Pass::forward ? s.queries * s.e : (s.queries + s.outputs) * s.e + 2 * s.statistics;
  };
  const auto results = [](const Sizes& s, Pass pass) {
    return pass == Pass::forward ? s.outputs * s.e + s.statistics : s.queries * s.g;
  };
  check_volume("token-ring", Mask::full, [&](const Sizes& sizes, const Grid& grid, std::int64_t, Pass pass) {
    return (grid.columns - 1) * sizes.own * (operands(sizes, pass) + results(sizes, pass));
  });
  // Ranks before the owner of queries see all of them; later ones its second chunk, or none of a contiguous block.
  check_volume("token-ring", Mask::causal, [&](const Sizes& sizes, const Grid& grid, std::int64_t rank, Pass pass) {
    const std::int64_t later = grid.layout == Layout::zigzag ? (grid.columns - 1 - rank) * sizes.own / 2 : 0;
    return (grid.columns - 1) * sizes.own * operands(sizes, pass) + (rank * sizes.own + later) * results(sizes, pass);
  });
}
