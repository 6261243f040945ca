// What a tile computes, one query at a time, and how its parts are joined: fp32, the softmax's rule (Dao,
// FlashAttention-2, arXiv 2307.08691, algorithms 1 and 2).
//   forward   S_k = q . k / sqrt(d)    L = log sum exp S_k    O = sum exp(S_k - L) v
//   backward  P_k = exp(S_k - L)    dS_k = P_k (dO . v - delta)
//             dQ += dS_k k / sqrt(d)    dK += dS_k q / sqrt(d)    dV += P_k dO
//   join      L = log(exp L_a + exp L_b)    O = (exp(L_a) O_a + exp(L_b) O_b) / exp(L)
// A part of no keys is O = 0, L = -infinity.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cairn/sequence/problem.h"

namespace cairn::sequence {

// Numbers of one query, of one head.
struct QueryRow {
  const float* query = nullptr;
  // Backward only.
  const float* output_gradient = nullptr;
  float logsumexp = 0.0F;
  float delta = 0.0F;
};

// Numbers of a key that a query sees, of the key head that its head reads.
struct KeyRow {
  const float* key = nullptr;
  const float* value = nullptr;
  // Backward only: added to.
  float* key_gradient = nullptr;
  float* value_gradient = nullptr;
};

class TileArithmetic {
 public:
  explicit TileArithmetic(const Problem& problem);

  // Writes the part of O that these keys make, returns its log-sum-exp.
  float forward(const QueryRow& query, std::span<const KeyRow> keys, float* output);
  // Adds to dQ of the query and to dK, dV of the keys.
  void backward(const QueryRow& query, std::span<const KeyRow> keys, float* query_gradient) const;

 private:
  std::int64_t head_dim_;
  std::int64_t value_dim_;
  float scale_;
  std::vector<float> weights_;
};

float joined_logsumexp(float held, float added);
// Joins `added` with the part of O that is held; both log-sum-exps as they were before.
void join_output(float* held, float held_logsumexp, const float* added, float added_logsumexp, std::int64_t count);

}  // namespace cairn::sequence
