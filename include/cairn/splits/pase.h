// The best split of every operator of a graph by the costs of PaSE's published prototype.
//
//   F(phi) = sum over operators v of t_v(phi_v) + sum over edges (u, v) of F/B * t_uv(phi_u, phi_v)          [FLOP]
//
// t_v: FLOPs of one part and the words that it exchanges with the others; t_uv: words that the consumer's part lacks of
// what the producer's part made, forward, and as many backward. With c the split, E the extents, L = E / c the local
// extents, w(x) = F/B x [FLOP of x words], AR(x, q) = w(2 (q - 1) x / q):
//
//   matrix product     batch (3 m n k + 3 e m n + AR(m n, c_k) + AR(m k, c_n) + AR(n k, c_m)), local extents, e
//                      element-wise operators behind it; of a convolution m = b h w, n = channels out,
//                      k = channels in x window, h and w whole; of an embedding k = rows of the table
//   element-wise       (1 + e) elements;  of one operand: no operator of its own, but counted in e of what it follows
//   pooling            elements out + w(elements that windows reach into other parts: (h + r)(w + s) - h w)
//   norm               16 elements + 4 AR(elements / L_a, c_a) + 4 AR(L_a, parts / c_a), a the first summed dimension
//   softmax            (4 + E_a) elements + 2 AR(rows, c_a) + AR(rows E_a, c_a)
//   loss               4 elements + 2 rows + w(2 rows) where the classes are split
//   mean               AR(elements, c of the summed dimensions)
//   LSTM               a product with 4 n and 2 k, e = 3, per layer; the sequence whole; and at each step and layer the
//                      words that the next step lacks of the output
//   views              nothing; a reshape flattens and unflattens, both in contiguous parts alone
//   edge               w(2 max(0, wanted - common)), common 0 where the consumer's parts of the tensor outnumber the
//                      producer's, else the product of the smaller local extents. Of several tensors between the same
//                      two operators the prototype counts the last one, and so does this.
//
// Nothing overlaps. The figure ranks strategies; it is no time (for AlexNet on 32 devices it says 11.6 times data
// parallelism, hardware 1.4). Source: V. Elango, "PaSE: Parallelization Strategies for Efficient DNN Training", IPDPS
// 2021, and the prototype of its author.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cairn/choice/cost_network.h"
#include "cairn/ir/graph.h"
#include "cairn/splits/configuration.h"

namespace cairn::splits {

struct PaseRules {
  std::int64_t devices = 8;
  // Work done in the time of one word's transfer: 10 TFLOP/s over 2 G words/s (16 GB/s, 8 bytes a word).
  double flop_per_word = 5000.0;
  // No part is shorter than this along a dimension that is split.
  std::int64_t least_extent = 4;
};

// An operator that is split. A reshape is two: one over its input's dimensions, one over its output's.
struct SplitOperator {
  std::string name;
  std::vector<std::string> dims = {};
  std::vector<std::int64_t> extents = {};
  std::vector<Split> splits = {};  // the options of its vertex
};

struct SplitProblem {
  std::vector<SplitOperator> operators = {};
  choice::CostNetwork costs = {};  // vertex i: operators[i]
};

// The prototype's least extents: 4, and 1 where there are heads (a softmax) or layers of an LSTM to split, of which there
// are few.
std::int64_t usual_least_extent(const ir::Graph& graph);

// `graph`: of constant extents, as models/network.h describes them. Errors: core::ConfigurationError that lists every
// operator without a rule above.
SplitProblem pase_problem(const ir::Graph& graph, const PaseRules& rules);

// The option of each operator that splits the batch (its dimension "b") alone, into as many parts as it can; whole where
// it cannot. Data parallelism, as far as the graph allows it.
std::vector<choice::Option> data_parallel(const SplitProblem& problem);

}  // namespace cairn::splits
