#include "cairn/models/huggingface.h"

#include <string>
#include <utility>
#include <vector>

#include "cairn/config/read.h"
#include "family.h"

namespace cairn::models {
namespace {

using config::Fields;
using config::Node;

struct Family {
  std::string_view model_type;
  void (*describe)(Fields&, const Node&, TransformerConfig&);
};

constexpr Family k_families[] = {
#define CAIRN_FAMILY(model_type, function) {model_type, function},
#include "families.def"
#undef CAIRN_FAMILY
};

const Family* find_family(const std::string& model_type, const Node& place, const std::string& key_path,
                          core::Diagnostics& diagnostics) {
  std::vector<std::string> known;
  for (const Family& family : k_families) {
    if (family.model_type == model_type) return &family;
    known.emplace_back(family.model_type);
  }
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
  const std::string near = core::nearest(model_type, known);
  diagnostics.add(
      config::error_at(place.place, key_path, "unknown model_type " + config::quote(model_type),
                       (near.empty() ? "" : "did you mean '" + near + "'? ") + std::string("supported: ") + list));
  return nullptr;
}

// The files of mamba_ssm name no model_type; this key they all have.
constexpr std::string_view k_mamba_ssm_key = "ssm_cfg";

bool asks_for(const Node& node, std::string_view key) {
  bool value = false;
  core::Diagnostics ignored;  // of a value that is no flag
  config::read_fields(
      node,
      [&](Fields& f) {
        f.open();
        f.flag(key, value);
      },
      ignored);
  return value;
}

std::int64_t count_of(const Node& node, std::string_view key) {
  std::int64_t value = 0;
  core::Diagnostics ignored;  // a value that is no count is reported where the key is read
  config::read_fields(
      node,
      [&](Fields& f) {
        f.open();
        f.count(key, value);
      },
      ignored);
  return value;
}

}  // namespace

void warn_of_left_out(const Node& node, const TransformerConfig& model, core::Diagnostics& diagnostics,
                      std::string_view path) {
  const auto warn = [&](std::string_view key, std::string message, std::string hint) {
    core::Diagnostic warning =
        config::error_at(node.find(key)->place, config::join_path(path, key), std::move(message), std::move(hint));
    warning.severity = core::Severity::warning;
    diagnostics.add(std::move(warning));
  };
  constexpr std::string_view k_next = "num_nextn_predict_layers", k_groups = "n_group", k_chosen = "topk_group";
  if (const std::int64_t depth = count_of(node, k_next); depth > 0 && !model.mtp)
    warn(k_next, "modules that predict tokens further ahead, " + std::to_string(depth) + " of them, are left out",
         "set mtp: {depth: " + std::to_string(depth) + "} to train them, mtp: {depth: 0} to train without");
  constexpr std::string_view k_wide_stream = "residual_in_fp32";
  if (model.mamba2 && asks_for(node, k_wide_stream))
    warn(k_wide_stream, "a residual stream in fp32 is left out", "it is counted in the format of the activations");
  const std::int64_t groups = count_of(node, k_groups), chosen = count_of(node, k_chosen);
  if (chosen > 0 && chosen < groups && model.moe && model.moe->node_limit == 0)
    warn(k_chosen,
         "a token's experts lie in " + std::to_string(chosen) + " of " + std::to_string(groups) +
             " groups, which is not taken to limit where it travels",
         "set moe: {node_limit: " + std::to_string(chosen) + "} where groups are nodes");
}

bool is_huggingface(const Node& node) {
  return node.find("model_type") != nullptr || node.find(k_mamba_ssm_key) != nullptr;
}

TransformerConfig import_huggingface(const Node& node, core::Diagnostics& diagnostics, std::string_view path) {
  TransformerConfig result;
  const Node* model_type = node.find("model_type");
  const std::string key_path = config::join_path(path, "model_type");
  const bool by_mamba_ssm = model_type == nullptr && node.find(k_mamba_ssm_key) != nullptr;
  if (!by_mamba_ssm && (model_type == nullptr || !model_type->is_scalar())) {
    diagnostics.add(
        config::error_at(node.place, key_path, "missing", "a Hugging Face config.json names its architecture here"));
    return result;
  }
  const Family* family = by_mamba_ssm ? find_family("mamba_ssm", node, key_path, diagnostics)
                                      : find_family(model_type->text, *model_type, key_path, diagnostics);
  if (family == nullptr) return result;

  core::Diagnostics found;
  const auto description = [&](Fields& f) {
    f.open();
    family->describe(f, node, result);
  };
  config::read_fields(node, description, found, path);
  for (const core::Diagnostic& diagnostic : found.all()) diagnostics.add(diagnostic);
  if (found.has_errors()) return result;
  try {
    validate(result);
  } catch (const core::ConfigurationError& error) {
    for (core::Diagnostic diagnostic : error.diagnostics()) {
      diagnostic.file = node.place.file_name();
      diagnostics.add(std::move(diagnostic));
    }
  }
  return result;
}

}  // namespace cairn::models
