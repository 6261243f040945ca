// The fast Fourier transform of n = 2^k points: k levels of n values, each of two of the level before.
//
// Lower bound. In a stretch of T loads the X = S + T words at hand are those that were there and those loaded. Follow a
// value that is computed in the stretch back to words at hand: a binary tree, whose leaves are distinct, because two
// vertices of the graph are joined by at most one path. Give a leaf at distance h the weight 2^-h: the weights of a
// tree add up to 1, and leaves further than H levels away, at most X of them, to at most X 2^-(H+1). A word has 2^h
// values at distance h, so with H = ceil(log2 X) + j the values computed, each with a weight of at least 1 - 2^-(j+1)
// near by, are
//
//   U(X) <= min over j >= 0 of  X (ceil(log2 X) + j) / (1 - 2^-(j+1))
//
// Loads are at least T (ceil(n k / U) - 1); every output is stored. What is computed twice is counted once, so that
// this holds in every game.
//
// The span of the graph, 2 X log2 X (j = 0), is known (Savage, Models of Computation, 1998, section 11.5; Hong, Kung
// 1981); the argument above is complete in itself.
#include <algorithm>
#include <bit>
#include <cmath>

#include "cairn/pebble/generators.h"
#include "cairn/pebble/operation.h"
#include "checked.h"
#include "segments.h"

namespace cairn::pebble {
namespace {

constexpr int k_farthest = 12;  // j that are tried

long double most_values(Words at_hand) {
  // ceil(log2 X) for X >= 2
  const auto levels = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<Words>(1, at_hand - 1))));
  long double least = 0.0L;
  for (int j = 0; j <= k_farthest; ++j) {
    const long double values =
        static_cast<long double>(at_hand) * (levels + j) / (1.0L - std::exp2(-static_cast<long double>(j + 1)));
    least = j == 0 ? values : std::min(least, values);
  }
  return least;
}

LowerBound butterfly_bound(Words n, Words fast) {
  const auto levels = static_cast<Words>(std::bit_width(static_cast<std::uint64_t>(n))) - 1;
  const Segments loads = best_segments(n * levels, fast, [&](Words t) { return most_values(fast + t); });
  LowerBound bound;
  bound.words = loads.words + n;
  bound.games = GameSet::all();
  bound.method = "reach of butterflies, by what " + std::to_string(loads.transfers) + " loads in a row allow";
  bound.parts = {{.what = "loaded", .words = loads.words}, {.what = "results stored", .words = n}};
  return bound;
}

}  // namespace

Operation fft_operation(Words n) {
  if (n < 2 || !std::has_single_bit(static_cast<std::uint64_t>(n)))
    throw core::ConfigurationError("fft.n", std::to_string(n) + " points", "give a power of two, at least 2");
  Operation operation;
  operation.name = "fast Fourier transform";
  operation.notes = {"a word holds a complex number"};
  operation.inputs = operation.outputs = n;
  constexpr Words k_flops_per_butterfly_output = 5;  // complex numbers: half a product of 6, a sum of 2
  operation.flops = k_flops_per_butterfly_output * n * (std::bit_width(static_cast<std::uint64_t>(n)) - 1);
  operation.max_operands = 2;
  operation.graph = [n] { return fft_graph(static_cast<int>(n)); };
  operation.proved.push_back([n](Words fast) { return std::vector{butterfly_bound(n, fast)}; });
  // q levels at a time on 2^q points: each pass loads and stores everything once.
  operation.schedules.push_back([n](Words fast, Sliding sliding) -> std::optional<UpperBound> {
    const Words room = fast - (sliding == Sliding::allowed ? 1 : 2);
    if (room < 2) return std::nullopt;
    const auto levels = static_cast<Words>(std::bit_width(static_cast<std::uint64_t>(n))) - 1;
    const auto at_once = static_cast<Words>(std::bit_width(static_cast<std::uint64_t>(room))) - 1;
    const Words passes = ceil_div(levels, at_once);
    UpperBound upper;
    upper.loads = upper.stores = n * passes;
    upper.words = 2 * n * passes;
    upper.games = GameSet::of({Rules::hong_kung, sliding}) | GameSet::of({Rules::red_blue_white, sliding});
    upper.method = std::to_string(passes) + " passes of up to " + std::to_string(at_once) + " levels";
    return upper;
  });
  return operation;
}

}  // namespace cairn::pebble
