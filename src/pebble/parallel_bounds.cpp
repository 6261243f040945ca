#include "cairn/pebble/parallel_bounds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include "cairn/core/diagnostics.h"

namespace cairn::pebble {

namespace {

void check(double devices) {
  if (!(devices >= 1.0))
    throw core::ConfigurationError("devices", std::to_string(devices) + " devices", "give at least 1");
}

// Words in and out for each query row and each key row that a device works on and does not own.
struct WordsOfRows {
  double query, key;
};

WordsOfRows words_of_rows(const ParallelAttention& a, AttentionPass pass) {
  if (pass == AttentionPass::forward) return {.query = 2.0 * a.width, .key = 2.0 * a.kv_width};
  return {.query = 3.0 * a.width, .key = 4.0 * a.kv_width};
}

// min of query r + key c over r c >= pairs, r and c at most `tokens`.
double least_for_pairs(const WordsOfRows& words, double pairs, double tokens) {
  if (pairs <= 0.0) return 0.0;
  const double r = std::clamp(std::sqrt(pairs * words.key / words.query), pairs / tokens, tokens);
  return words.query * r + words.key * pairs / r;
}

}  // namespace

ParallelWords matmul_memory_independent(const ParallelMatmul& problem) {
  check(problem.devices);
  std::array<double, 3> side = {problem.m, problem.n, problem.k};
  std::sort(side.begin(), side.end(), std::greater<>());
  const auto [m, n, k] = side;
  const double p = problem.devices;
  const double owned = (m * n + m * k + n * k) / p;
  double touched = 0.0;
  std::string shape;
  if (p <= m / n) {
    touched = (m * n + m * k) / p + n * k;
    shape = "one side cut";
  } else if (p <= m * n / (k * k)) {
    touched = 2.0 * std::sqrt(m * n * k * k / p) + m * n / p;
    shape = "two sides cut";
  } else {
    touched = 3.0 * std::pow(m * n * k / p, 2.0 / 3.0);
    shape = "three sides cut";
  }
  return {.words = std::max(0.0, touched - owned),
          .method = "memory-independent, " + shape,
          .premise = "balanced work, one copy of the data"};
}

ParallelWords matmul_memory_dependent(const ParallelMatmul& problem, double memory) {
  check(problem.devices);
  const double p = problem.devices;
  const double words =
      2.0 * problem.m * problem.n * problem.k / (p * std::sqrt(memory)) - 2.0 * memory - problem.m * problem.n / p;
  return {.words = std::max(0.0, words),
          .method = "memory-dependent",
          .premise = "some device does its share of the products"};
}

ParallelWords matmul_bound(const ParallelMatmul& problem, double memory) {
  ParallelWords independent = matmul_memory_independent(problem), dependent = matmul_memory_dependent(problem, memory);
  return dependent.words > independent.words ? dependent : independent;
}

// On a grid q x q x c, q = sqrt(p / c): each layer does 1/c of the steps of a 2-d algorithm on blocks of n/q; A and B
// are copied to the c layers first, C summed over them last, 1 - 1/c of a block each.
ParallelAlgorithm matmul_25d(double n, double devices, double copies) {
  check(devices);
  const double q = std::sqrt(devices / copies), block = n * n / (q * q);
  return {.name = "2.5d",
          .words = 2.0 * block * std::max(0.0, q / copies - 1.0) + 3.0 * block * (1.0 - 1.0 / copies),
          .memory = 3.0 * block};
}

std::vector<ParallelAlgorithm> matmul_algorithms(double n, double devices) {
  check(devices);
  const double square = n * n, p = devices, root = std::round(std::sqrt(p)), cube = std::round(std::cbrt(p));
  std::vector<ParallelAlgorithm> all{
      {.name = "1d", .words = square * (1.0 - 1.0 / p), .memory = square + 2.0 * square / p}};
  if (root * root == p)
    all.push_back({.name = "2d", .words = 2.0 * square * (root - 1.0) / p, .memory = 3.0 * square / p});
  for (double copies = 2.0; copies < cube; ++copies) {
    const double side = std::round(std::sqrt(p / copies));
    if (side * side * copies != p || std::fmod(side, copies) != 0.0) continue;
    ParallelAlgorithm one = matmul_25d(n, p, copies);
    one.name += ", " + std::to_string(static_cast<std::int64_t>(copies)) + " copies";
    all.push_back(std::move(one));
  }
  if (cube * cube * cube == p)
    all.push_back({.name = "3d",
                   .words = 3.0 * square / (cube * cube) * (1.0 - 1.0 / cube),
                   .memory = 3.0 * square / (cube * cube)});
  return all;
}

double ring_attention_words(const ParallelAttention& a) {
  return 2.0 * (a.devices - 1.0) * a.tokens * a.kv_width / a.devices;
}

double ulysses_attention_words(const ParallelAttention& a) {
  return (2.0 * a.width + 2.0 * a.kv_width) * (a.devices - 1.0) * a.tokens / (a.devices * a.devices);
}

double grid_attention_words(const ParallelAttention& a, double query_side) {
  const double key_side = a.devices / query_side, rows = a.tokens / a.devices;
  // Q gathered over the key side, K and V over the query side, O reduced over the key side.
  return (2.0 * (key_side - 1.0) * a.width + 2.0 * (query_side - 1.0) * a.kv_width) * rows;
}

ParallelWords attention_exchange_bound(const ParallelAttention& a, bool causal, AttentionPass pass) {
  check(a.devices);
  const WordsOfRows words = words_of_rows(a, pass);
  const auto sequences = static_cast<double>(a.sequences);
  const double whole = std::floor(sequences / a.devices), part = sequences - whole * a.devices;
  const double pairs = a.tokens * a.tokens / (causal ? 2.0 : 1.0);  // of a sequence
  const double touched =
      whole * least_for_pairs(words, pairs, a.tokens) + least_for_pairs(words, part * pairs / a.devices, a.tokens);
  const double owned = (words.query + words.key) * sequences * a.tokens / a.devices;
  return {.words = std::max(0.0, touched - owned),
          .method = causal ? "pairs of rows, causal" : "pairs of rows",
          .premise = pass == AttentionPass::forward
                         ? "forward, whole heads, one copy of the data, balanced pairs"
                         : "backward from owned rows alone, whole heads, one copy of the data, balanced pairs"};
}

ParallelBracket matmul_over_devices(const ParallelMatmul& problem, double memory) {
  ParallelBracket result{.lower = matmul_bound(problem, memory)};
  if (problem.m == problem.n && problem.n == problem.k)
    result.algorithms = matmul_algorithms(problem.m, problem.devices);
  return result;
}

ParallelBracket attention_over_devices(const ParallelAttention& all, bool causal) {
  ParallelBracket result{.lower = attention_exchange_bound(all, causal)};
  const std::int64_t groups = std::gcd(all.sequences, static_cast<std::int64_t>(all.devices));
  const double each = static_cast<double>(all.sequences / groups);  // sequences of a group, one after the other
  ParallelAttention one = all;
  one.sequences = 1;
  one.devices = all.devices / static_cast<double>(groups);
  // A device's share of Q and O, of K and V.
  const double rows = one.tokens / one.devices, queries = 2.0 * rows * one.width, keys = 2.0 * rows * one.kv_width;
  const auto add = [&](const char* name, double words, double memory, const char* outside = "") {
    result.algorithms.push_back({.name = name, .words = each * words, .memory = each * memory, .outside = outside});
  };
  add("ring of keys and values", ring_attention_words(one), queries + 2.0 * keys);
  add("heads split", ulysses_attention_words(one), queries + keys,
      "splits heads, which lie whole on a device where the bound holds");
  if (const double side = std::floor(std::sqrt(one.devices)); side * side == one.devices)
    add("square grid", grid_attention_words(one, side), side * queries + keys);
  return result;
}

}  // namespace cairn::pebble
