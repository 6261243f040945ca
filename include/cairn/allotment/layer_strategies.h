// How each layer of a pipeline stage is parallelised, so that the stage is fastest and fits into memory.
//
//   minimise    sum over l of time(l, s_l)  +  sum over l > 0 of R(l - 1, s_(l-1), s_l)
//   subject to  sum over l of memory(l, s_l) <= capacity
//
// s_l: strategy of layer l; R(l, a, b): what it takes to bring the output of layer l from where strategy a leaves it to
// where strategy b of layer l + 1 expects it. Memory [bytes] and times [ps] are of one device; what no choice changes
// (the runtime's own memory) is taken off the capacity by the caller. Galvatron's recurrence, E a memory:
//
//   C(l, E, s) = time(l, s) + min over s' of ( C(l - 1, E - memory(l, s), s') + R(l - 1, s', s) )
//
// Two layers of two strategies {time, memory}, ({10, 8}, {30, 2}) each, a change takes 5: with a capacity of 16 both
// take the first (20 ps), with 10 one of them takes the second (45 ps), with 4 both do (60 ps), with 3 nothing fits.
//
// Source: X. Miao, Y. Wang, Y. Jiang, C. Shi, X. Nie, H. Zhang, B. Cui, "Galvatron: Efficient Transformer Training over
// Multiple GPUs Using Automatic Parallelism", VLDB 2023 (arXiv 2211.13878); recomputation as a strategy:
// Y. Wang et al., "Improving Automatic Parallel Training via Balanced Memory Workload Optimization", 2023
// (arXiv 2307.02031).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "cairn/core/time.h"

namespace cairn::allotment {

struct LayerStrategy {
  core::Picoseconds time = 0;  // >= 0
  std::int64_t memory = 0;     // bytes, >= 0
};

// R(layer, from, to) [ps], >= 0: asked once for every pair of strategies of layers `layer` and `layer + 1`.
using ChangeTime = std::function<core::Picoseconds(std::size_t layer, std::size_t from, std::size_t to)>;

struct LayerProblem {
  std::vector<std::vector<LayerStrategy>> layers = {};  // in order; one strategy or more each
  ChangeTime change_time = {};                          // empty: changes take no time
  std::int64_t capacity = 0;                            // bytes; nothing fits into less than 0
};

struct LayerChoice {
  std::vector<std::size_t> strategies = {};  // of each layer
  core::Picoseconds time = 0;
  std::int64_t memory = 0;   // bytes, unrounded
  std::size_t examined = 0;  // partial choices that were compared
};

// The fastest choice, of equally fast ones one of the least memory; nothing where none fits. Exact: for every strategy
// of the last layer, the partial choices are kept that no other one beats in both time and memory; what follows depends
// on a partial choice by these alone. There are at most as many as different sums of memories, few where layers are
// alike. Errors: core::ConfigurationError where a layer has no strategy, a time or a memory is negative, or sums of
// them leave what simulated time and 64 bits hold.
std::optional<LayerChoice> fastest_strategies(const LayerProblem& problem);

// Table cells of the search by units, layers x units x strategies, at most: 4 bytes each.
inline constexpr double k_most_cells = 2.5e8;

// Galvatron's own search, by a table over memory in whole units, those of strategies rounded up and that of the
// capacity down. What it finds fits in truth and is never faster than fastest_strategies(), and as fast where all
// memories are multiples of `unit`. Of L layers it is no slower than the fastest choice that leaves (L + 1)(unit - 1)
// bytes free, and may find nothing where there is none such. Of equally fast choices it takes any. Errors: as above;
// `unit` below 1, or so small that there are more than k_most_cells.
std::optional<LayerChoice> fastest_strategies_by_units(const LayerProblem& problem, std::int64_t unit);

enum class LayerParallelism : std::uint8_t { data, sharded_data, tensor };

// So many devices share the layer in this way.
struct ParallelDegree {
  LayerParallelism kind = LayerParallelism::data;
  std::int64_t degree = 1;
  bool operator==(const ParallelDegree&) const = default;
};

struct ParallelStrategy {
  std::vector<ParallelDegree> degrees = {};  // outermost first, powers of two above 1, their product all devices
  bool recompute = false;                    // activations are computed again in the backward pass
  bool operator==(const ParallelStrategy&) const = default;
};

enum class Recomputation : std::uint8_t { never, optional };

// The leaves of Galvatron's decision trees: every way in which `devices` = 2^k of one pipeline stage share a layer. A
// tree has a level for each kind, every order of kinds has its tree, a kind occurs once, and data and sharded data
// parallelism exclude each other, since to shard over all of their ranks is taken to be better than to mix them. These
// are 3 + 4 (k - 1) for k > 0, and a single one without degrees for one device; with recomputation twice as many. 8
// devices in 1, 2, 4 and 8 stages have 11 + 7 + 3 + 1 = 22, with recomputation 44: as many as the authors' program
// lists for 8 GPUs (github.com/AFDWang/Hetu-Galvatron at 094e1d5, galvatron/core/search_engine.py).
// Errors: core::ConfigurationError where `devices` is no power of two.
std::vector<ParallelStrategy> parallel_strategies(std::int64_t devices, Recomputation recomputation);

}  // namespace cairn::allotment
