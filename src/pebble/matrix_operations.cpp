// Products of matrices, their chains, and the factorisations.
#include <algorithm>
#include <cmath>

#include "cairn/pebble/contraction_graph.h"
#include "cairn/pebble/generators.h"
#include "cairn/pebble/operation.h"
#include "checked.h"
#include "operation_graphs.h"
#include "segments.h"
#include "stationary_schedules.h"

namespace cairn::pebble {

namespace {

using loopnest::DimId;
using loopnest::Extent;
using loopnest::projection_of;

struct Names {
  std::string a, b, c;
};

Contraction product_contraction(const std::string& name, MatmulSizes sizes, const Names& names, Role a_role,
                                Role c_role) {
  Contraction part;
  part.name = name;
  const DimId b = part.domain.add("b", Extent::of(sizes.batch));
  const DimId m = part.domain.add("m", Extent::of(sizes.m));
  const DimId n = part.domain.add("n", Extent::of(sizes.n));
  const DimId k = part.domain.add("k", Extent::of(sizes.k));
  part.accesses = {{.array = names.a, .index = projection_of({b, m, k}), .role = a_role},
                   {.array = names.b, .index = projection_of({b, k, n}), .role = Role::read},
                   {.array = names.c, .index = projection_of({b, m, n}), .role = c_role}};
  return part;
}

// Words beside the tile, one column of A or row of B in slices, and the sums in place: the other operand's element, and
// without sliding a place for the new sum.
Words places_beside_tile(Sliding sliding) { return sliding == Sliding::allowed ? 1 : 2; }

struct Tile {
  Words loads = 0;
  Words rows = 0, columns = 0;
};

// C stays: a tile of rows x columns sums, for each k the shorter side's elements and one of the longer side at a time.
//   loads = k (m ceil(n / columns) + n ceil(m / rows)),   rows * columns + min(rows, columns) + beside <= S
std::optional<Tile> best_tile(MatmulSizes sizes, Words fast, Sliding sliding) {
  const Words room = fast - places_beside_tile(sliding);
  std::optional<Tile> best;
  const auto consider = [&](Words rows, Words columns) {
    rows = std::min(rows, sizes.m);
    columns = std::min(columns, sizes.n);
    const Words loads = sizes.k * (sizes.m * ceil_div(sizes.n, columns) + sizes.n * ceil_div(sizes.m, rows));
    if (!best || loads < best->loads) best = Tile{.loads = loads, .rows = rows, .columns = columns};
  };
  for (Words shorter = 1; shorter * shorter + shorter <= room && shorter <= std::max(sizes.m, sizes.n); ++shorter) {
    const Words longer = (room - shorter) / shorter;
    consider(shorter, longer);
    consider(longer, shorter);
  }
  return best;
}

UpperBound tile_bound(MatmulSizes sizes, const Tile& tile, Words result_loads) {
  UpperBound upper;
  upper.loads = sizes.batch * (tile.loads + result_loads);
  upper.stores = sizes.batch * sizes.m * sizes.n;
  upper.words = upper.loads + upper.stores;
  upper.games = GameSet::all();
  upper.method = "sums stay: tile of " + std::to_string(tile.rows) + " x " + std::to_string(tile.columns);
  return upper;
}

auto tiled_schedule(MatmulSizes sizes, Role c_role) {
  return [sizes, c_role](Words fast, Sliding sliding) -> std::optional<UpperBound> {
    const auto tile = best_tile(sizes, fast, sliding);
    if (!tile) return std::nullopt;
    UpperBound upper = tile_bound(sizes, *tile, c_role == Role::update ? sizes.m * sizes.n : 0);
    upper.games = sliding == Sliding::allowed
                      ? GameSet::of({Rules::hong_kung, sliding}) | GameSet::of({Rules::red_blue_white, sliding})
                      : GameSet::plain();
    return upper;
  };
}

void check(MatmulSizes sizes) { product({sizes.batch, sizes.m, sizes.n, sizes.k, 4}); }

Operation single_product(MatmulSizes sizes, Role c_role) {
  check(sizes);
  Operation operation;
  operation.name = c_role == Role::update ? "C += A B" : "C = A B";
  operation.contractions = {product_contraction("matmul", sizes, {.a = "A", .b = "B", .c = "C"}, Role::read, c_role)};
  const Words c = sizes.m * sizes.n;
  operation.inputs = sizes.batch * (sizes.m * sizes.k + sizes.k * sizes.n + (c_role == Role::update ? c : 0));
  operation.outputs = sizes.batch * c;
  operation.schedules = {tiled_schedule(sizes, c_role)};
  operation.flops = 2 * sizes.batch * c * sizes.k;
  operation.max_operands = c_role == Role::update || sizes.k > 1 ? 3 : 2;
  operation.graph = [part = operation.contractions.front()] { return contraction_graph(part, program_order(part)); };
  return operation;
}

// Points (i, j, k), i > j, of a sum over A[i,k] A[j,k]: for one k they lie among the pairs of its a_k elements of A, so
// at most min(a_k^2 / 2, c) <= a_k sqrt(c / 2); over all k at most a sqrt(c / 2). With a + c <= X that is at most
// sqrt(2) (X / 3)^{3/2}.
long double symmetric_points(Words available) {
  return std::sqrt(2.0L) * std::pow(static_cast<long double>(available) / 3.0L, 1.5L);
}

// Loomis-Whitney: sqrt(a b c) with a + b + c <= X.
long double product_points(Words available) { return std::pow(static_cast<long double>(available) / 3.0L, 1.5L); }

LowerBound stated(GameSet games, std::string method, std::vector<Part> parts) {
  LowerBound bound;
  bound.games = games;
  bound.method = std::move(method);
  for (const Part& part : parts) bound.words += part.words;
  if (bound.words < 0) parts.push_back({.what = "not below zero", .words = -bound.words});
  bound.words = std::max<Words>(bound.words, 0);
  bound.parts = std::move(parts);
  return bound;
}

}  // namespace

Operation matmul_operation(MatmulSizes sizes) {
  Operation operation = single_product(sizes, Role::produce);
  if (sizes.batch == 1)
    operation.over_devices = [sizes](double devices, double memory) {
      return matmul_over_devices({.m = static_cast<double>(sizes.m),
                                  .n = static_cast<double>(sizes.n),
                                  .k = static_cast<double>(sizes.k),
                                  .devices = devices},
                                 memory);
    };
  return operation;
}
Operation matmul_update_operation(MatmulSizes sizes) { return single_product(sizes, Role::update); }

Operation matmul_chain_operation(ChainSizes sizes) {
  const MatmulSizes first{.m = sizes.m, .n = sizes.n, .k = sizes.k}, second{.m = sizes.m, .n = sizes.l, .k = sizes.n};
  check(first);
  check(second);
  Operation operation;
  operation.name = "f(A B) D";
  operation.contractions = {
      product_contraction("first product", first, {.a = "A", .b = "B", .c = "T"}, Role::read, Role::result_free),
      product_contraction("second product", second, {.a = "f(T)", .b = "D", .c = "E"}, Role::read_free, Role::produce)};
  operation.inputs = sizes.m * sizes.k + sizes.k * sizes.n + sizes.n * sizes.l;
  operation.outputs = sizes.m * sizes.l;
  operation.flops = 2 * sizes.m * sizes.n * (sizes.k + sizes.l);
  operation.max_operands = sizes.k > 1 || sizes.n > 1 ? 3 : 2;
  operation.graph = [sizes] {
    return matmul_chain_graph(static_cast<int>(sizes.m), static_cast<int>(sizes.k), static_cast<int>(sizes.n),
                              static_cast<int>(sizes.l));
  };
  // One after the other, the intermediate stored and loaded.
  operation.schedules.push_back([first, second](Words fast, Sliding sliding) -> std::optional<UpperBound> {
    const auto one = tiled_schedule(first, Role::produce)(fast, sliding),
               two = tiled_schedule(second, Role::produce)(fast, sliding);
    if (!one || !two) return std::nullopt;
    UpperBound upper = *one;
    upper.loads += two->loads;
    upper.stores += two->stores;
    upper.words += two->words;
    upper.method = "one after the other: " + one->method + ", then " + two->method;
    return upper;
  });
  // Fused: b rows of the intermediate stay. First product with k outermost: b n sums, b elements of a column of A, one
  // of B and a new sum; then for each column of D: b sums, one element of D and a new sum. b n + b + 3 words hold both,
  // and f in between.
  operation.schedules.push_back([sizes](Words fast, Sliding) -> std::optional<UpperBound> {
    const Words rows = std::min(sizes.m, (fast - 3) / (sizes.n + 1));
    if (rows < 1) return std::nullopt;
    UpperBound upper;
    upper.loads = sizes.m * sizes.k + ceil_div(sizes.m, rows) * sizes.k * sizes.n;
    upper.loads += ceil_div(sizes.m, rows) * sizes.n * sizes.l;
    upper.stores = sizes.m * sizes.l;
    upper.words = upper.loads + upper.stores;
    upper.games = GameSet::all();
    upper.method = "fused, " + std::to_string(rows) + " rows of the intermediate stay";
    return upper;
  });
  return operation;
}

Operation syrk_operation(Words n, Words m) {
  product({n, n, m, 4});
  Operation operation;
  operation.name = "lower triangle of A A^T";
  operation.notes = {"strictly lower triangle, each entry one running sum"};
  operation.inputs = n > 1 ? n * m : 0;  // nothing reads a lone row
  operation.outputs = n * (n - 1) / 2;
  operation.flops = n * (n - 1) * m;
  operation.max_operands = n < 2 ? 1 : m > 1 ? 3 : 2;
  operation.graph = [n, m] { return syrk_graph(n, m); };
  operation.schedules.push_back([n, m](Words fast, Sliding sliding) { return syrk_schedule(n, m, fast, sliding); });
  const Words points = m * (n * (n - 1) / 2);
  operation.proved.push_back([points](Words fast) {
    std::vector<LowerBound> bounds;
    for (Sliding sliding : {Sliding::forbidden, Sliding::allowed}) {
      const Words room = fast + (sliding == Sliding::allowed ? 1 : 0);
      const Segments loads = best_segments(points, room, [&](Words t) { return symmetric_points(room + t); });
      bounds.push_back(stated(GameSet::of({Rules::red_blue_white, sliding}),
                              "symmetric projection, each store counted as the load of a sum that begins",
                              {{.what = "operands, sums and results", .words = loads.words}}));
    }
    const Segments all = best_segments(points, fast, [&](Words t) { return symmetric_points(2 * fast + t); });
    bounds.push_back(
        stated(GameSet::all(), "symmetric projection", {{.what = "operands, sums and results", .words = all.words}}));
    return bounds;
  });
  return operation;
}

// The updates alone, with every factor entry they read made an input of its own (its making is left out: fewer vertices
// and edges never cost more; giving a made value an input label, or a twin that has one, costs at most one load, taken
// off again).
Operation lu_operation(Words n) {
  product({n, n, n, 4});
  Operation operation;
  operation.name = "LU without pivoting";
  operation.notes = {"right-looking: each entry one running difference; the first row is input only"};
  operation.inputs = n > 1 ? n * n : 0;  // nothing reads a lone entry
  operation.outputs = n * (n - 1);
  operation.flops = n * (n - 1) / 2 + n * (n - 1) * (2 * n - 1) / 3;  // divisions and updates
  operation.max_operands = n > 1 ? 3 : 1;
  operation.graph = [n] { return lu_graph(static_cast<int>(n)); };
  operation.schedules.push_back([n](Words fast, Sliding sliding) { return lu_schedule(n, fast, sliding); });
  const Words points = (n - 1) * n * (2 * n - 1) / 6;
  const Words made_operands = (n - 1) * (n - 1);  // n(n-1)/2 of L, and of U all but the first row's: (n-1)(n-2)/2
  operation.proved.push_back([points, made_operands](Words fast) {
    const Segments loads = best_segments(points, fast, [&](Words t) { return product_points(fast + t); });
    return std::vector<LowerBound>{stated(GameSet::with_rules(Rules::red_blue_white), "projection of the updates",
                                          {{.what = "operands and sums loaded", .words = loads.words},
                                           {.what = "factor entries made on the way", .words = -made_operands}})};
  });
  return operation;
}

Operation cholesky_operation(Words n) {
  product({n, n, n, 4});
  Operation operation;
  operation.name = "Cholesky";
  operation.notes = {"right-looking: each entry of the lower triangle one running difference"};
  operation.inputs = n * (n + 1) / 2;
  operation.outputs = n * (n + 1) / 2;
  operation.flops = n + n * (n - 1) / 2 + (n + 1) * n * (n - 1) / 3;  // roots, divisions, updates
  operation.max_operands = n > 2 ? 3 : n;
  operation.graph = [n] { return cholesky_graph(static_cast<int>(n)); };
  operation.schedules.push_back([n](Words fast, Sliding sliding) { return cholesky_schedule(n, fast, sliding); });
  const Words points = n * (n - 1) * (n - 2) / 6;
  const Words made_operands = n * (n - 1) / 2;
  operation.proved.push_back([points, made_operands](Words fast) {
    const Segments loads = best_segments(points, fast, [&](Words t) { return symmetric_points(fast + t); });
    return std::vector<LowerBound>{stated(GameSet::with_rules(Rules::red_blue_white),
                                          "symmetric projection of the updates",
                                          {{.what = "operands and sums loaded", .words = loads.words},
                                           {.what = "factor entries made on the way", .words = -made_operands}})};
  });
  return operation;
}

}  // namespace cairn::pebble
