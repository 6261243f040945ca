#include "cairn/software/precision.h"

#include <algorithm>

#include "cairn/config/loader.h"
#include "cairn/core/diagnostics.h"
#include "cairn/hardware/formats.h"
#include "cairn/software/files.h"

namespace cairn::software {
namespace {

constexpr double k_narrow_bits = 16.0;  // narrower formats need scales

const config::Choices<Product> k_products{{"forward", Product::forward},
                                          {"input-gradient", Product::input_gradient},
                                          {"weight-gradient", Product::weight_gradient}};
const config::Choices<Scaling> k_scalings{{"delayed", Scaling::delayed},
                                          {"current", Scaling::current},
                                          {"block", Scaling::block},
                                          {"block-and-tensor", Scaling::block_and_tensor}};
const config::Choices<ir::NormWrites> k_norm_outputs{
    {"wide", ir::NormWrites::wide}, {"maximum", ir::NormWrites::maximum}, {"narrow", ir::NormWrites::narrow}};

bool is_narrow(numerics::Format format) { return numerics::element_bits(format) < k_narrow_bits; }

// Always written, also when there is none: an absent key means the default.
struct MasterCopy {
  std::optional<numerics::Format> format;
};

void describe_master(config::Value& value, MasterCopy& master) {
  config::Choices<std::optional<numerics::Format>> choices{{"none", std::nullopt}};
  for (const auto& [text, format] : hardware::format_choices()) choices.emplace_back(text, format);
  value.choice(master.format, choices);
}

}  // namespace

void describe(config::Fields& fields, NarrowOperands& narrow) {
  const auto& formats = hardware::format_choices();
  fields.choice("weights", narrow.weights, formats, {.doc = "copy of the weights that products read"});
  fields.choice("gradients", narrow.gradients, formats, {.doc = "gradients of products' results, as operands"});
  fields.list("products", narrow.products,
              {.doc = "which products: forward, input-gradient, weight-gradient", .minimum_size = 1},
              [](config::Value& value, Product& product) { value.choice(product, k_products); });
  fields.list("split_accumulation", narrow.split_accumulation,
              {.doc = "which of them move partial sums to fp32 registers every few steps; the others accumulate fast"},
              [](config::Value& value, Product& product) { value.choice(product, k_products); });
  fields.choice("scaling", narrow.scaling, k_scalings, {.doc = "where scales come from"});
  fields.choice("norm", narrow.norm, k_norm_outputs,
                {.doc = "what the kernel of a normalisation before a product writes"});
  fields.count("history", narrow.history, {.doc = "delayed: maxima kept of each tensor", .maximum = 1 << 20});
}

void describe(config::Fields& fields, ExpertWire& wire) {
  fields.choice("forward", wire.forward, hardware::format_choices(), {.doc = "of rows", .required = true});
  fields.choice("backward", wire.backward, hardware::format_choices(), {.doc = "of their gradients", .required = true});
}
void describe(config::Value& value, ExpertWire& wire) {
  value.shorthand(config::Form::word, wire, [&](config::Value& both) {
    both.choice(wire.forward, hardware::format_choices());
    wire.backward = wire.forward;
  });
}

namespace {

// Products read what arrives as it is, so that it comes as they read it or as operators hand it on.
void check_wire(config::Fields& fields, const char* key, const PrecisionRecipe& recipe,
                const std::optional<ExpertWire>& wire) {
  if (!wire) return;
  const numerics::Format wide = activation_format(recipe);
  const auto is_narrow_product = [&](const auto& product) {
    const auto& products = recipe.narrow->products;
    return std::find(products.begin(), products.end(), product.second) != products.end();
  };
  const bool narrow = recipe.narrow && std::all_of(k_products.begin(), k_products.end(), is_narrow_product);
  fields.check(
      key,
      [&] {
        return (wire->forward == wide || (narrow && wire->forward == recipe.gemm)) &&
               (wire->backward == wide || (narrow && wire->backward == recipe.narrow->gradients));
      },
      "neither the activations' format nor, where all products are narrow, that of their activations (forward) and "
      "gradients (backward)",
      "name one of the two for each pass, as in {forward: fp8_e4m3, backward: fp8_e5m2} with fp8-delayed");
}

}  // namespace

void describe(config::Fields& fields, PrecisionRecipe& recipe) {
  const auto& formats = hardware::format_choices();
  std::int64_t version = 1;
  fields.count("version", version, {.doc = "of the file format", .minimum = 1, .maximum = 1});
  fields.text("recipe", recipe.recipe, {.doc = "its name"});
  fields.choice("gemm", recipe.gemm, formats, {.doc = "operands of matrix products"});
  fields.object("narrow", recipe.narrow, {.doc = "operands narrower than the activations: how they are made"});
  fields.choice("activations", recipe.activations, formats, {.doc = "results between operators; default: gemm"});
  fields.choice("parameters", recipe.parameters, formats, {.doc = "the copy the forward pass reads"});
  fields.choice("gradients", recipe.gradients, formats, {.doc = "accumulated over micro-batches"});
  fields.choice(
      "reduce", recipe.reduce, formats,
      {.doc = "gradients on the wire; default: as gradients where an experiment says those, else the recipe's"});
  MasterCopy master{recipe.master};
  fields.value("master", master, {.doc = "the optimizer's own copy of the parameters, or none"}, describe_master);
  recipe.master = master.format;
  fields.choice("moments", recipe.moments, formats, {.doc = "optimizer state"});
  fields.choice("saved", recipe.saved, formats, {.doc = "activations kept for the backward pass"});
  fields.choice("tp_wire", recipe.tp_wire, formats, {.doc = "activations on the wire"});
  fields.choice("dp_gather_wire", recipe.dp_gather_wire, formats, {.doc = "gathered parameters on the wire"});
  fields.value("ep_dispatch_wire", recipe.ep_dispatch_wire,
               {.doc = "rows on their way to experts, and gradients backward; default: activations"});
  fields.value("ep_combine_wire", recipe.ep_combine_wire,
               {.doc = "rows on their way from experts, and gradients backward; default: activations"});
  fields.check(
      "narrow", [&] { return is_narrow(recipe.gemm) == recipe.narrow.has_value(); },
      "products in a format of less than 16 bits are described by it, others are not",
      "start from a recipe of that format, as in precision: {recipe: fp8-delayed}");
  fields.check(
      "activations", [&] { return !is_narrow(activation_format(recipe)); }, "less than 16 bits between operators",
      "use bf16 or fp16");
  const auto of_activations = [&](numerics::Format format) {
    return format == activation_format(recipe) || format == recipe.gemm;
  };
  fields.check(
      "saved", [&] { return of_activations(recipe.saved); }, "neither the activations' format nor that of products",
      "name one of the two");
  fields.check(
      "tp_wire", [&] { return of_activations(recipe.tp_wire); }, "neither the activations' format nor that of products",
      "name one of the two");
  check_wire(fields, "ep_dispatch_wire", recipe, recipe.ep_dispatch_wire);
  check_wire(fields, "ep_combine_wire", recipe, recipe.ep_combine_wire);
}

ir::SecondCopy second_copy(const NarrowOperands& narrow, const hardware::Accelerator& accelerator) {
  if (narrow.scaling == Scaling::block || narrow.scaling == Scaling::block_and_tensor) return ir::SecondCopy::quantised;
  return accelerator.fp8_summed_innermost ? ir::SecondCopy::transposed : ir::SecondCopy::shared;
}

bool has_units_for(const hardware::Accelerator& accelerator, const PrecisionRecipe& recipe) {
  return accelerator.matrix_peak(recipe.gemm).has_value();
}

std::vector<std::string> recipes_of(const config::Loader& loader, const hardware::Accelerator& accelerator) {
  std::vector<std::string> result = loader.names("precision");
  std::erase_if(result,
                [&](const std::string& name) { return !has_units_for(accelerator, load_precision(loader, name)); });
  return result;
}

ParameterBytes bytes_per_parameter(const PrecisionRecipe& recipe, int moments, ir::SecondCopy second) {
  double copies = 0.0;
  if (recipe.narrow) {
    const double one = numerics::bytes_per_element(recipe.narrow->weights);
    copies = (recipe.parameters == recipe.narrow->weights ? 0.0 : one) + (second == ir::SecondCopy::shared ? 0.0 : one);
  }
  return {.parameters = numerics::bytes_per_element(recipe.parameters),
          .copies = copies,
          .gradients = numerics::bytes_per_element(recipe.gradients),
          .master = recipe.master ? numerics::bytes_per_element(*recipe.master) : 0.0,
          .moments = static_cast<double>(moments) * numerics::bytes_per_element(recipe.moments)};
}

}  // namespace cairn::software
