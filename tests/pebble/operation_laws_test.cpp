// What holds of every operator, whatever its sizes and the memory.
#include <algorithm>
#include <cstdio>
#include <functional>

#include "cairn/core/random.h"
#include "cairn/pebble/exact.h"
#include "cairn/pebble/operation.h"
#include "cairn/pebble/schedule.h"
#include "catch.h"

using namespace cairn;
using namespace cairn::pebble;

namespace {

class Sizes {
 public:
  Sizes(core::Random& random, Words most) : random_(random), most_(most) {}
  Words operator()() { return 1 + static_cast<Words>(random_.below(static_cast<std::uint64_t>(most_))); }
  bool coin() { return random_.below(2) == 0; }

 private:
  core::Random& random_;
  Words most_;
};

struct Kind {
  const char* name;
  std::function<Operation(Sizes&)> make;
};

const std::vector<Kind>& kinds() {
  const auto attention = [](Sizes& size) {
    const Words kv = size() % 2 + 1;
    return AttentionSizes{.sequence = size(),
                          .head_dim = size(),
                          .heads = kv * (size() % 2 + 1),
                          .kv_heads = kv,
                          .batch = 1,
                          .causal = size.coin()};
  };
  static const std::vector<Kind> all{
      {"matmul", [](Sizes& s) { return matmul_operation({.m = s(), .n = s(), .k = s()}); }},
      {"matmul-update", [](Sizes& s) { return matmul_update_operation({.m = s(), .n = s(), .k = s()}); }},
      {"matmul-chain", [](Sizes& s) { return matmul_chain_operation({.m = s(), .k = s(), .n = s(), .l = s()}); }},
      {"attention",
       [=](Sizes& s) {
         AttentionSizes sizes = attention(s);
         sizes.online = s.coin();
         return attention_operation(sizes);
       }},
      {"attention-backward", [=](Sizes& s) { return attention_backward_operation(attention(s)); }},
      {"conv2d",
       [](Sizes& s) {
         return conv2d_operation({.batch = 1,
                                  .in_channels = s(),
                                  .out_channels = s(),
                                  .height = s(),
                                  .width = s(),
                                  .filter_height = s(),
                                  .filter_width = s(),
                                  .stride = s() % 2 + 1});
       }},
      {"syrk", [](Sizes& s) { return syrk_operation(s(), s()); }},
      {"lu", [](Sizes& s) { return lu_operation(s()); }},
      {"cholesky", [](Sizes& s) { return cholesky_operation(s()); }},
      {"fft", [](Sizes& s) { return fft_operation(Words{1} << (s() % 5 + 1)); }},
      {"embedding",
       [](Sizes& s) {
         const Words tokens = s();
         return embedding_operation({.tokens = tokens, .width = s(), .distinct_rows = std::min(tokens, s())});
       }},
      {"softmax", [](Sizes& s) { return softmax_operation(s() % 2 + 1, s() + 1); }},
      {"reduce-broadcast", [](Sizes& s) { return reduce_broadcast_operation(s() % 2 + 1, s() + 1); }},
      {"jacobi",
       [](Sizes& s) {
         return jacobi_operation(
             {.dimensions = static_cast<int>(s() % 3 + 1), .points_per_dimension = s(), .steps = s()});
       }},
      {"cg", [](Sizes& s) { return cg_operation({.unknowns = s(), .iterations = s()}); }},
      {"gmres", [](Sizes& s) { return gmres_operation({.unknowns = s(), .iterations = s()}); }}};
  return all;
}

// A play in some memory is one in any larger one: what is known never grows.
void check_growing(const Operation& operation, Game game, Words most) {
  std::optional<Words> before;
  for (Words fast = minimum_fast_words(operation, game); fast <= most; ++fast) {
    std::optional<UpperBound> best;
    for (const auto& schedule : operation.schedules) {
      const std::optional<UpperBound> upper = schedule(fast, game.sliding);
      if (upper && upper->games.contains(game) && (!best || upper->words < best->words)) best = upper;
    }
    INFO("S=" << fast << (best ? ", " + best->method : ""));
    if (before && (!best || best->words > *before)) FAIL_CHECK("the upper bound grows");
    if (best) before = best->words;
  }
}

}  // namespace

TEST_CASE("operation: upper bounds of random operators never grow with the memory") {
  core::Random random(3);
  for (const Kind& kind : kinds()) {
    for (int trial = 0; trial < 12; ++trial) {
      Sizes sizes(random, trial < 6 ? 4 : 12);
      const Operation operation = kind.make(sizes);
      INFO(kind.name << ": " << operation.inputs << " inputs, " << operation.outputs << " outputs, " << operation.flops
                     << " operations");
      for (const Game game : k_all_games) check_growing(operation, game, 150);
    }
  }
}

TEST_CASE("operation: lower bound <= optimum <= upper bound of random small operators") {
  constexpr std::size_t k_vertices = 26, k_states = 200'000;
  core::Random random(4);
  for (const Kind& kind : kinds()) {
    int solved = 0;
    for (int trial = 0; trial < 60; ++trial) {
      Sizes sizes(random, 3);
      const Operation operation = kind.make(sizes);
      if (!operation.graph || operation.inputs + operation.outputs > static_cast<Words>(k_vertices)) continue;
      const Cdag graph = operation.graph();
      if (graph.size() > k_vertices) continue;
      for (const Game game : k_all_games) {
        const Words fast = minimum_fast_words(operation, game) + static_cast<Words>(random.below(6));
        const ExactResult exact = solve_exactly(graph, game, fast, k_states);
        if (!exact.cost) continue;
        ++solved;
        const Bracket found = bracket(operation, fast, game);
        INFO(kind.name << " of " << graph.size() << " vertices, " << to_string(game) << " S=" << fast << ", "
                       << found.lower.method);
        CHECK(found.lower.words <= exact.cost->total());
        if (found.upper) CHECK(found.upper->words >= exact.cost->total());
      }
    }
    INFO(kind.name);
    CHECK(solved > 0);
  }
}

TEST_CASE("operation: LU of one entry reads nothing, so nothing moves") {
  const Operation lone = lu_operation(1);
  CHECK(bracket(lone, 4, {Rules::hong_kung, Sliding::forbidden}).lower.words == 0);
}

namespace {

// A star stencil's vertices in the order of its graph: step by step, the first dimension innermost.
struct Grid {
  JacobiSizes sizes;
  Words power(int dimensions) const {
    Words words = 1;
    for (int i = 0; i < dimensions; ++i) words *= sizes.points_per_dimension;
    return words;
  }
  Vertex vertex(Words step, Words point) const { return static_cast<Vertex>(step * power(sizes.dimensions) + point); }
};

// `sweeps` at a time, each a plane behind the one before.
std::vector<Vertex> order_of_sweeps(const Grid& grid, Words sweeps) {
  const Words points = grid.power(grid.sizes.dimensions), plane = grid.power(grid.sizes.dimensions - 1);
  std::vector<Vertex> order;
  for (Words p = 0; p < points; ++p) order.push_back(grid.vertex(0, p));
  for (Words first = 0; first < grid.sizes.steps; first += sweeps)
    for (Words tick = 0; tick < points + sweeps * plane; ++tick)
      for (Words s = 1; s <= std::min(sweeps, grid.sizes.steps - first); ++s)
        if (const Words p = tick - s * plane; p >= 0 && p < points) order.push_back(grid.vertex(first + s, p));
  return order;
}

// Tiles of `height` steps, `width` wide in the first of two dimensions and moving left, along the second.
std::vector<Vertex> order_of_tiles(const Grid& grid, Words height, Words width) {
  const Words n = grid.sizes.points_per_dimension;
  std::vector<Vertex> order;
  for (Words p = 0; p < n * n; ++p) order.push_back(grid.vertex(0, p));
  for (Words first = 0; first < grid.sizes.steps; first += height)
    for (Words left = 0; left < n + height; left += width)
      for (Words diagonal = 0; diagonal <= n + height; ++diagonal)
        for (Words s = 1; s <= std::min(height, grid.sizes.steps - first); ++s)
          for (Words x = std::max<Words>(0, left - s); x < std::min(n, left - s + width); ++x)
            if (const Words y = diagonal - s; y >= 0 && y < n) order.push_back(grid.vertex(first + s, y * n + x));
  return order;
}

}  // namespace

TEST_CASE("operation: sweeps in a row and tiles of space-time cost no more than claimed when played") {
  struct Case {
    JacobiSizes sizes;
    Words fast;
    bool tiles;
  };
  const std::vector<Case> cases{
      {.sizes = {.dimensions = 1, .points_per_dimension = 40, .steps = 12}, .fast = 10, .tiles = false},
      {.sizes = {.dimensions = 2, .points_per_dimension = 12, .steps = 8}, .fast = 52, .tiles = false},
      {.sizes = {.dimensions = 3, .points_per_dimension = 6, .steps = 6}, .fast = 150, .tiles = false},
      {.sizes = {.dimensions = 2, .points_per_dimension = 24, .steps = 12}, .fast = 44, .tiles = true},
      {.sizes = {.dimensions = 2, .points_per_dimension = 40, .steps = 9}, .fast = 66, .tiles = true}};
  for (const Case& c : cases) {
    const Operation operation = jacobi_operation(c.sizes);
    const Cdag graph = operation.graph();
    const UpperBound claimed = *bracket(operation, c.fast, {Rules::red_blue_white, Sliding::forbidden}).upper;
    INFO(claimed.method);
    long height = 0, width = 0;
    const int read = std::sscanf(claimed.method.c_str(), c.tiles ? "tiles of space-time: %ld steps, %ld" : "%ld sweeps",
                                 &height, &width);
    REQUIRE(read == (c.tiles ? 2 : 1));
    const Grid grid{.sizes = c.sizes};
    const std::vector<Vertex> order = c.tiles ? order_of_tiles(grid, height, width) : order_of_sweeps(grid, height);
    REQUIRE(order.size() == graph.size());
    const UpperBound played = play_in_order(graph, Sliding::forbidden, c.fast, {.order = order});
    CHECK(played.words <= claimed.words);
  }
}

TEST_CASE("operation: a stencil's bracket closes where several steps fit at a time") {
  // 1,000 x 1,000 for 100 steps in 40,000 words: 19 sweeps at a time, 6 of 2 million words in place of 100.
  const Bracket found = bracket(jacobi_operation({.dimensions = 2, .points_per_dimension = 1000, .steps = 100}), 40'000,
                                {Rules::red_blue_white, Sliding::forbidden});
  CHECK(found.upper->words <= 6 * 2'000'000);
}
