// The block of block_parallel.h as operators.
#pragma once

#include "cairn/sequence/block_parallel.h"

namespace cairn::sequence {

// Loops: n, k tokens; m width; h heads of d; f. Labels as in attention_formula.h, and
//   "ffn"           H[nf] = y W1[mf], Z = max(H, 0)          "ffn output"    u[nm] = Z W2[fm]      "ffn residual"   u += y
//   "ffn gradient"  dZ = du W2, dH = dZ where H > 0           "ffn weights"   dW2 = Z du, dW1 = y dH
//   "ffn input gradient"  dy[nm] = dH W1                      "ffn residual gradient"  dy += du
Formula block_formula(const BlockShape& shape);

}  // namespace cairn::sequence
