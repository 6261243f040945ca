// Schedules whose results stay: played move by move on small sizes, and held against the bounds on large ones.
#include <algorithm>
#include <cstdio>
#include <map>

#include "cairn/pebble/contraction_graph.h"
#include "cairn/pebble/operation_text.h"
#include "cairn/pebble/schedule.h"
#include "catch.h"
#include "pebble/games.h"

using namespace cairn;
using namespace cairn::pebble;

namespace {

// Every entry of a matrix with its versions: after k updates, and final.
struct Entry {
  std::vector<Vertex> versions;  // the first is the input
};

enum class Factorisation { lu, cholesky };

// The factorisation's graph, right-looking as the generators', and its left-looking play in tiles of `side`.
class TilePlay {
 public:
  TilePlay(Factorisation kind, int n, int side) : kind_(kind), n_(n), side_(side), a_(static_cast<std::size_t>(n * n)) {
    CdagBuilder builder;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < width(i); ++j) at(i, j).versions = {builder.input()};
    const auto next = [&](int i, int j, std::initializer_list<Vertex> operands) {
      std::vector<Vertex> reads(operands);
      reads.insert(reads.begin(), at(i, j).versions.back());
      at(i, j).versions.push_back(builder.compute(reads));
    };
    for (int k = 0; k < n; ++k) {
      if (kind == Factorisation::cholesky) next(k, k, {});
      for (int i = k + 1; i < n; ++i) next(i, k, {final(k, k)});
      for (int i = k + 1; i < n; ++i)
        for (int j = k + 1; j < width(i); ++j) next(i, j, {at(i, k).versions.back(), other(k, j)});
    }
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < width(i); ++j)
        if (kind == Factorisation::cholesky || i > 0) builder.label_output(final(i, j));
    graph_ = builder.build();
    for (int d = 0; d < n; d += side) {
      tile(d, d);
      for (int i = d + side; i < n; i += side) tile(i, d);
      if (kind == Factorisation::lu)
        for (int j = d + side; j < n; j += side) tile(d, j);
    }
  }

  const Cdag& graph() const { return graph_; }
  const Play& play() const { return play_; }

 private:
  int width(int i) const { return kind_ == Factorisation::lu ? n_ : i + 1; }
  Entry& at(int i, int j) { return a_[static_cast<std::size_t>(i * n_ + j)]; }
  Vertex final(int i, int j) { return at(i, j).versions.back(); }
  // What multiplies l_ik in the update of (i, j): u_kj, or l_jk.
  Vertex other(int k, int j) { return kind_ == Factorisation::lu ? final(k, j) : final(j, k); }
  void move(MoveKind kind, Vertex v) { play_.push_back({.kind = kind, .vertex = v}); }

  // The entry's next version is made and takes its place.
  void advance(int i, int j) {
    std::size_t& version = now_[{i, j}];
    move(MoveKind::compute, at(i, j).versions[version + 1]);
    move(MoveKind::erase, at(i, j).versions[version]);
    ++version;
  }

  void tile(int top, int left) {
    const int bottom = std::min(n_, top + side_), right = std::min(n_, left + side_);
    const auto each = [&](auto visit) {
      for (int i = top; i < bottom; ++i)
        for (int j = left; j < std::min(right, width(i)); ++j) visit(i, j);
    };
    each([&](int i, int j) { move(MoveKind::load, at(i, j).versions.front()); });
    for (int k = 0; k < std::min(top, left); ++k) earlier_step(k, top, bottom, left, right);
    for (int k = std::min(top, left); k < std::min(bottom, right); ++k) own_step(k, top, bottom, left, right);
    each([&](int i, int j) {
      if (graph_.is_output(final(i, j))) move(MoveKind::store, final(i, j));
      move(MoveKind::erase, final(i, j));
    });
  }

  // Column k's words of these rows, and those of the other operand one by one; a diagonal tile of a symmetric matrix
  // has them already.
  void earlier_step(int k, int top, int bottom, int left, int right) {
    const bool symmetric = kind_ == Factorisation::cholesky && top == left;
    for (int i = top; i < bottom; ++i) move(MoveKind::load, final(i, k));
    for (int j = left; j < right; ++j) {
      if (!symmetric) move(MoveKind::load, other(k, j));
      for (int i = top; i < bottom; ++i)
        if (j < width(i)) advance(i, j);
      if (!symmetric) move(MoveKind::erase, other(k, j));
    }
    for (int i = top; i < bottom; ++i) move(MoveKind::erase, final(i, k));
  }

  // Step k lies in the tile's own rows or columns.
  void own_step(int k, int top, int bottom, int left, int right) {
    const bool diagonal = top == left, below = top > left;
    const auto with = [&](Vertex v, bool outside, auto use) {
      if (outside) move(MoveKind::load, v);
      use();
      if (outside) move(MoveKind::erase, v);
    };
    if (kind_ == Factorisation::cholesky && diagonal) advance(k, k);
    if (diagonal || below)
      with(final(k, k), below, [&] {
        for (int i = std::max(top, k + 1); i < bottom; ++i) advance(i, k);
      });
    if (diagonal || below) {
      for (int j = k + 1; j < right; ++j)
        with(other(k, j), below, [&] {
          for (int i = std::max(top, k + 1); i < bottom; ++i)
            if (j < width(i)) advance(i, j);
        });
    } else {
      for (int i = k + 1; i < bottom; ++i)
        with(final(i, k), true, [&] {
          for (int j = left; j < right; ++j) advance(i, j);
        });
    }
  }

  Factorisation kind_;
  int n_, side_;
  std::vector<Entry> a_;
  std::map<std::pair<int, int>, std::size_t> now_;
  Cdag graph_;
  Play play_;
};

double ratio(const std::string& text, Words fast) {
  const Bracket both = bracket(parse_operation(text), fast, k_rbw);
  REQUIRE(both.upper.has_value());
  REQUIRE(both.upper->words >= both.lower.words);
  return static_cast<double>(both.upper->words) / static_cast<double>(both.lower.words);
}

}  // namespace

TEST_CASE("stationary: factorisations in tiles cost what their plays do") {
  for (const auto& [kind, name] :
       {std::pair(Factorisation::lu, "lu"), std::pair(Factorisation::cholesky, "cholesky")}) {
    for (int n = 1; n <= 11; ++n) {
      for (int side = 1; side <= 5; ++side) {
        const Words fast = side * side + side + 2;
        INFO(name << " n = " << n << " tiles of " << side);
        const Operation operation = parse_operation(std::string(name) + " n=" + std::to_string(n));
        const auto claimed = operation.schedules.front()(fast, Sliding::forbidden);
        REQUIRE(claimed.has_value());
        // Smaller tiles may leave a better rest.
        int chosen = 0;
        REQUIRE(std::sscanf(claimed->method.c_str(), "left-looking, tiles of %d", &chosen) == 1);
        CHECK(chosen <= side);
        const TilePlay tiles(kind, n, chosen);
        const Verdict verdict = verify(tiles.graph(), k_rbw, fast, tiles.play());
        if (verdict.illegal) UNSCOPED_INFO(verdict.illegal->move << ": " << verdict.illegal->reason);
        REQUIRE(verdict.cost.has_value());
        CHECK(claimed->loads == verdict.cost->loads);
        CHECK(claimed->stores == verdict.cost->stores);
      }
    }
  }
}

TEST_CASE("stationary: convolutions load no less than the best replacement in their order") {
  for (const char* text : {"conv2d ci=2 co=4 h=6 w=6 r=3 s=3", "conv2d b=2 ci=2 co=3 h=5 w=7 r=2 s=3",
                           "conv2d ci=3 co=4 h=4 w=4 r=3 s=3 stride=2", "conv2d ci=2 co=4 h=4 w=4 r=2 s=2 stride=3"}) {
    const Operation operation = parse_operation(text);
    const Contraction& part = operation.contractions.front();
    for (Words fast : {12, 24, 48, 96}) {
      INFO(text << " S = " << fast);
      const auto claimed = operation.schedules.front()(fast, Sliding::forbidden);
      REQUIRE(claimed.has_value());
      int height = 0, width = 0, channels = 0;
      REQUIRE(std::sscanf(claimed->method.c_str(), "tiles of %d x %d positions and %d channels", &height, &width,
                          &channels) == 3);
      // Loops b co ci h w r s: tiles of co, h, w outermost, then ci, the filter, and the positions innermost.
      TiledOrder order = program_order(part);
      order.tiles = {0, 3, 4, 1, 2, 5, 6};
      order.tile = {1, channels, 1, height, width, 0, 0};
      order.inside = {0, 2, 5, 6, 1, 3, 4};
      const Cdag graph = contraction_graph(part, order);
      const UpperBound play = play_in_order(graph, Sliding::forbidden, fast, {.order = graph.order()});
      CHECK(play.loads <= claimed->loads);
      CHECK(claimed->stores == operation.outputs);
      CHECK(claimed->words >= best_for(lower_bounds(operation, fast), k_rbw).words);
    }
  }
}

TEST_CASE("stationary: brackets") {
  // LU meets its leading term; square tiles of a triangle stay the square root of two above.
  CHECK(ratio("lu n=4000", 1024) <= 1.1);
  CHECK(ratio("lu n=8000", 10000) <= 1.2);
  CHECK(ratio("cholesky n=8000", 1024) <= 1.55);
  CHECK(ratio("syrk n=4000 m=4000", 16384) <= 1.5);
  CHECK(ratio("conv2d b=8 ci=64 co=64 h=56 w=56 r=3 s=3", 16384) <= 1.7);
  CHECK_FALSE(bracket(parse_operation("lu n=10"), 3, k_rbw).upper.has_value());
}
