#include "random_experiments.h"

namespace cairn::laws {
namespace {

const std::vector<std::string> k_formats{"fp64",     "fp32",      "tf32",         "bf16",  "fp16",  "fp8_e4m3",
                                         "fp8_e5m2", "fp8_block", "fp8_block_2d", "mxfp8", "nvfp4", "int8"};

// Keys laid over a recipe.
Json draw_changes(Draw& draw, const Json& recipe) {
  Json over = Json::object();
  const auto format = [&](const char* key, std::initializer_list<const char*> usual) {
    if (draw.chance(0.25)) over[key] = draw.chance(0.8) ? draw.word(usual) : draw.of(k_formats);
  };
  format("parameters", {"bf16", "fp32", "fp16"});
  format("gradients", {"bf16", "fp32", "fp16"});
  format("reduce", {"bf16", "fp32", "fp16"});
  format("master", {"none", "fp32", "bf16"});
  format("moments", {"fp32", "bf16"});
  format("dp_gather_wire", {"bf16", "fp32", "fp8_e4m3"});
  const std::string gemm = recipe["gemm"];
  const std::string activations = recipe.value("activations", gemm);
  for (const char* key : {"saved", "tp_wire"})
    if (draw.chance(0.3)) over[key] = draw.word({gemm.c_str(), activations.c_str()});
  if (draw.chance(0.3) && recipe.contains("narrow")) {
    const std::string wide = draw.word({"bf16", "fp16", "fp32", "tf32", "fp64"});
    over["activations"] = wide;
    for (const char* key : {"saved", "tp_wire"}) over[key] = draw.coin() ? wide : gemm;
  }
  if (!recipe.contains("narrow") || !draw.chance(0.6)) return over;
  Json& narrow = over["narrow"] = recipe["narrow"];
  const auto narrow_format = [&](const char* key) {
    if (draw.chance(0.5)) narrow[key] = draw.coin() ? draw.word({"fp8_e4m3", "fp8_e5m2", "fp16"}) : draw.of(k_formats);
  };
  narrow_format("weights");
  narrow_format("gradients");
  const auto some_products = [&](const char* key, bool or_none) {
    if (!draw.chance(0.3)) return;
    Json products = Json::array();
    for (const char* product : {"forward", "input-gradient", "weight-gradient"})
      if (draw.chance(0.6)) products.push_back(product);
    if (or_none || !products.empty()) narrow[key] = products;
  };
  some_products("products", false);
  some_products("split_accumulation", true);
  if (draw.chance(0.3)) narrow["scaling"] = draw.word({"delayed", "current", "block", "block-and-tensor"});
  if (draw.chance(0.3)) narrow["norm"] = draw.word({"wide", "maximum", "narrow"});
  if (draw.chance(0.3)) narrow["history"] = draw.between(0, 1024);
  return over;
}

// Products in another format, with what is kept and sent of their operands.
void change_products(Draw& draw, Json& recipe) {
  const Json before = recipe["gemm"];
  const std::string now = recipe.contains("narrow")
                              ? draw.word({"fp8_e4m3", "fp8_e5m2", "fp8_block", "fp8_block_2d", "int8"})
                              : draw.word({"bf16", "fp16", "tf32", "fp32"});
  for (const char* key : {"gemm", "saved", "tp_wire"})
    if (recipe[key] == before) recipe[key] = now;
}

// What travels to experts and from them: the activations' format, or that of narrow products.
void draw_wires(Draw& draw, const Json& recipe, Json& over) {
  const auto now = [&](const char* key) {
    return over.contains(key) ? over[key] : recipe.contains(key) ? recipe[key] : Json();
  };
  const Json narrow = now("narrow");
  const Json gemm = now("gemm");
  const Json wide = now("activations").is_null() ? gemm : now("activations");
  const Json gradients = narrow.is_object() && narrow.contains("gradients") ? narrow["gradients"] : wide;
  for (const char* key : {"ep_dispatch_wire", "ep_combine_wire"}) {
    if (!draw.chance(0.6)) continue;
    if (draw.coin())
      over[key] = draw.chance(0.5) ? gemm : wide;
    else
      over[key] = {{"forward", draw.coin() ? gemm : wide}, {"backward", draw.coin() ? gradients : wide}};
  }
}

}  // namespace

std::string framework_of(const Json& experiment) {
  const Json named = experiment.value("/training/framework"_json_pointer, Json("megatron"));
  return named.is_object() ? named.value("file", "megatron") : named.get<std::string>();
}

std::string activations_of(const Shelf& shelf, const Json& precision) {
  if (precision.is_null()) return "bf16";
  if (precision.is_string()) return activations_of(shelf, shelf.recipes.at(precision.get<std::string>()));
  const Json recipe = precision.contains("recipe") ? shelf.recipes.at(precision["recipe"].get<std::string>())
                      : precision.contains("gemm") ? precision
                                                   : shelf.recipes.at("bf16");
  const std::string gemm = precision.value("gemm", recipe.value("gemm", ""));
  return precision.value("activations", recipe.value("activations", gemm));
}

Json draw_precision(Draw& draw, const Shelf& shelf, const std::string& accelerator) {
  const std::vector<std::string>& units = shelf.accelerators.at(accelerator).recipes;
  const std::string name = draw.chance(0.98) ? draw.of(units) : draw.of(names_of(shelf.recipes));
  const std::int64_t form = draw.between(0, 9);
  if (form < 5) return name;
  Json map = draw_changes(draw, shelf.recipes.at(name));
  if (form == 9) {  // the whole recipe, written out
    Json whole = shelf.recipes.at(name);
    for (const auto& [key, value] : map.items()) whole[key] = value;
    whole.erase("recipe");
    whole["version"] = 1;
    if (draw.chance(0.2))
      for (const char* key : {"gemm", "activations", "parameters", "gradients", "reduce", "moments", "saved", "tp_wire",
                              "dp_gather_wire"})
        whole[key] = "fp64";
    else if (draw.chance(0.5))
      change_products(draw, whole);
    for (const char* key : {"ep_dispatch_wire", "ep_combine_wire"}) whole.erase(key);
    draw_wires(draw, whole, whole);
    return whole;
  }
  draw_wires(draw, shelf.recipes.at(name), map);
  map["recipe"] = name;
  return map;
}

}  // namespace cairn::laws
