#include "cairn/pebble/projection.h"

#include <cmath>

#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "cairn/pebble/contraction_graph.h"
#include "cairn/pebble/exact.h"
#include "cairn/pebble/operation.h"
#include "cairn/pebble/schedule.h"
#include "catch.h"
#include "support/share.h"

using namespace cairn;
using namespace cairn::pebble;
using loopnest::Affine;
using loopnest::DimId;
using loopnest::Extent;

namespace {

constexpr std::size_t k_states = 200'000;

// Two or three operands over random subsets of two to four short loops, sometimes a window, a triangle, one array read
// twice.
Contraction random_contraction(core::Random& random, std::uint64_t largest) {
  Contraction contraction;
  contraction.name = "random";
  const std::size_t loops = 2 + random.below(3);
  for (std::size_t i = 0; i < loops; ++i)
    contraction.domain.add(std::string(1, static_cast<char>('i' + i)),
                           Extent::of(1 + static_cast<std::int64_t>(random.below(largest))));
  if (random.below(4) == 0) {
    loopnest::Guard guard;
    guard.terms = {{.dim = 0, .stride = 1}, {.dim = 1, .stride = -1}};
    contraction.domain.add_guard(guard);
  }
  const auto subset = [&](std::uint64_t mask) {
    loopnest::Projection index;
    for (std::size_t i = 0; i < loops; ++i) {
      if ((mask >> i & 1U) != 0) index.push_back(Affine::of(static_cast<DimId>(i)));
    }
    return index;
  };
  const std::uint64_t all = (std::uint64_t{1} << loops) - 1;
  std::vector<std::uint64_t> masks;
  const std::size_t operands = 2 + random.below(2);
  for (std::size_t j = 0; j < operands; ++j) masks.push_back(1 + random.below(all));
  const bool free_operand = random.below(4) == 0;
  for (std::size_t j = 0; j < operands; ++j) {
    contraction.accesses.push_back({.array = std::string(1, static_cast<char>('A' + j)),
                                    .index = subset(masks[j]),
                                    .role = free_operand && j == 0 ? Role::read_free : Role::read});
  }
  // Same array read through two loops of equal extent would need equal extents: only when they are.
  if (loops >= 3 && random.below(4) == 0) {
    const auto& dims = contraction.domain.dims();
    if (dims[0].extent == dims[1].extent) {
      contraction.accesses[0] = {.array = "A", .index = subset(0b101), .role = Role::read};
      contraction.accesses[1] = {.array = "A", .index = subset(0b110), .role = Role::read};
    }
  }
  const Role roles[] = {Role::produce, Role::produce, Role::update, Role::result_free};
  contraction.accesses.push_back(
      {.array = "R", .index = subset(1 + random.below(all)), .role = roles[random.below(4)]});
  return contraction;
}

}  // namespace

TEST_CASE("projection: never above the optimum, on random contractions with every role") {
  core::Random random(61);
  std::size_t solved = 0;
  while (solved < 600 / test::k_share) {
    const Contraction contraction = random_contraction(random, 4);
    const Cdag graph = contraction_graph(contraction, program_order(contraction));
    if (graph.size() > 22) continue;
    for (Game game : k_all_games) {
      const Words fast =
          minimum_fast_words(graph, {Rules::red_blue_white, game.sliding}) + static_cast<Words>(random.below(3));
      const ExactResult exact = solve_exactly(graph, game, fast, k_states);
      if (!exact.cost) continue;
      ++solved;
      for (const LowerBound& bound : projection_bounds(contraction, fast)) {
        if (!bound.games.contains(game)) continue;
        INFO(to_string(game) << " S=" << fast << " " << bound.method << " " << bound.words << " exact " << exact.lower
                             << " vertices " << graph.size());
        REQUIRE(bound.words <= exact.lower);
      }
    }
  }
}

TEST_CASE("projection: never above a play, where the bounds go beyond the compulsory") {
  core::Random random(62);
  std::size_t beyond_compulsory = 0;
  double closest = 0.0;
  for (std::size_t i = 0; i < 150; ++i) {
    const Contraction contraction = random_contraction(random, 16);
    if (!test::taken(i)) continue;
    TiledOrder order = program_order(contraction);
    for (Words& tile : order.tile) tile = 1 + static_cast<Words>(random.below(4));
    const Cdag graph = contraction_graph(contraction, order);
    const Words fast = minimum_fast_words(graph, {}) + static_cast<Words>(random.below(6));
    const Words play = best_ordered_play(graph, Sliding::forbidden, fast).words;
    Words compulsory = 0;
    for (const LowerBound& bound : projection_bounds(contraction, fast)) {
      if (bound.method == "compulsory") compulsory = bound.words;
      if (!bound.games.contains({})) continue;
      INFO("S=" << fast << " " << bound.method << " " << bound.words << " play " << play << " vertices "
                << graph.size());
      REQUIRE(bound.words <= play);
      if (bound.words <= compulsory) continue;
      ++beyond_compulsory;
      closest = std::max(closest, static_cast<double>(bound.words) / static_cast<double>(play));
    }
  }
  CHECK(beyond_compulsory >= 20 / test::k_share);
  if (test::k_share == 1) CHECK(closest > 0.5);  // so that a bound twice too large is found
}

TEST_CASE("projection: a tiled product costs what its formula says, played move by move") {
  // Tile 4 x 4, k = 8, m = n = 8: k (m n/4 + n m/4) loads and m n stores; 4 * 4 sums, 4 of a column, one of a row and a
  // new sum: S = 22.
  Contraction product = matmul_operation({.m = 8, .n = 8, .k = 8}).contractions[0];
  const DimId b = 0, m = 1, n = 2, k = 3;
  const TiledOrder tiled{.tiles = {b, m, n, k}, .inside = {b, k, n, m}, .tile = {1, 4, 4, 0}};
  const Cdag graph = contraction_graph(product, tiled);
  const UpperBound play = play_in_order(graph, Sliding::forbidden, 22, {.order = graph.order()});
  CHECK(play.words <= 8 * (8 * 2 + 8 * 2) + 64);
  const Bracket both = bracket(matmul_operation({.m = 8, .n = 8, .k = 8}), 22, {});
  REQUIRE(both.upper.has_value());
  CHECK(both.upper->words >= both.lower.words);
  CHECK(play.words >= both.lower.words);
  REQUIRE(verify(graph, {}, 22, play.play).cost.has_value());
  CHECK(verify(graph, {}, 22, play.play).cost->total() == play.words);
}

TEST_CASE("projection: a chain of three products, the middle one between two values that never move") {
  // A B, then D, then E with all intermediates free: bounds of the parts add up and never exceed a fused play.
  const auto part = [](const char* left, Role left_role, const char* right, const char* out, Role out_role) {
    Contraction product = matmul_operation({.m = 3, .n = 3, .k = 3}).contractions[0];
    product.accesses[0].array = left;
    product.accesses[0].role = left_role;
    product.accesses[1].array = right;
    product.accesses[2].array = out;
    product.accesses[2].role = out_role;
    return product;
  };
  Operation chain;
  chain.name = "A B D E";
  chain.contractions = {part("A", Role::read, "B", "T", Role::result_free),
                        part("T ", Role::read_free, "D", "U", Role::result_free),
                        part("U ", Role::read_free, "E", "F", Role::produce)};
  chain.inputs = 4 * 9;
  chain.outputs = 9;
  const Bracket both = bracket(chain, 4, {});
  CHECK(both.lower.words >= 45);
  // An input that several parts read is charged once.
  chain.contractions[1].accesses[1].array = "B";
  chain.inputs = 3 * 9;
  Words sum = 0;
  for (const LowerBound& bound : lower_bounds(chain, 100)) {
    if (bound.games.contains({}) && bound.method != "compulsory") sum = std::max(sum, bound.words);
  }
  CHECK(sum <= 4 * 9);
}

TEST_CASE("projection: two reads of one array are charged half each") {
  // SYRK without its symmetric argument: n^2 m / (2 sqrt S) leading instead of n^2 m / sqrt S.
  Contraction syrk;
  syrk.name = "syrk";
  const DimId i = syrk.domain.add("i", Extent::of(2000)), j = syrk.domain.add("j", Extent::of(2000)),
              k = syrk.domain.add("k", Extent::of(2000));
  loopnest::Guard guard;
  guard.terms = {{.dim = i, .stride = 1}, {.dim = j, .stride = -1}};
  guard.offset = -1;
  syrk.domain.add_guard(guard);
  syrk.accesses = {{.array = "A", .index = {Affine::of(i), Affine::of(k)}, .role = Role::read},
                   {.array = "A", .index = {Affine::of(j), Affine::of(k)}, .role = Role::read},
                   {.array = "C", .index = {Affine::of(i), Affine::of(j)}, .role = Role::produce}};
  CHECK(leading_term(syrk).coefficient == Approx(1.0));  // times n^2 m / 2 points
  const LowerBound best = best_for(projection_bounds(syrk, 1024), {});
  CHECK(static_cast<double>(best.words) == Approx(8e9 / (2 * 32)).epsilon(0.01));
  CHECK(best.words <= bracket(syrk_operation(2000, 2000), 1024, {}).lower.words);
}

TEST_CASE("projection: what is no contraction is refused") {
  Contraction product = matmul_operation({.m = 2, .n = 2, .k = 2}).contractions[0];
  CHECK_THROWS_AS(projection_bounds(product, 0), core::ConfigurationError);
  product.accesses[2].role = Role::read;
  CHECK_THROWS_AS(projection_bounds(product, 8), core::ConfigurationError);
  product.accesses[2].role = product.accesses[1].role = Role::produce;
  CHECK_THROWS_AS(projection_bounds(product, 8), core::ConfigurationError);
}
