// From a precision recipe to the operators it asks of a layer.
#pragma once

#include "cairn/config/loader.h"
#include "cairn/core/diagnostics.h"
#include "cairn/ir/narrow.h"
#include "resolve.h"

namespace cairn::experiment {

// The recipe must run on the machine's matrix units; otherwise an error that names the recipes which do.
void check_units(const Resolved& resolved, const config::Loader& loader, core::Diagnostics& diagnostics);

// How products in a format narrower than the activations get their operands, on this machine under this strategy.
ir::NarrowProducts narrow_products(const Resolved& resolved);
// The copies of weights those products read.
void narrow_weights(const Resolved& resolved, plan::ParameterTreatment& treatment);

}  // namespace cairn::experiment
