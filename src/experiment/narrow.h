// From a precision recipe to the operators it asks of a layer.
#pragma once

#include <string>

#include "cairn/experiment/parts.h"
#include "cairn/ir/narrow.h"
#include "cairn/plan/strategy.h"

namespace cairn::experiment {

// What is wrong with a recipe for whose products the accelerator has no units.
std::string missing_units(const hardware::Accelerator& accelerator, const software::PrecisionRecipe& recipe);

// How products in a format narrower than the activations get their operands, on this machine under this strategy.
ir::NarrowProducts narrow_products(const Parts& parts, const plan::Strategy& strategy);
// The copies of weights those products read.
void narrow_weights(const Parts& parts, plan::ParameterTreatment& treatment);

}  // namespace cairn::experiment
