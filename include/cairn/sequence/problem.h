// One attention over sequences that are too long for one device: what its ranks share among them.
//
//   O = softmax(Q K^T + mask) V       Q (n, h_q, d), K (n, h_kv, d), V (n, h_kv, d_v), query head i reads K, V head
//                                     i / (h_q / h_kv)
// Every one of `sequences` sequences of n tokens is shared alike, so that all of them count in bytes and work and none
// in lists.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::sequence {

enum class Mask : std::uint8_t { full, causal };
enum class Pass : std::uint8_t { forward, backward };

// The tensors of attention; `logsumexp` and `delta` (rowsum of dO o O) have one number per token and query head.
enum class Tensor : std::uint8_t {
  query,
  key,
  value,
  output,
  logsumexp,
  output_gradient,
  delta,
  query_gradient,
  key_gradient,
  value_gradient
};
inline constexpr std::size_t k_tensors = 10;
std::string_view name(Tensor tensor);

// Bytes per element of what is sent.
struct Wire {
  std::int64_t operand = 2;    // Q, K, V, O and dO
  std::int64_t gradient = 2;   // dQ, dK, dV: 4 where a scheme passes its fp32 accumulators on
  std::int64_t statistic = 4;  // log-sum-exp, delta
  friend bool operator==(const Wire&, const Wire&) = default;
};
// Operands in 16 bits; gradients too, or in fp32.
constexpr Wire wire_of(bool fp32_gradients) { return {.gradient = fp32_gradients ? 4 : 2}; }

struct Problem {
  std::int64_t tokens = 0;     // n of each sequence
  std::int64_t sequences = 1;  // b
  std::int64_t heads = 1;      // h_q
  std::int64_t kv_heads = 1;   // h_kv, divides h_q
  std::int64_t head_dim = 1;   // d of queries and keys
  std::int64_t value_dim = 0;  // d_v; 0: as head_dim
  Mask mask = Mask::causal;
  // Packed: lengths of the documents in a sequence, in order, that add up to n; tokens of different ones do not see
  // each other. Empty: one document.
  std::vector<std::int64_t> documents = {};
  Wire wire = {};

  std::int64_t values() const { return value_dim == 0 ? head_dim : value_dim; }
  std::int64_t group() const { return heads / kv_heads; }  // query heads of one key head
  // Whether the query at position q sees the key at position k.
  bool sees(std::int64_t q, std::int64_t k) const;
  friend bool operator==(const Problem&, const Problem&) = default;
};

// A range of query heads. Of keys and values it means the heads that those read.
struct Heads {
  std::int64_t first = 0;
  std::int64_t count = 0;
  friend bool operator==(const Heads&, const Heads&) = default;
};
inline Heads all_heads(const Problem& problem) { return {.first = 0, .count = problem.heads}; }
// Key heads that the query heads read.
Heads kv_heads(const Problem& problem, const Heads& heads);

// Whether the tensor has key heads (key, value and their gradients).
bool of_keys(Tensor tensor);
// The heads that a tensor has of these query heads: the key heads that they read where it has key heads.
Heads heads_of(const Problem& problem, Tensor tensor, const Heads& heads);
// Elements per token and head, and bytes of each when sent.
std::int64_t width(const Problem& problem, Tensor tensor);
std::int64_t wire_bytes(const Problem& problem, Tensor tensor);

}  // namespace cairn::sequence
