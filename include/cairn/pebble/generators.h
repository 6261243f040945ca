// CDAGs of textbook computations at concrete small sizes. Vertices are numbered in the order of execution: inputs
// first, then the computation in the loop order named below. "FMA chain": one vertex per multiply-add, reading its two
// factors and, after the first, the running sum.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/pebble/cdag.h"

namespace cairn::pebble {

Cdag chain_graph(int n);                 // x -> v1 -> ... -> vn; vn out
Cdag binary_tree_graph(int leaves);      // leaves = 2^k inputs, left half, right half, their sum; root out
Cdag linear_sum_graph(int n);            // s = x0 + x1; s += x_i; last s out
Cdag pyramid_graph(int r);               // r + 1 inputs, each row one shorter than the one below; apex out
Cdag fft_graph(int n);                   // log2 n levels, vertex i reads i and i xor 2^level; last level out
Cdag outer_product_graph(int m, int n);  // one vertex per (i, j) reading a_i, b_j; all out
Cdag matvec_graph(int m, int n);         // y = A x, row by row, FMA chains over the columns
Cdag conv1d_graph(int n, int taps);      // n outputs, n + taps - 1 inputs, FMA chain over the taps
Cdag jacobi1d_graph(int n, int steps);   // 3-point stencil, 2-point at the ends; last row out
Cdag diamond_graph(int n);               // n x n grid reading up and left; (0,0) in, (n-1,n-1) out
Cdag dp_grid_graph(int m, int n);        // m x n grid with m + n border inputs; last row and column out
Cdag reduce_broadcast_graph(int n);      // s = sum of x; y_i <- (s, x_i) out
Cdag softmax_graph(int n);               // e_i <- x_i; s = sum of e; y_i <- (s, e_i) out; no maximum taken
Cdag ladder_graph(int n, int m);         // x -> c1..cn -> m more -> n more that read c1..cn again; last out
Cdag cholesky_graph(int n);              // right-looking on the lower triangle; all of L out
Cdag lu_graph(int n);                    // right-looking, no pivoting; all out but the untouched first row
Cdag attention_graph(int n, int d);      // row by row: q K^T, exp, their sum, times V, division; no maximum taken
Cdag matmul_chain_graph(int m, int k, int n, int l);  // (A B) D, result by result, A B neither in nor out

// Conjugate gradients on a line of n unknowns with a 3-point matrix:
//   q = A p; a = rr / (p q); x += a p; r -= a q; rr = r r; b = rr / old rr; p = r + b p
// In: x and r, which is also the first p. Out: x. The last iteration ends with x and r.
Cdag cg_graph(int n, int iterations);
// GMRES with classical Gram-Schmidt on the same line:
//   w = A v_j; h_i = w v_i for all i <= j; w' = w - sum h_i v_i; v_{j+1} = w' / |w'|
// In: v_0; out: all other v.
Cdag gmres_graph(int n, int iterations);

struct MatmulShape {
  int m, n, k;
};
enum class MatmulForm : std::uint8_t {
  fma,          // C = A B, k outermost
  accumulate,   // C += A B: the first FMA also reads an input c_ij
  multiply_add  // separate multiply and add vertices, the first product starts the sum
};
Cdag matmul_graph(MatmulShape shape, MatmulForm form = MatmulForm::fma);

// By name and parameters, as in "matmul" with M=2;N=2;K=3. Errors (core::ConfigurationError): unknown generator (the
// nearest is named), missing or unknown parameters, sizes out of range.
using Parameters = std::map<std::string, int>;
Cdag generate(const std::string& name, const Parameters& parameters);
std::vector<std::string> generator_names();

}  // namespace cairn::pebble
