// Stencils and Krylov methods: bounds proved from what must pass between two points in time.
#include <algorithm>
#include <cmath>

#include "cairn/pebble/generators.h"
#include "cairn/pebble/operation.h"
#include "checked.h"
#include "operation_graphs.h"
#include "segments.h"

namespace cairn::pebble {

namespace {

__extension__ using Wide = __int128;

// 1^d + 2^d + ... + y^d, d = 1, 2, 3; 0 for y < 1.
Wide power_sum(Words last, int d) {
  if (last < 1) return 0;
  const Wide y = last;
  if (d == 1) return y * (y + 1) / 2;
  if (d == 2) return y * (y + 1) * (2 * y + 1) / 6;
  return y * (y + 1) / 2 * (y * (y + 1) / 2);
}

// Points (t, x), t = 1 .. height, of a grid of n per dimension with every x_i >= t.
Words inner_points(Words n, Words height, int d) {
  const Words steps = std::min(height, n - 1);
  return steps < 1 ? 0 : static_cast<Words>(power_sum(n - 1, d) - power_sum(n - 1 - steps, d));
}

// Cut time into slabs of `height` steps; every value at a border gets a twin that is an input of the next slab, which
// costs at most a load each. In a slab take the points with x_i >= t, t counted from the slab's start. Their lines back
// along (1, 0) and (1, e_i) stay among them down to the slab's inputs. If W of them are computed in a stretch of T
// loads, every such line that meets W enters it through a value made outside W: at most X = S + T lines in each of the
// d + 1 directions, which form a unimodular basis of space-time, so |W| <= X^{(d+1)/d} (Loomis, Whitney).
LowerBound jacobi_lower(const JacobiSizes& sizes, Words grid, Words fast) {
  const int d = sizes.dimensions;
  const auto capacity = [&](Words t) { return std::pow(static_cast<long double>(fast + t), (d + 1.0L) / d); };
  LowerBound best;
  best.games = GameSet::with_rules(Rules::red_blue_white);
  constexpr double k_height_step = 1.3;
  for (double h = static_cast<double>(sizes.steps);; h /= k_height_step) {
    const Words height = std::max<Words>(1, static_cast<Words>(h));
    const Words slabs = ceil_div(sizes.steps, height);
    const Words points = (slabs - 1) * inner_points(sizes.points_per_dimension, height, d) +
                         inner_points(sizes.points_per_dimension, sizes.steps - (slabs - 1) * height, d);
    const Words loads = points > 0 ? best_segments(points, fast, capacity).words : 0;
    const Words words = loads + grid - (slabs - 1) * grid;
    if (words > best.words) {
      best.words = words;
      best.method = "lines through space-time, slabs of " + std::to_string(height) + " steps";
      best.parts = {{.what = "values loaded", .words = loads},
                    {.what = "outputs stored", .words = grid},
                    {.what = "twins at slab borders", .words = -(slabs - 1) * grid}};
    }
    if (height == 1) break;
  }
  if (best.words == 0) best.method = "lines through space-time";
  return best;
}

UpperBound sweep_cost(Words loads, Words stores, std::string method) {
  UpperBound upper;
  upper.loads = loads;
  upper.stores = stores;
  upper.words = loads + stores;
  upper.games = GameSet::all();
  upper.method = std::move(method);
  return upper;
}

// h sweeps follow each other through the grid, each a plane behind the one before, and nothing between them leaves: at
// hand two planes of each of the h values that a sweep reads, the value that came last and the new one.
//   2 h n^(d-1) + 2 <= S;  loads = stores = n^d ceil(T / h)
std::optional<UpperBound> sweeps_in_a_row(Words grid, Words plane, Words steps, Words fast) {
  const Words sweeps = std::min(steps, (fast - 2) / (2 * plane));
  if (sweeps < 1) return std::nullopt;
  const Words words = grid * ceil_div(steps, sweeps);
  return sweep_cost(words, words,
                    sweeps == 1 ? "sweep by sweep"
                                : std::to_string(sweeps) + " sweeps at a time, each a plane behind the one before");
}

// 1, 2, 3, ... in steps of about an eighth up to `most`: the same whatever the memory.
Words next_candidate(Words value) { return value + std::max<Words>(1, value / 8); }

// Tiles of space-time, d >= 2. h steps at a time; in all dimensions but the last a tile is w wide and moves one to the
// left with every step, so that it reads what tiles before it and itself made: of every step its own w^(d-1) lines and
// two more on the left in each of these dimensions. Along the lines the h steps follow each other as above.
//   at hand  (2 h + 2) (w + 2)^(d-1) + 2 <= S
//   loads    a line of n for each of (w + 2)^(d-1) of the first step, and of what lies left of the tile of the others
//   stores   a line for each of w^(d-1) of the last step, and of the last two of every dimension of the others
// of ceil(T / h) slabs of ceil((n + h) / w)^(d-1) tiles; what lies outside the grid is counted, too.
std::optional<UpperBound> tiles_of_space_time(const JacobiSizes& sizes, Words fast) {
  const int tiled = sizes.dimensions - 1;
  if (tiled < 1) return std::nullopt;
  const auto power = [tiled](double side) { return std::pow(side, tiled); };
  const auto n = static_cast<double>(sizes.points_per_dimension);
  std::optional<UpperBound> best;
  double least = 0x1p53;  // beyond, doubles no longer count exactly
  for (Words w = 1; w < 2 * sizes.points_per_dimension; w = next_candidate(w)) {
    const auto width = static_cast<double>(w), with_halo = power(width + 2.0),
               inner = power(std::max(0.0, width - 2.0));
    for (Words h = 1; h < 2 * sizes.steps; h = next_candidate(h)) {
      const Words height = std::min(h, sizes.steps);
      const auto steps = static_cast<double>(height);
      if ((2.0 * steps + 2.0) * with_halo + 2.0 > static_cast<double>(fast)) break;
      const auto slabs = static_cast<double>(ceil_div(sizes.steps, height));
      const double lines = slabs * power(static_cast<double>(ceil_div(sizes.points_per_dimension + height, w))) * n;
      const double loads = lines * (with_halo + (steps - 1.0) * (with_halo - power(width)));
      const double stores = lines * (power(width) + (steps - 1.0) * (power(width) - inner));
      if (loads + stores >= least) continue;
      least = loads + stores;
      best =
          sweep_cost(static_cast<Words>(loads), static_cast<Words>(stores),
                     "tiles of space-time: " + std::to_string(height) + " steps, " + std::to_string(w) + " lines wide");
    }
  }
  return best;
}

LowerBound passage(Words inputs, Words loads, Words stores, Words outputs) {
  LowerBound bound;
  bound.games = GameSet::with_rules(Rules::red_blue_white);
  bound.method = "values that pass from one scalar to the next";
  bound.parts = {{.what = "inputs loaded for the first scalar", .words = inputs},
                 {.what = "loads between scalars", .words = loads},
                 {.what = "stores of what is loaded so", .words = stores},
                 {.what = "outputs stored", .words = outputs}};
  bound.words = inputs + loads + stores + outputs;
  return bound;
}

// Vectors pass by twice an iteration, an element of each at a time, the matrix a line of three neighbours:
//   until a    p' = r + b p made, q = A p' beside it and p' q summed; x += a p of the iteration before, since p is here
//   until b    r' = r - a q made and r' r' summed; in the last iteration x as well
// Loads r, p, x and r, q; stores p', q, x and r': 9 n an iteration. At hand at most: three of p', r, p, x and the new
// x, q, two sums, the scalars a, b and r r.
constexpr Words k_cg_words = 13;
std::optional<UpperBound> cg_streams(Words n, Words t, Words fast) {
  if (fast < k_cg_words) return std::nullopt;
  // At first r is p; one iteration alone never has x beside it.
  const Words loads = t == 1 ? 4 * n : 5 * n * t, stores = (4 * t - 2) * n;
  return sweep_cost(loads, stores, "vectors pass by, two passes an iteration; a matrix of three diagonals");
}

// The same of iteration j: v_j = w' / norm made, w = A v_j beside it, all h summed; then w' = w - sum h v and its norm.
// Loads w', v_0 .. v_{j-1} and w, v_0 .. v_j; stores v_j, w and w'. At hand: a sum or an h for each of m vectors, three
// of v_j, an element of w', w and v_i, the norm, a new sum.
constexpr Words k_gmres_words = 8;  // besides the sums
std::optional<UpperBound> gmres_streams(Words n, Words m, Words fast) {
  if (fast < m + k_gmres_words) return std::nullopt;
  return sweep_cost((m * m + 2 * m + 1) * n, 3 * m * n,
                    "vectors pass by, two passes an iteration; a matrix of three diagonals");
}

Words positive(Words words) { return std::max<Words>(0, words); }

}  // namespace

Operation jacobi_operation(JacobiSizes sizes) {
  if (sizes.dimensions < 1 || sizes.dimensions > 3)
    throw core::ConfigurationError("jacobi.d", std::to_string(sizes.dimensions) + " dimensions", "give 1, 2 or 3");
  Words grid = 1, plane = 1;
  for (int i = 0; i < sizes.dimensions; ++i) grid = product({grid, sizes.points_per_dimension});
  for (int i = 1; i < sizes.dimensions; ++i) plane = product({plane, sizes.points_per_dimension});
  product({grid, sizes.steps, 8});
  Operation operation;
  operation.name = "Jacobi";
  operation.notes = {"star stencil of radius 1, every step's values made anew"};
  operation.inputs = operation.outputs = grid;
  const Words along = std::min<Words>(2, sizes.points_per_dimension - 1);  // neighbours in one dimension, at most
  const Words reads = grid + 2 * sizes.dimensions * (grid - plane);        // of one step: itself and its neighbours
  operation.flops = sizes.steps * reads;
  operation.max_operands = 1 + sizes.dimensions * along;
  operation.graph = [sizes] { return star_stencil_graph(sizes); };
  operation.proved.push_back(
      [sizes, grid](Words fast) { return std::vector<LowerBound>{jacobi_lower(sizes, grid, fast)}; });
  operation.schedules.push_back(
      [sizes, grid, plane](Words fast, Sliding) { return sweeps_in_a_row(grid, plane, sizes.steps, fast); });
  operation.schedules.push_back([sizes](Words fast, Sliding) { return tiles_of_space_time(sizes, fast); });
  // A window of old values from one plane before to one after the point beside a whole grid of new values.
  operation.schedules.push_back([grid, plane](Words fast, Sliding) -> std::optional<UpperBound> {
    if (fast < grid + 2 * plane + 2) return std::nullopt;
    return sweep_cost(grid, grid, "the grid stays");
  });
  return operation;
}

// Iteration k: q = A p, the scalar a_k from p q, x += a p, r' = r - a q, the scalar b_k from r' r', p' = r' + b p.
// From a_k to b_k (or the end) every r_i and q_i, made before a_k, is read: at least 2n - S loads. From b_k to a_{k+1}
// every r'_i and p_i, made before b_k, is read: at least 2n - S loads. The first loads of r come before a_0, and x is
// loaded besides. What is loaded and no input was stored: of r' and p after b_k at least 2n - S (n - S in the first
// iteration, whose p is an input), of q after a_k at least n - S; all these values are different.
Operation cg_operation(KrylovSizes sizes) {
  product({sizes.unknowns, sizes.iterations, 16});
  const Words n = sizes.unknowns, t = sizes.iterations;
  Operation operation;
  operation.name = "conjugate gradients";
  operation.notes = {"x, r, p and q are vectors of n words; the matrix moves nothing of its own",
                     "every a and b depends on all of its dot product"};
  operation.inputs = 2 * n;
  operation.outputs = n;
  operation.flops = t * 10 * n;  // two dot products and three vector updates an iteration, the matrix apart
  operation.max_operands = 3;
  operation.graph = [n, t] { return cg_graph(static_cast<int>(n), static_cast<int>(t)); };
  operation.proved.push_back([n, t](Words fast) {
    const Words loads = (2 * t - 1) * positive(2 * n - fast);
    const Words stores =
        t * positive(n - fast) + (t > 1 ? positive(n - fast) : 0) + (t > 2 ? (t - 2) * positive(2 * n - fast) : 0);
    return std::vector<LowerBound>{passage(2 * n, loads, stores, n)};
  });
  operation.schedules.push_back([n, t](Words fast, Sliding) { return cg_streams(n, t, fast); });
  return operation;
}

// Iteration j: w = A v_j, scalars h_0 .. h_j from w and the basis, w' = w - sum h_i v_i, the norm, v_{j+1} = w' / norm.
// From the last h of an iteration to its norm w is read, and so are all v_i: each w' chain needs every h_i v_i. Only
// those chain steps that wait for the last h surely come after it: the whole of w_j (or a partial chain in its place)
// and v of that last h: at least 2n - S loads. From a norm to the next iteration's last h every w'_i and v_0 .. v_j is
// read: at least (j + 2) n - S loads. Stored among what is loaded: of w' at least n - S per norm, different values each
// time.
Operation gmres_operation(KrylovSizes sizes) {
  product({sizes.iterations, 16});
  product({sizes.unknowns, sizes.iterations, sizes.iterations + 4, 16});
  const Words n = sizes.unknowns, m = sizes.iterations;
  Operation operation;
  operation.name = "GMRES";
  operation.notes = {"classical Gram-Schmidt without restart; the matrix moves nothing of its own"};
  operation.inputs = n;
  operation.outputs = m * n;
  operation.flops = 2 * m * (m + 1) * n + 3 * m * n;  // j + 1 products and updates in iteration j, norms, scaling
  operation.max_operands = 3;
  operation.graph = [n, m] { return gmres_graph(static_cast<int>(n), static_cast<int>(m)); };
  operation.proved.push_back([n, m](Words fast) {
    Words loads = m * positive(2 * n - fast), stores = 0;
    // After the norm of iteration j < m - 1; after the last norm only w' is read.
    const Words first = std::max<Words>(0, ceil_div(fast, n) - 2);  // the least j with (j + 2) n > S
    if (first < m - 1)
      loads += n * (static_cast<Words>(power_sum(m, 1)) - static_cast<Words>(power_sum(first + 1, 1))) -
               (m - 1 - first) * fast;
    loads += positive(n - fast);
    stores = m * positive(n - fast);
    return std::vector<LowerBound>{passage(n, loads, stores, m * n)};
  });
  operation.schedules.push_back([n, m](Words fast, Sliding) { return gmres_streams(n, m, fast); });
  return operation;
}

}  // namespace cairn::pebble
