#include "cairn/models/huggingface.h"

#include <algorithm>
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

constexpr std::string_view k_text = "text_config";

// The text part of a model of several, which is the file itself where it holds no other.
const Node& text_part(const Node& node) {
  const Node* text = node.find(k_text);
  return text != nullptr && text->is_map() ? *text : node;
}

// Keys of the file that the family reads, or none where it cannot read the file.
std::size_t keys_read(const Family& family, const Node& node) {
  const auto description = [&](TransformerConfig& scratch) {
    return [&](Fields& f) {
      f.open();
      family.describe(f, node, scratch);
    };
  };
  TransformerConfig read;
  core::Diagnostics problems;
  config::read_fields(node, description(read), problems);
  if (problems.has_errors()) return 0;
  TransformerConfig scratch;
  core::Diagnostics none;
  const Node schema =
      config::parse_text(config::schema_of(description(scratch), ""), config::Syntax::json, "schema", none);
  const Node* known = schema.find("properties");
  std::size_t count = 0;
  for (const config::Entry& entry : node.entries)
    if (known != nullptr && known->find(entry.key) != nullptr) ++count;
  return count;
}

// Those families that read more of the file's keys than all others.
std::vector<std::string> same_shape(const Node& node) {
  std::vector<std::string> best;
  std::size_t most = 1;
  for (const Family& family : k_families) {
    const std::size_t count = keys_read(family, node);
    if (count > most) best.clear();
    most = std::max(most, count);
    if (count == most) best.emplace_back(family.model_type);
  }
  return best;
}

std::string joined(const std::vector<std::string>& names, const char* between) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : between) + name;
  return text;
}

const Family* find_family(const Node& node, const Node& model_type, const std::string& key_path,
                          core::Diagnostics& diagnostics) {
  std::vector<std::string> known;
  for (const Family& family : k_families) {
    if (family.model_type == model_type.text) return &family;
    known.emplace_back(family.model_type);
  }
  std::string hint;
  if (const std::string near = core::nearest(model_type.text, known); !near.empty())
    hint = "did you mean '" + near + "'? ";
  if (const std::vector<std::string> alike = same_shape(node); !alike.empty())
    hint += "its keys are read by " + joined(alike, " and ") + ": {hf: ..., model_type: " + alike.front() +
            "} takes it for one; ";
  diagnostics.add(config::error_at(
      model_type.place, key_path, "unknown model_type " + config::quote(model_type.text),
      hint + "known: " + joined(known, ", ") + "; 'cairn schema model' lists the keys of a block of your own"));
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

void warn_of_left_out(const Node& whole, const TransformerConfig& model, core::Diagnostics& diagnostics,
                      std::string_view path) {
  const auto warn = [&](const Node& of, std::string_view in, std::string_view key, std::string message,
                        std::string hint) {
    core::Diagnostic warning =
        config::error_at(of.find(key)->place, config::join_path(in, key), std::move(message), std::move(hint));
    warning.severity = core::Severity::warning;
    diagnostics.add(std::move(warning));
  };
  const Node& text = text_part(whole);
  for (const config::Entry& entry : whole.entries)
    if (&text != &whole && (entry.key == "vision_config" || entry.key == "audio_config"))
      warn(whole, path, entry.key, "is left out with everything that is not text", "the text part alone is read");
  const Node& node = text;
  const std::string at = &text == &whole ? std::string(path) : config::join_path(path, k_text);
  constexpr std::string_view k_next = "num_nextn_predict_layers", k_groups = "n_group", k_chosen = "topk_group";
  if (const std::int64_t depth = count_of(node, k_next); depth > 0 && !model.mtp)
    warn(node, at, k_next,
         "modules that predict tokens further ahead, " + std::to_string(depth) + " of them, are left out",
         "set mtp: {depth: " + std::to_string(depth) + "} to train them, mtp: {depth: 0} to train without");
  constexpr std::string_view k_wide_stream = "residual_in_fp32";
  if (model.mamba2 && asks_for(node, k_wide_stream))
    warn(node, at, k_wide_stream, "a residual stream in fp32 is left out",
         "it is counted in the format of the activations");
  const std::int64_t groups = count_of(node, k_groups), chosen = count_of(node, k_chosen);
  if (chosen > 0 && chosen < groups && model.moe && model.moe->node_limit == 0)
    warn(node, at, k_chosen,
         "a token's experts lie in " + std::to_string(chosen) + " of " + std::to_string(groups) +
             " groups, which is not taken to limit where it travels",
         "set moe: {node_limit: " + std::to_string(chosen) + "} where groups are nodes");
}

bool is_huggingface(const Node& node) {
  return node.find("model_type") != nullptr || node.find(k_mamba_ssm_key) != nullptr;
}

void take_for(Node& node, const Node& model_type) {
  node.put("model_type", model_type);
  if (Node* text = node.find(k_text); text != nullptr && text->is_map()) text->put("model_type", model_type);
}

TransformerConfig import_huggingface(const Node& whole, core::Diagnostics& diagnostics, std::string_view path) {
  const Node& node = text_part(whole);
  const std::string at = &node == &whole ? std::string(path) : config::join_path(path, k_text);
  TransformerConfig result;
  const Node* model_type = node.find("model_type");
  const std::string key_path = config::join_path(at, "model_type");
  const Node by_mamba_ssm = config::make_scalar("mamba_ssm", node.place);
  if (model_type == nullptr && node.find(k_mamba_ssm_key) != nullptr) model_type = &by_mamba_ssm;
  if (model_type == nullptr || !model_type->is_scalar()) {
    diagnostics.add(
        config::error_at(node.place, key_path, "missing", "a Hugging Face config.json names its architecture here"));
    return result;
  }
  const Family* family = find_family(node, *model_type, key_path, diagnostics);
  if (family == nullptr) return result;

  core::Diagnostics found;
  const auto description = [&](Fields& f) {
    f.open();
    family->describe(f, node, result);
  };
  config::read_fields(node, description, found, at);
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
