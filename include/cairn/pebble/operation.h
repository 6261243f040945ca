// Textbook and deep-learning operators as groups of contractions, with the bracket [lower, upper] of their data
// movement in words.
//
// Lower bound: the largest of
//   compulsory     every distinct input loaded, every output stored
//   projections    sum over the contractions of their best bound: they are vertex-disjoint parts of one graph; a value
//                  passed from one to the next is free in both, an input that several read is charged in the first
//   proved         bounds special to the operator (Operation::proved). The proofs are in src/pebble, beside the
//                  functions that compute the bounds: paired_rows.h (attention), the sources that call proved.push_back
// Fusing is a matter of the upper bound: no choice of fusion lies below the lower bound.
#pragma once

#include <functional>

#include "cairn/pebble/parallel_bounds.h"
#include "cairn/pebble/projection.h"

namespace cairn::pebble {

struct Operation {
  std::string name;
  std::vector<Contraction> contractions;
  Words inputs = 0;   // distinct words that lie in slow memory at the start
  Words outputs = 0;  // distinct words that must lie there at the end, beyond those updated in place
  std::vector<std::function<std::vector<LowerBound>(Words fast)>> proved;
  std::vector<std::function<std::optional<UpperBound>(Words fast, Sliding sliding)>>
      schedules;                   // empty when they need more memory
  std::vector<std::string> notes;  // what the operator stands for
  Words flops = 0;                 // arithmetic on its values: a multiply-add is two
  Words max_operands = 1;          // that one value is made of
  std::function<Cdag()> graph;     // at these sizes, in one order; each value a vertex
  // Empty where no more is known of several devices than of any product (projection_bound_of_share).
  std::function<ParallelBracket(double devices, double memory)> over_devices;
};

// Least fast memory that any play needs: the operands of one value, and without sliding its own place. [words]
Words minimum_fast_words(const Operation& operation, Game game);

// The operation as a graph to be searched exactly. Errors (core::ConfigurationError): more than 64 vertices, or none is
// known.
Cdag small_graph(const Operation& operation);

// Every lower bound at hand, each with where it holds.
std::vector<LowerBound> lower_bounds(const Operation& operation, Words fast);

// The best of both sides in one game. The upper side is empty when no schedule known here fits in `fast` words.
Bracket bracket(const Operation& operation, Words fast, Game game);

// Sizes are positive; products beyond 2^62 are refused (core::ConfigurationError).
struct MatmulSizes {
  Words m, n, k;
  Words batch = 1;
};
Operation matmul_operation(MatmulSizes sizes);         // C = A B, every matrix of the batch its own
Operation matmul_update_operation(MatmulSizes sizes);  // C += A B
struct ChainSizes {
  Words m, k, n, l;
};
Operation matmul_chain_operation(ChainSizes sizes);  // f(A B) D, f elementwise
struct AttentionSizes {
  Words sequence, head_dim;
  Words heads = 1, kv_heads = 1, batch = 1;
  bool causal = false;
  bool online = false;  // forward: each row keeps a running maximum, and what it has summed is scaled when that grows
};
// exp(Q K^T) V with row sums, heads / kv_heads queries per key. Online: m' = max(m, s), c = exp(m - m'),
// p = exp(s - m'), sum' = c sum + p, O' = c O + p V.
// A head of n queries and keys of width d, unmasked, moves at least about 4 n^2 d^2 / S words in a fast memory of S,
// for large n and S, whether values may be computed again or not, and keeping rows of queries while keys pass by
// attains that. Source: an argument of this project, src/pebble/paired_rows.h.
Operation attention_operation(AttentionSizes sizes);
// Of Q, K and V from dO, the scores made again; log-sum and row sum of O dO of each query row are inputs.
Operation attention_backward_operation(AttentionSizes sizes);
struct ConvSizes {
  Words batch, in_channels, out_channels, height, width;  // of the output
  Words filter_height, filter_width, stride = 1;
};
Operation conv2d_operation(ConvSizes sizes);
Operation syrk_operation(Words n, Words m);  // lower triangle of A A^T, A n x m, without the diagonal
Operation lu_operation(Words n);             // no pivoting
Operation cholesky_operation(Words n);
Operation fft_operation(Words n);  // n = 2^k
struct EmbeddingSizes {
  Words tokens, width, distinct_rows;
};
Operation embedding_operation(EmbeddingSizes sizes);  // ids, distinct rows, one output row per token
Operation softmax_operation(Words rows,
                            Words columns);  // sum then divide, the exponentials of a row its interior values
Operation reduce_broadcast_operation(Words rows, Words columns);  // layernorm-like: a row sum, then y_i = f(sum, x_i)
struct JacobiSizes {
  int dimensions;
  Words points_per_dimension, steps;
};
Operation jacobi_operation(JacobiSizes sizes);  // star stencil of radius 1, values outside the grid not read
struct KrylovSizes {
  Words unknowns, iterations;
};
Operation cg_operation(KrylovSizes sizes);     // vectors only: the matrix is part of the operator
Operation gmres_operation(KrylovSizes sizes);  // classical Gram-Schmidt, no restart

}  // namespace cairn::pebble
