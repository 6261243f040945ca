// Operators as graphs, and graphs in brackets.
#include "cairn/pebble/graph_bracket.h"

#include "cairn/core/diagnostics.h"
#include "cairn/pebble/exact.h"
#include "cairn/pebble/generators.h"
#include "cairn/pebble/operation_text.h"
#include "catch.h"
#include "pebble/games.h"
#include "support/share.h"

using namespace cairn;
using namespace cairn::pebble;

namespace {

// Small enough to be searched, large enough that every loop turns at least twice where it can.
const std::vector<std::string> k_small{"matmul m=2 n=2 k=2",
                                       "matmul-update m=2 n=2 k=2",
                                       "batched-matmul b=2 m=2 n=2 k=1",
                                       "matmul-chain m=2 k=1 n=2 l=1",
                                       "attention n=2 d=1",
                                       "attention n=2 d=1 heads=2 kv_heads=1",
                                       "attention n=2 d=1 causal=1",
                                       "attention n=2 d=2 online=1",
                                       "attention n=3 d=1 online=1",
                                       "attention-backward n=1 d=2",
                                       "attention-backward n=2 d=1",
                                       "attention-backward n=2 d=1 causal=1",
                                       "attention-backward n=1 d=1 heads=2 kv_heads=1",
                                       "conv2d ci=1 co=1 h=1 w=3 r=1 s=2",
                                       "conv2d ci=1 co=1 h=1 w=2 r=1 s=2 stride=2",
                                       "syrk n=3 m=2",
                                       "lu n=3",
                                       "cholesky n=3",
                                       "fft n=4",
                                       "embedding tokens=3 width=2 rows=2",
                                       "softmax rows=2 n=3",
                                       "layernorm rows=2 n=3",
                                       "cg n=2 t=1",
                                       "gmres n=2 m=1",
                                       "jacobi d=1 n=4 t=2",
                                       "jacobi d=2 n=2 t=2"};

}  // namespace

TEST_CASE("operator graphs: every operator at small sizes lies in its own bracket") {
  std::size_t index = 0;
  constexpr std::size_t k_states = 100'000 / test::k_share;
  for (const std::string& text : k_small) {
    const Operation operation = parse_operation(text);
    const Cdag graph = small_graph(operation);
    INFO(text << ", " << graph.size() << " vertices");
    REQUIRE(static_cast<Words>(graph.input_count()) == operation.inputs);
    REQUIRE(graph.stored_output_words() == operation.outputs);
    for (Game game : k_all_games) {
      const Words least = minimum_fast_words(operation, game);
      REQUIRE(least == minimum_fast_words(graph, game));
      for (Words fast : {least, least + 1, least + 3, least + 12}) {
        if (!test::taken(index++)) continue;
        const ExactResult exact = solve_exactly(graph, game, fast, k_states);
        INFO(to_string(game) << " S = " << fast);
        for (const LowerBound& bound : lower_bounds(operation, fast)) {
          INFO(bound.method << " " << bound.words);
          if (bound.games.contains(game) && exact.cost) REQUIRE(bound.words <= exact.cost->total());
        }
        const Bracket both = bracket(operation, fast, game);
        if (both.upper) REQUIRE(exact.lower <= both.upper->words);
        const Bracket of_graph = bracket(graph, fast, game);
        if (exact.cost) REQUIRE(of_graph.lower.words <= exact.cost->total());
        REQUIRE(exact.lower <= of_graph.upper->words);
        if (exact.cost) REQUIRE(exact.cost->total() <= of_graph.upper->words);
      }
    }
  }
}

TEST_CASE("operator graphs: arithmetic by hand") {
  CHECK(parse_operation("matmul m=2 n=3 k=5").flops == 2 * 30);
  CHECK(parse_operation("batched-matmul b=7 m=2 n=3 k=5").flops == 7 * 60);
  CHECK(parse_operation("matmul-chain m=2 k=3 n=5 l=7").flops == 2 * 2 * 3 * 5 + 2 * 2 * 5 * 7);
  // 9 pairs, 2 d each in both products, an exponential and an addition; n d divisions.
  CHECK(parse_operation("attention n=3 d=2").flops == 9 * 8 + 2 * 9 + 6);
  CHECK(parse_operation("attention n=3 d=2 causal=1").flops == 6 * 8 + 2 * 6 + 6);
  CHECK(parse_operation("conv2d b=2 ci=3 co=5 h=4 w=4 r=3 s=3").flops == 2 * 2 * 3 * 5 * 16 * 9);
  CHECK(parse_operation("syrk n=4 m=3").flops == 2 * 6 * 3);
  // n = 3: column 0: 2 divisions, 4 updates; column 1: 1 and 1.
  CHECK(parse_operation("lu n=3").flops == 3 + 2 * 5);
  // n = 3: 3 roots, 3 divisions; updates of the lower triangle: 3 after column 0, 1 after column 1.
  CHECK(parse_operation("cholesky n=3").flops == 3 + 3 + 2 * 4);
  CHECK(parse_operation("softmax rows=2 n=5").flops == 2 * (5 + 4 + 5));
  CHECK(parse_operation("layernorm rows=2 n=5").flops == 2 * (4 + 5));
  CHECK(parse_operation("jacobi d=1 n=4 t=2").flops == 2 * (2 + 3 + 3 + 2));
  CHECK(parse_operation("jacobi d=2 n=3 t=1").flops == 9 + 4 * 6);
}

TEST_CASE("operator graphs: the derivative of attention") {
  // 9 pairs, five products of 2 d and four operations besides.
  CHECK(parse_operation("attention-backward n=3 d=2").flops == 9 * (20 + 4));
  CHECK(parse_operation("attention-backward n=3 d=2 causal=1").flops == 6 * (20 + 4));
  // Its schedule at S words: about 4 d words stay for each key row; each block reads Q, dO and dQ and writes dQ. With n
  // = 4 and two blocks of 2: K, V 2 n d; Q, dO and statistics twice, dQ loaded once and stored twice; dK and dV stored.
  const Operation operation = parse_operation("attention-backward n=4 d=8");
  const Words n = 4, d = 8, fast = 4 * 2 * d + 3 * d + 2 + 6;
  const auto upper = operation.schedules.front()(fast, Sliding::forbidden);
  REQUIRE(upper.has_value());
  CHECK(upper->loads == 2 * n * d + 2 * n * (2 * d + 2) + n * d);
  CHECK(upper->stores == 2 * n * d + 2 * n * d);
  CHECK_FALSE(operation.schedules.front()(7 * d + 7, Sliding::forbidden).has_value());
  // Long sequences: a bracket that does not open with their length. 3 d words of a query row, 4 d of a key row and S +
  // S words at hand in a stretch: 12 n^2 d^2 / S at least, 16 by the schedule, both for S far beyond d^2.
  const Bracket far = bracket(parse_operation("attention-backward n=2097152 d=64"), 300 * 64 * 64, k_rbw);
  REQUIRE(far.upper->words >= far.lower.words);
  CHECK(static_cast<double>(far.upper->words) / static_cast<double>(far.lower.words) <= 1.45);
  const Bracket farther = bracket(parse_operation("attention-backward n=8388608 d=64"), 300 * 64 * 64, k_rbw);
  CHECK(static_cast<double>(farther.upper->words) / static_cast<double>(farther.lower.words) <= 1.45);
}

namespace {

// The two passes of attention's derivative, move by move: n query rows and n key rows of d words, one head, values
// numbered as operation_graphs.cpp makes them: Q, dO, statistics, K, V, then pair by pair, key row by key row.
class TwoPasses {
 public:
  TwoPasses(Vertex n, Vertex d) : n_(n), d_(d) {}

  Play play(Vertex queries, Vertex keys) {
    for (Vertex first = 0; first < n_; first += queries) dq_of(first, std::min(n_, first + queries));
    for (Vertex first = 0; first < n_; first += keys) dk_dv_of(first, std::min(n_, first + keys));
    return std::move(play_);
  }

 private:
  static constexpr int k_dv = 0, k_dq = 1, k_dk = 2;  // order in which a pair adds to the three
  Vertex q(Vertex i, Vertex c) const { return i * d_ + c; }
  Vertex d_o(Vertex i, Vertex c) const { return (n_ + i) * d_ + c; }
  Vertex statistic(Vertex i, Vertex which) const { return 2 * n_ * d_ + 2 * i + which; }
  Vertex k(Vertex j, Vertex c) const { return 2 * n_ * (d_ + 1) + j * d_ + c; }
  Vertex v(Vertex j, Vertex c) const { return k(n_ + j, c); }
  Vertex pair(Vertex i, Vertex j) const { return 4 * n_ * d_ + 2 * n_ + (j * n_ + i) * (5 * d_ + 2); }
  Vertex score(Vertex i, Vertex j, Vertex c) const { return pair(i, j) + c; }
  Vertex p(Vertex i, Vertex j) const { return pair(i, j) + d_; }
  Vertex dp(Vertex i, Vertex j, Vertex c) const { return pair(i, j) + d_ + 1 + c; }
  Vertex ds(Vertex i, Vertex j) const { return pair(i, j) + 2 * d_ + 1; }
  Vertex sum(Vertex i, Vertex j, Vertex c, int which) const {
    return ds(i, j) + 1 + 3 * c + static_cast<Vertex>(which);
  }

  void move(MoveKind kind, Vertex vertex) { play_.push_back({.kind = kind, .vertex = vertex}); }
  void query_row(MoveKind kind, Vertex i) {
    for (Vertex c = 0; c < d_; ++c) move(kind, q(i, c)), move(kind, d_o(i, c));
    for (Vertex which : {0U, 1U}) move(kind, statistic(i, which));
  }
  void key_row(MoveKind kind, Vertex j) {
    for (Vertex c = 0; c < d_; ++c) move(kind, k(j, c)), move(kind, v(j, c));
  }
  // Leaves p and ds.
  void make(Vertex i, Vertex j) {
    for (Vertex c = 0; c < d_; ++c) next(score(i, j, c), c == 0);
    move(MoveKind::compute, p(i, j));
    move(MoveKind::erase, score_);
    for (Vertex c = 0; c < d_; ++c) next(dp(i, j, c), c == 0);
    move(MoveKind::compute, ds(i, j));
    move(MoveKind::erase, score_);
  }
  void next(Vertex made, bool first) {
    add_to(made, score_, first);
    score_ = made;
  }
  void add_to(Vertex made, Vertex before, bool first) {
    move(MoveKind::compute, made);
    if (!first) move(MoveKind::erase, before);
  }
  void leave(Vertex vertex) {
    move(MoveKind::store, vertex);
    move(MoveKind::erase, vertex);
  }

  void dq_of(Vertex begin, Vertex end) {
    for (Vertex i = begin; i < end; ++i) query_row(MoveKind::load, i);
    for (Vertex j = 0; j < n_; ++j) {
      key_row(MoveKind::load, j);
      for (Vertex i = begin; i < end; ++i) {
        make(i, j);
        for (Vertex c = 0; c < d_; ++c) add_to(sum(i, j, c, k_dq), j == 0 ? 0 : sum(i, j - 1, c, k_dq), j == 0);
        for (Vertex each : {p(i, j), ds(i, j)}) move(MoveKind::erase, each);
      }
      key_row(MoveKind::erase, j);
    }
    for (Vertex i = begin; i < end; ++i) {
      query_row(MoveKind::erase, i);
      for (Vertex c = 0; c < d_; ++c) leave(sum(i, n_ - 1, c, k_dq));
    }
  }
  void dk_dv_of(Vertex begin, Vertex end) {
    for (Vertex j = begin; j < end; ++j) key_row(MoveKind::load, j);
    for (Vertex i = 0; i < n_; ++i) {
      query_row(MoveKind::load, i);
      for (Vertex j = begin; j < end; ++j) {
        make(i, j);
        for (int which : {k_dv, k_dk})
          for (Vertex c = 0; c < d_; ++c) add_to(sum(i, j, c, which), i == 0 ? 0 : sum(i - 1, j, c, which), i == 0);
        for (Vertex each : {p(i, j), ds(i, j)}) move(MoveKind::erase, each);
      }
      query_row(MoveKind::erase, i);
    }
    for (Vertex j = begin; j < end; ++j) {
      key_row(MoveKind::erase, j);
      for (int which : {k_dv, k_dk})
        for (Vertex c = 0; c < d_; ++c) leave(sum(n_ - 1, j, c, which));
    }
  }

  Vertex n_, d_, score_ = 0;
  Play play_;
};

}  // namespace

TEST_CASE("operator graphs: two passes over attention's derivative, move by move") {
  // n = 4, d = 2, 28 words: 2 (3 d + 2) + 2 d + 6 = 26 and 2 * 4 d + 2 d + 2 + 6 = 28, two rows each. Query rows and
  // statistics n (2 d + 2), keys and values twice, then K and V, query rows twice: 24 + 32 + 16 + 48 loads.
  const Game hong_kung{Rules::hong_kung, Sliding::forbidden};
  const Operation operation = parse_operation("attention-backward n=4 d=2");
  const auto upper = operation.schedules[1](28, Sliding::forbidden);
  REQUIRE(upper.has_value());
  CHECK(upper->loads == 24 + 32 + 16 + 48);
  CHECK(upper->stores == 3 * 4 * 2);
  const Cdag graph = operation.graph();
  const Verdict verdict = verify(graph, hong_kung, 28, TwoPasses(4, 2).play(2, 2));
  REQUIRE(verdict.cost.has_value());
  CHECK(verdict.cost->loads == upper->loads);
  CHECK(verdict.cost->stores == upper->stores);
  // Values made twice: no play of the other game, and not offered there.
  CHECK_FALSE(verify(graph, k_rbw, 28, TwoPasses(4, 2).play(2, 2)).cost.has_value());
  CHECK_FALSE(upper->games.contains(k_rbw));
  // Causal, two blocks of 2: the first meets 2 keys, the second 4; keys 0 and 1 meet 4 queries, 2 and 3 meet 2.
  const auto causal = parse_operation("attention-backward n=4 d=2 causal=1").schedules[1](28, Sliding::forbidden);
  REQUIRE(causal.has_value());
  CHECK(causal->loads == 24 + 6 * 4 + 16 + 6 * 6);
  // 14 n^2 d^2 / S for large S and n, where one pass takes 16.
  const double n = 2097152.0, d = 64.0, s = 300 * d * d;
  const Bracket far = bracket(parse_operation("attention-backward n=2097152 d=64"), 300 * 64 * 64, hong_kung);
  CHECK(far.upper->method.find("two passes") == 0);
  CHECK(static_cast<double>(far.upper->words) == Approx(14 * n * n * d * d / s).epsilon(0.03));
}

TEST_CASE("operator graphs: one head is the generator's attention") {
  const Cdag ours = small_graph(parse_operation("attention n=2 d=2")), theirs = attention_graph(2, 2);
  CHECK(ours.size() == theirs.size());
  CHECK(ours.edge_count() == theirs.edge_count());
  const Cdag heads = small_graph(parse_operation("attention n=2 d=1 heads=2 kv_heads=1"));
  // 4 query words, 2 of K, 2 of V; per query row 2 scores, 2 exponentials, 1 sum, 2 products, 1 quotient.
  CHECK(heads.size() == 8 + 4 * 8);
}

TEST_CASE("operator graphs: what is too large is refused before it is built") {
  CHECK_THROWS_AS(small_graph(parse_operation("matmul m=8192 n=8192 k=8192")), core::ConfigurationError);
  CHECK_THROWS_AS(small_graph(parse_operation("fft n=1073741824")), core::ConfigurationError);
  CHECK_THROWS_AS(small_graph(parse_operation("cg n=1 t=1000000000")), core::ConfigurationError);
  CHECK_THROWS_AS(small_graph(parse_operation("matmul m=4 n=4 k=3")), core::ConfigurationError);
}

TEST_CASE("graph bracket: methods that recomputation refutes stay out of its game") {
  // Red-blue-white needs 8 transfers at S = 3, Hong-Kung 2: a wavefront bound would exceed the latter.
  const Cdag ladder = ladder_graph(6, 1);
  const Game hong_kung{Rules::hong_kung, Sliding::forbidden};
  CHECK(bracket(ladder, 3, hong_kung).lower.words <= solve_exactly(ladder, hong_kung, 3).cost->total());
  CHECK(bracket(ladder, 3, k_rbw).lower.words > bracket(ladder, 3, hong_kung).lower.words);
  CHECK_THROWS_AS(bracket(ladder, 1, k_rbw), core::ConfigurationError);
}
