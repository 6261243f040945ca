#include "narrow.h"

#include <algorithm>

#include <fmt/format.h>

#include "cairn/core/assert.h"

namespace cairn::experiment {
namespace {

bool finds_maxima(const software::NarrowOperands& narrow) {
  return narrow.scaling == software::Scaling::current || narrow.scaling == software::Scaling::block_and_tensor;
}

// Rows that stay on their rank are not cast for a journey.
ir::Wire wire(const software::PrecisionRecipe& recipe, const plan::Strategy& strategy,
              const std::optional<software::ExpertWire>& asked) {
  if (!asked || strategy.expert * strategy.expert_tensor == 1) return {};
  const auto other = [&](numerics::Format format) {
    return format == activation_format(recipe) ? std::nullopt : std::optional(format);
  };
  return {.forward = other(asked->forward), .backward = other(asked->backward)};
}

}  // namespace

std::string missing_units(const hardware::Accelerator& accelerator, const software::PrecisionRecipe& recipe) {
  return fmt::format("{} has no units for {}, the format of recipe '{}'", accelerator.name, numerics::name(recipe.gemm),
                     recipe.recipe);
}

ir::NarrowProducts narrow_products(const Parts& parts, const plan::Strategy& strategy) {
  const software::PrecisionRecipe& recipe = parts.software.recipe;
  CAIRN_ASSERT(recipe.narrow.has_value());
  const software::NarrowOperands& narrow = *recipe.narrow;
  const auto among = [](const std::vector<software::Product>& products, software::Product product) {
    return std::find(products.begin(), products.end(), product) != products.end();
  };
  const auto has = [&](software::Product product) { return among(narrow.products, product); };
  const auto split = [&](software::Product product) { return among(narrow.split_accumulation, product); };
  return {.activations = recipe.gemm,
          .weights = narrow.weights,
          .gradients = narrow.gradients,
          .forward = has(software::Product::forward),
          .input_gradient = has(software::Product::input_gradient),
          .weight_gradient = has(software::Product::weight_gradient),
          .split_accumulation = {.forward = split(software::Product::forward),
                                 .input_gradient = split(software::Product::input_gradient),
                                 .weight_gradient = split(software::Product::weight_gradient)},
          .second_copy = second_copy(narrow, parts.machine.accelerator.value),
          .finds_maxima = finds_maxima(narrow),
          .norm = narrow.norm,
          .save_wide = recipe.saved != recipe.gemm,
          .own_parts = {},
          .gathered = strategy.tensor > 1 && strategy.sequence_parallel,
          .gather_narrow = recipe.tp_wire == recipe.gemm,
          .journeys = {.out = wire(recipe, strategy, recipe.ep_dispatch_wire),
                       .home = wire(recipe, strategy, recipe.ep_combine_wire)}};
}

void narrow_weights(const Parts& parts, plan::ParameterTreatment& treatment) {
  const software::PrecisionRecipe& recipe = parts.software.recipe;
  const software::NarrowOperands& narrow = *recipe.narrow;
  const bool stored = recipe.parameters == narrow.weights;
  const bool twice = second_copy(narrow, parts.machine.accelerator.value) != ir::SecondCopy::shared;
  treatment.narrow = narrow.weights;
  treatment.narrow_copies = (stored ? 0 : 1) + (twice ? 1 : 0);
  treatment.narrow_maximum = finds_maxima(narrow);
  treatment.history = narrow.history;
  treatment.wide = software::activation_format(recipe);
}

}  // namespace cairn::experiment
