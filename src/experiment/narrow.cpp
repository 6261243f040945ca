#include "narrow.h"

#include <algorithm>

#include <fmt/format.h>

#include "cairn/core/assert.h"
#include "cairn/software/precision.h"

namespace cairn::experiment {
namespace {

// Rows that stay on their rank are not cast for a journey.
ir::Wire wire(const Resolved& r, const std::optional<software::ExpertWire>& asked) {
  if (!asked || r.strategy.expert * r.strategy.expert_tensor == 1) return {};
  const auto other = [&](numerics::Format format) {
    return format == activation_format(r.recipe) ? std::nullopt : std::optional(format);
  };
  return {.forward = other(asked->forward), .backward = other(asked->backward)};
}

}  // namespace

void check_units(const Resolved& r, const config::Loader& loader, core::Diagnostics& diagnostics) {
  const hardware::Accelerator& accelerator = r.machine.accelerator.value;
  if (has_units_for(accelerator, r.recipe)) return;
  diagnostics.add(
      r.origins.error("training.precision",
                      fmt::format("{} has no units for {}, the format of recipe '{}'", accelerator.name,
                                  numerics::name(r.recipe.gemm), r.recipe.recipe),
                      fmt::format("recipes it has: {}", fmt::join(software::recipes_of(loader, accelerator), ", "))));
}

ir::NarrowProducts narrow_products(const Resolved& r) {
  CAIRN_ASSERT(r.recipe.narrow.has_value());
  const software::NarrowOperands& narrow = *r.recipe.narrow;
  const auto has = [&](software::Product product) {
    return std::find(narrow.products.begin(), narrow.products.end(), product) != narrow.products.end();
  };
  return {.activations = r.recipe.gemm,
          .weights = narrow.weights,
          .gradients = narrow.gradients,
          .forward = has(software::Product::forward),
          .input_gradient = has(software::Product::input_gradient),
          .weight_gradient = has(software::Product::weight_gradient),
          .second_copy = second_copy(narrow, r.machine.accelerator.value),
          .finds_maxima =
              narrow.scaling == software::Scaling::current || narrow.scaling == software::Scaling::block_and_tensor,
          .norm = narrow.norm,
          .save_wide = r.recipe.saved != r.recipe.gemm,
          .own_parts = {},
          .gathered = r.strategy.tensor > 1 && r.strategy.sequence_parallel,
          .gather_narrow = r.recipe.tp_wire == r.recipe.gemm,
          .journeys = {.out = wire(r, r.recipe.ep_dispatch_wire), .home = wire(r, r.recipe.ep_combine_wire)}};
}

void narrow_weights(const Resolved& r, plan::ParameterTreatment& treatment) {
  const software::NarrowOperands& narrow = *r.recipe.narrow;
  const bool stored = r.recipe.parameters == narrow.weights;
  const bool twice = second_copy(narrow, r.machine.accelerator.value) != ir::SecondCopy::shared;
  treatment.narrow = narrow.weights;
  treatment.narrow_copies = (stored ? 0 : 1) + (twice ? 1 : 0);
  treatment.narrow_maximum =
      narrow.scaling == software::Scaling::current || narrow.scaling == software::Scaling::block_and_tensor;
  treatment.history = narrow.history;
  treatment.wide = software::activation_format(r.recipe);
}

}  // namespace cairn::experiment
