// A precision recipe: the number format of everything a training step stores, computes and sends.
//
//   bytes per parameter = parameters + copies + gradients + master + moments
//   bf16 with fp32 gradients: 2 + 4 + 4 + 2 x 4 = 18; with 2-byte gradients 16; fp32: 4 + 4 + 0 + 8 = 16;
//   fp8 with a transposed copy: 2 + (1 + 1) + 4 + 4 + 8 = 20 for what matrix products read, 18 for the rest.
// Files: configs/precision/<name>.yaml. In an experiment: `precision: bf16` or `precision: {recipe: bf16, gradients:
// bf16}`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/config/fields.h"
#include "cairn/hardware/accelerator.h"
#include "cairn/ir/narrow.h"
#include "cairn/numerics/format.h"

namespace cairn::config {
class Loader;
}

namespace cairn::software {

enum class Product : std::uint8_t { forward, input_gradient, weight_gradient };

// Where scales come from: one per tensor from the maxima of earlier steps; one per tensor from its own maximum, found
// first; one per block; one per block and one per tensor from its own maximum.
enum class Scaling : std::uint8_t { delayed, current, block, block_and_tensor };

// Products of activations with weights whose operands are cast to `gemm`, narrower than the activations. Embedding,
// head, router, normalisation and attention keep the activations' format.
struct NarrowOperands {
  numerics::Format weights = numerics::Format::fp8_e4m3;
  numerics::Format gradients = numerics::Format::fp8_e5m2;  // of a product's result
  std::vector<Product> products{Product::forward, Product::input_gradient, Product::weight_gradient};
  std::vector<Product> split_accumulation = {};  // which of them accumulate in two stages, where units sum narrowly
  Scaling scaling = Scaling::delayed;
  ir::NormWrites norm = ir::NormWrites::wide;
  std::int64_t history = 0;  // delayed: maxima kept of each tensor
};

// What routed tokens, or their gradients, travel in, by pass.
struct ExpertWire {
  numerics::Format forward = numerics::Format::bf16;
  numerics::Format backward = numerics::Format::bf16;
};

struct PrecisionRecipe {
  std::string recipe = "bf16";
  numerics::Format gemm = numerics::Format::bf16;                   // operands of matrix products
  std::optional<NarrowOperands> narrow = {};                        // gemm is narrower than the activations
  std::optional<numerics::Format> activations = {};                 // between operators; default: gemm
  numerics::Format parameters = numerics::Format::bf16;             // the copy the forward pass reads
  numerics::Format gradients = numerics::Format::fp32;              // accumulated over micro-batches
  numerics::Format reduce = numerics::Format::fp32;                 // gradients on the wire
  std::optional<numerics::Format> master = numerics::Format::fp32;  // none: the optimizer updates `parameters`
  numerics::Format moments = numerics::Format::fp32;
  numerics::Format saved = numerics::Format::bf16;           // activations kept for the backward pass
  numerics::Format tp_wire = numerics::Format::bf16;         // activations between tensor-parallel and pipeline ranks
  numerics::Format dp_gather_wire = numerics::Format::bf16;  // parameters gathered over data-parallel ranks
  // Rows on their way to experts and from them, forward, and their gradients on the same ways, backward; default: as
  // between operators. Sums over ranks combine in the format between operators.
  std::optional<ExpertWire> ep_dispatch_wire = {};
  std::optional<ExpertWire> ep_combine_wire = {};
};

// One format, or {forward, backward}.
void describe(config::Fields& fields, ExpertWire& wire);
void describe(config::Value& value, ExpertWire& wire);
void describe(config::Fields& fields, PrecisionRecipe& recipe);

// The format in which operators hand results to each other.
inline numerics::Format activation_format(const PrecisionRecipe& recipe) {
  return recipe.activations.value_or(recipe.gemm);
}

// What the weight gradient's product reads: the copy the forward product read, that copy transposed, or one quantised
// along the other dimension. Scales per tensor allow any layout, which not all matrix units do; blocks lie along the
// summed dimension.
ir::SecondCopy second_copy(const NarrowOperands& narrow, const hardware::Accelerator& accelerator);

// Whether the accelerator has units for the recipe's products.
bool has_units_for(const hardware::Accelerator& accelerator, const PrecisionRecipe& recipe);
// Names in configs/precision of the recipes it has.
std::vector<std::string> recipes_of(const config::Loader& loader, const hardware::Accelerator& accelerator);

// [bytes per parameter]
struct ParameterBytes {
  double parameters = 0.0;
  double copies = 0.0;  // of weights that products read in a narrow format, beside the parameters
  double gradients = 0.0;
  double master = 0.0;
  double moments = 0.0;

  double optimizer() const { return master + moments; }
  double total() const { return parameters + copies + gradients + master + moments; }
};

// Model: the sum above, for a weight that products read. `moments`: tensors the optimizer keeps per parameter (Adam 2,
// SGD with momentum 1, plain SGD 0). `second`: whether a second narrow copy is kept.
ParameterBytes bytes_per_parameter(const PrecisionRecipe& recipe, int moments,
                                   ir::SecondCopy second = ir::SecondCopy::shared);

}  // namespace cairn::software
