// Words that devices must move between them, and what known algorithms move, for p devices with balanced work and one
// copy of the data at the start. Counts of words are real numbers here: shares like n (p - 1) / p need not be whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cairn/pebble/cdag.h"

namespace cairn::pebble {

struct ParallelWords {
  double words = 0.0;
  std::string method;
  std::string premise;
};

struct ParallelMatmul {
  double m, n, k;
  double devices;
};

// Words that some device sends and receives, whatever its memory.
// Model: with m >= n >= k, a device that does mnk/P products touches x, y, z words of the three matrices, xyz >=
// (mnk/P)^2, and
//   at least its share of each: D = (mn + mk)/P + nk                 P <= m/n
//                               D = 2 sqrt(mnk^2 / P) + mn/P         m/n <= P <= mn/k^2
//                               D = 3 (mnk/P)^{2/3}                  mn/k^2 <= P
//   bound = D - (mn + mk + nk)/P.
// Source: Al Daas, Ballard, Grigori, Kumar, Rouse, arXiv 2205.13407; the three cases meet at their borders.
ParallelWords matmul_memory_independent(const ParallelMatmul& problem);

// Words that some device sends and receives with `memory` words each: 2mnk/(P sqrt(S)) - 2S - mn/P, at least 0.
// Source: Irony, Toledo, Tiskin 2004, with the constant of the segment argument of projection.h.
ParallelWords matmul_memory_dependent(const ParallelMatmul& problem, double memory);

// The larger of the two.
ParallelWords matmul_bound(const ParallelMatmul& problem, double memory);

// Words received per device by square algorithms, n x n matrices, and the memory they take. [words]
struct ParallelAlgorithm {
  std::string name;
  double words;
  double memory;
  std::string outside = {};  // why the bound does not hold for it, if so
};
// 2.5-d with `copies` of the data on a grid of sqrt(p / copies) squared for each.
ParallelAlgorithm matmul_25d(double n, double devices, double copies);
// Those whose grids the devices fill: rows always, squares and cubes of devices, and 2.5-d for every number of copies
// up to cbrt(p), which from there is 3-d, that leaves squares of a side that the copies divide.
std::vector<ParallelAlgorithm> matmul_algorithms(double n, double devices);

// Attention, N tokens, d words per token of Q and of O over all heads, d_kv of K and of V, devices p = p_q * p_kv. Words
// received per device, of one sequence, forward.
struct ParallelAttention {
  double tokens, width, kv_width;
  double devices;
  std::int64_t sequences = 1;  // B
};
double ring_attention_words(const ParallelAttention& problem);     // 2 (p - 1) N d_kv / p
double ulysses_attention_words(const ParallelAttention& problem);  // (2 d + 2 d_kv) (p - 1) N / p^2
double grid_attention_words(const ParallelAttention& problem,
                            double query_side);  // p_q = query_side, without statistics

enum class AttentionPass : std::uint8_t { forward, backward };

// Words that a device receives at the least, averaged over the devices; so some device receives that many. As many are
// sent.
// Model: words that go in or out for a row that a device works on and does not own,
//               a query row                   a key row
//   forward     a = 2 d   Q in, O out         b = 2 d_kv   K, V in
//   backward    a = 3 d   Q, dO in, dQ out    b = 4 d_kv   K, V in, dK, dV out
//   g(x)  = min { a r + b c : r c >= x, r <= N, c <= N }
//   X     = B F / p pairs of a query and a key for each device, F = N^2 of each sequence (causal, no less than N^2 / 2)
//   bound = max(0, floor(X / F) g(F) + g(X mod F) - (a + b) B N / p)
// Proof. A device that does x pairs of a sequence touches r query rows and c key rows of it with r c >= x, which take
// g(x) words or more. g is concave with g(0) = 0, so that X pairs take least in whole sequences and a part of one more.
// Every row has one owner, so that of all these words at most (a + b) B N, over all devices, need not move. Each word that
// moves is counted once, an operand where it arrives and a part of a result where it leaves; since all that leaves
// arrives, the sum over the devices is at most the sum of what they receive.
// One sequence, d = d_kv, full mask: forward 4 (sqrt(p) - 1) N d / p, which p_q = p_kv attains; backward
// (4 sqrt(3 p) - 7) N d / p, which p_q = sqrt(3 p / 4) attains and p_q = p_kv, 7 (sqrt(p) - 1) N d / p, misses by
// (7 - 4 sqrt(3)) N d / sqrt(p), one part in a hundred. Nothing where every device has whole sequences.
// Valid: balanced pairs, each done by one device for all heads (schemes that split heads lie outside); one copy of the
// data at the start, results whole with the owners of their rows at the end. Backward starts from owned rows alone: a
// device that still has Q, K or V which it gathered for its forward pass may receive less. Statistics (log-sum-exp, and
// delta = rowsum(dO o O), which the owner of a row has) are left out.
// Errors: ConfigurationError for less than one device.
ParallelWords attention_exchange_bound(const ParallelAttention& problem, bool causal,
                                       AttentionPass pass = AttentionPass::forward);

// A bound beside known algorithms.
struct ParallelBracket {
  ParallelWords lower;
  std::vector<ParallelAlgorithm> algorithms = {};
};
// With `memory` words on each device; algorithms are known of square matrices.
ParallelBracket matmul_over_devices(const ParallelMatmul& problem, double memory);
// Of several sequences the algorithms give groups of devices as many each as they can.
ParallelBracket attention_over_devices(const ParallelAttention& problem, bool causal);

}  // namespace cairn::pebble
