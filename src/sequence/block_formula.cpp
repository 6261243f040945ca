#include "block_formula.h"

#include "attention_formula.h"
#include "list_writer.h"

namespace cairn::sequence {
Formula block_formula(const BlockShape& shape) {
  Formula formula({{'n', shape.tokens},
                   {'k', shape.tokens},
                   {'m', shape.width},
                   {'h', shape.heads},
                   {'d', shape.head_dim},
                   {'f', shape.ffn}},
                  k_wire.operand * shape.sequences);
  for (const char* input : {"x[nm]", "du[nm]"}) formula.given(input);
  for (const char* weight : {"Wq[mhd]", "Wk[mhd]", "Wv[mhd]", "Wo[hdm]", "W1[mf]", "W2[fm]"})
    formula.given(weight, k_wire.operand);
  for (const char* gradient : {"dWq[mhd]", "dWk[mhd]", "dWv[mhd]", "dWo[hdm]", "dW1[mf]", "dW2[fm]"})
    formula.result(gradient, k_wire.operand);
  const AttentionLetters letters{.causal = true, .scale = attention_scale(shape.head_dim)};
  add_attention_block(formula, letters, "x", "y");
  formula.add("ffn", Kernel::product, "H[nf]", {"y[nm]", "W1[mf]"});
  formula.add("ffn", Kernel::positive, "Z[nf]", {"H[nf]"});
  formula.add("ffn output", Kernel::product, "u[nm]", {"Z[nf]", "W2[fm]"});
  formula.add("ffn residual", Kernel::product, "u[nm]", {"y[nm]"});
  formula.add("ffn gradient", Kernel::product, "dZ[nf]", {"du[nm]", "W2[fm]"});
  formula.add("ffn gradient", Kernel::where_positive, "dH[nf]", {"dZ[nf]", "H[nf]"});
  formula.add("ffn weights", Kernel::product, "dW2[fm]", {"Z[nf]", "du[nm]"});
  formula.add("ffn weights", Kernel::product, "dW1[mf]", {"y[nm]", "dH[nf]"});
  formula.add("ffn input gradient", Kernel::product, "dy[nm]", {"dH[nf]", "W1[mf]"});
  formula.add("ffn residual gradient", Kernel::product, "dy[nm]", {"du[nm]"});
  add_attention_block_gradients(formula, letters, "x", "y");
  return formula;
}

}  // namespace cairn::sequence
