#include "cairn/hardware/precision.h"

#include "formats.h"

namespace cairn::hardware {
namespace {

// Always written, also when there is none: an absent key means the default.
struct MasterCopy {
  std::optional<numerics::Format> format;
};

void describe_master(config::Value& value, MasterCopy& master) {
  config::Choices<std::optional<numerics::Format>> choices{{"none", std::nullopt}};
  for (const auto& [text, format] : format_choices()) choices.emplace_back(text, format);
  value.choice(master.format, choices);
}

}  // namespace

void describe(config::Fields& fields, PrecisionRecipe& recipe) {
  const auto& formats = format_choices();
  std::int64_t version = 1;
  fields.count("version", version, {.doc = "of the file format", .minimum = 1, .maximum = 1});
  fields.text("recipe", recipe.recipe, {.doc = "its name"});
  fields.choice("gemm", recipe.gemm, formats, {.doc = "operands of matrix products"});
  fields.choice("parameters", recipe.parameters, formats, {.doc = "the copy the forward pass reads"});
  fields.choice("gradients", recipe.gradients, formats, {.doc = "accumulated over micro-batches"});
  fields.choice("reduce", recipe.reduce, formats, {.doc = "gradients on the wire"});
  MasterCopy master{recipe.master};
  fields.value("master", master, {.doc = "the optimizer's own copy of the parameters, or none"}, describe_master);
  recipe.master = master.format;
  fields.choice("moments", recipe.moments, formats, {.doc = "optimizer state"});
  fields.choice("saved", recipe.saved, formats, {.doc = "activations kept for the backward pass"});
  fields.choice("tp_wire", recipe.tp_wire, formats, {.doc = "activations on the wire"});
  fields.choice("dp_gather_wire", recipe.dp_gather_wire, formats, {.doc = "gathered parameters on the wire"});
}

ParameterBytes bytes_per_parameter(const PrecisionRecipe& recipe, int moments) {
  return {.parameters = numerics::bytes_per_element(recipe.parameters),
          .gradients = numerics::bytes_per_element(recipe.gradients),
          .master = recipe.master ? numerics::bytes_per_element(*recipe.master) : 0.0,
          .moments = static_cast<double>(moments) * numerics::bytes_per_element(recipe.moments)};
}

}  // namespace cairn::hardware
