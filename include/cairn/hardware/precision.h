// A precision recipe: the number format of everything a training step stores, computes and sends.
//
//   bytes per parameter = parameters + gradients + master + moments
//   bf16 with fp32 gradients: 2 + 4 + 4 + 2 x 4 = 18; with 2-byte gradients 16; fp32: 4 + 4 + 0 + 8 = 16.
// Files: configs/precision/<name>.yaml. In an experiment: `precision: bf16` or `precision: {recipe: bf16, gradients:
// bf16}`.
#pragma once

#include <optional>
#include <string>

#include "cairn/config/fields.h"
#include "cairn/numerics/format.h"

namespace cairn::hardware {

struct PrecisionRecipe {
  std::string recipe = "bf16";
  numerics::Format gemm = numerics::Format::bf16;                   // operands of matrix products
  numerics::Format parameters = numerics::Format::bf16;             // the copy the forward pass reads
  numerics::Format gradients = numerics::Format::fp32;              // accumulated over micro-batches
  numerics::Format reduce = numerics::Format::fp32;                 // gradients on the wire
  std::optional<numerics::Format> master = numerics::Format::fp32;  // none: the optimizer updates `parameters`
  numerics::Format moments = numerics::Format::fp32;
  numerics::Format saved = numerics::Format::bf16;           // activations kept for the backward pass
  numerics::Format tp_wire = numerics::Format::bf16;         // activations between tensor-parallel and pipeline ranks
  numerics::Format dp_gather_wire = numerics::Format::bf16;  // parameters gathered over data-parallel ranks
};

void describe(config::Fields& fields, PrecisionRecipe& recipe);

// [bytes per parameter]
struct ParameterBytes {
  double parameters = 0.0;
  double gradients = 0.0;
  double master = 0.0;
  double moments = 0.0;

  double optimizer() const { return master + moments; }
  double total() const { return parameters + gradients + master + moments; }
};

// Model: the sum above. `moments`: tensors the optimizer keeps per parameter (Adam 2, SGD with momentum 1, plain SGD
// 0).
ParameterBytes bytes_per_parameter(const PrecisionRecipe& recipe, int moments);

}  // namespace cairn::hardware
