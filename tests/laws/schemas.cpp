#include "schemas.h"

#include <algorithm>

#include "cairn/experiment/experiment.h"
#include "cairn/hardware/files.h"
#include "cairn/models/transformer_config.h"
#include "cairn/software/files.h"

namespace cairn::laws {
namespace {

bool fits(const Json& schema, const Json& value) {
  if (schema.contains("enum"))
    return std::find(schema["enum"].begin(), schema["enum"].end(), value) != schema["enum"].end();
  const std::string type = schema.value("type", "");
  return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
         (type == "string" && value.is_string()) || (type == "boolean" && value.is_boolean()) ||
         (type == "integer" && value.is_number_integer()) || (type == "number" && value.is_number());
}

std::vector<const Json*> forms_of(const Json& schema) {
  std::vector<const Json*> forms;
  if (!schema.contains("anyOf")) return {&schema};
  for (const Json& form : schema["anyOf"]) {
    if (form.contains("$ref")) continue;
    const std::vector<const Json*> inner = forms_of(form);
    forms.insert(forms.end(), inner.begin(), inner.end());
  }
  return forms;
}

}  // namespace

Schemas::Schemas()
    : all_{{"experiment", schema<experiment::Experiment>()},   {"model", schema<models::TransformerConfig>()},
           {"cluster", schema<hardware::Cluster>()},           {"accelerator", schema<hardware::Accelerator>()},
           {"precision", schema<software::PrecisionRecipe>()}, {"framework", schema<software::FrameworkProfile>()}} {}

std::string Schemas::kind_at(const std::string& path) const {
  const std::string key = path.substr(path.rfind('.') + 1);
  return all_.contains(key) ? key : "";
}

void Schemas::walk(const std::string& kind, const Json& block, const See& see, const Json::json_pointer& at) const {
  walk(all_.at(kind), {.path = kind, .where = at, .form = nullptr, .value = &block}, see);
}

void Schemas::walk(const Json& schema, Written written, const See& see) const {
  if (written.value->is_object() && written.value->contains("value")) {
    written.value = &(*written.value)["value"];
    written.where /= "value";
    written.with_source = true;
  }
  const std::vector<const Json*> forms = forms_of(schema);
  const auto fitting =
      std::find_if(forms.begin(), forms.end(), [&](const Json* each) { return fits(*each, *written.value); });
  written.form = fitting == forms.end() ? nullptr : *fitting;
  see(written);
  const Json& value = *written.value;
  if (written.form == nullptr) {
    const std::string kind = kind_at(written.path);
    if (value.is_object() && !kind.empty()) walk(kind, value, see, written.where);
    return;
  }
  const Json& form = *written.form;
  const auto inside = [&](const Json& inner_schema, const std::string& path, const auto& key, const Json& inner) {
    walk(inner_schema, {.path = written.path + path, .where = written.where / key, .form = nullptr, .value = &inner},
         see);
  };
  if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i) inside(form["items"], "[]", i, value[i]);
  if (!value.is_object()) return;
  for (const auto& [key, each] : value.items()) {
    const auto named = form.find("properties");
    if (named != form.end() && named->contains(key))
      inside((*named)[key], "." + key, key, each);
    else if (form.contains("additionalProperties") && form["additionalProperties"].is_object())
      inside(form["additionalProperties"], ".*", key, each);
  }
}

void Schemas::ask(const std::string& kind, const Ask& asked) const { ask(all_.at(kind), kind, asked); }

void Schemas::ask(const Json& schema, const std::string& path, const Ask& asked) {
  for (const Json* each_form : forms_of(schema)) {
    const Json& form = *each_form;
    asked(path, form.contains("enum") || form.contains("type") ? &form : nullptr);
    if (form.contains("properties"))
      for (const auto& [key, each] : form["properties"].items()) ask(each, path + "." + key, asked);
    if (form.contains("additionalProperties") && form["additionalProperties"].is_object())
      ask(form["additionalProperties"], path + ".*", asked);
    if (form.contains("items")) ask(form["items"], path + "[]", asked);
  }
}

}  // namespace cairn::laws
