// Softmax attention as operators of a formula, with all scores held: what schemes share that cut something else than
// its queries and keys.
#pragma once

#include <string>

#include "cairn/sequence/formula.h"

namespace cairn::sequence {

// Tensors and labels end in `suffix`. Tokens have the letters `tokens`, one of which is `query`; keys have `key` there.
struct AttentionLetters {
  std::string suffix = "";
  std::string tokens = "n";
  char query = 'n';
  char key = 'k';
  bool causal = false;
  double scale = 1.0;
};

// Forward, h heads of d elements:
//   "scores"   S[nhk] = scale Q[nhd] K[khd]
//   "softmax"  P[nhk] = softmax along k
//   "values"   A[nhd] = P[nhk] V[khd]
void add_attention(Formula& formula, const AttentionLetters& letters);
// Backward, from dA[nhd]:
//   "weights gradient"  dP[nhk] = dA[nhd] V[khd]
//   "values gradient"   dV[khd] = P[nhk] dA[nhd]
//   "softmax gradient"  dS = P (dP - rowsum(dP P))
//   "query gradient"    dQ[nhd] = scale dS[nhk] K[khd]
//   "keys gradient"     dK[khd] = scale dS[nhk] Q[nhd]
void add_attention_gradients(Formula& formula, const AttentionLetters& letters);

// The same from x[nm], m elements of a token, with projections and a residual:
//   "projection"  Q[nhd], K[khd], V[khd] = x Wq[mhd], ...      "output"  y[nm] = A[nhd] Wo[hdm]      "residual"  y += x
void add_attention_block(Formula& formula, const AttentionLetters& letters, const std::string& x, const std::string& y);
// Backward, from d<y>:
//   "output gradient"      dA[nhd] = dy[nm] Wo[hdm]        "output weights"  dWo = A dy
//   "projection gradient"  dx[nm] = dQ Wq + dK Wk + dV Wv  "projection weights"  dWq = x dQ, ...
//   "residual gradient"    dx += dy
void add_attention_block_gradients(Formula& formula, const AttentionLetters& letters, const std::string& x,
                                   const std::string& y);

// 1 / sqrt(head_dim).
double attention_scale(std::int64_t head_dim);

}  // namespace cairn::sequence
