#include "settings_seen.h"

#include <algorithm>

#include "cairn/config/read.h"
#include "cairn/experiment/experiment.h"
#include "cairn/hardware/files.h"
#include "cairn/models/transformer_config.h"
#include "random_experiments.h"

namespace cairn::laws {
namespace {

constexpr std::size_t k_enough = 2;  // values of a number or a text

template <class T>
Json schema() {
  return Json::parse(config::json_schema<T>("x"));
}

bool fits(const Json& schema, const Json& value) {
  if (schema.contains("enum"))
    return std::find(schema["enum"].begin(), schema["enum"].end(), value) != schema["enum"].end();
  const std::string type = schema.value("type", "");
  return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
         (type == "string" && value.is_string()) || (type == "boolean" && value.is_boolean()) ||
         (type == "integer" && value.is_number_integer()) || (type == "number" && value.is_number());
}

std::string form_of(const Json& schema) {
  return schema.contains("enum") ? "a word" : "a " + schema.value("type", "value");
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

SettingsSeen::SettingsSeen()
    : schemas_{
          {"experiment", schema<experiment::Experiment>()},   {"model", schema<models::TransformerConfig>()},
          {"cluster", schema<hardware::Cluster>()},           {"accelerator", schema<hardware::Accelerator>()},
          {"precision", schema<hardware::PrecisionRecipe>()}, {"framework", schema<hardware::FrameworkProfile>()}} {}

void SettingsSeen::see(const Json& experiment, const Shelf& shelf) {
  walk(schemas_.at("experiment"), experiment, "experiment");
  const std::string name = framework_of(experiment);
  if (const Json& file = shelf.frameworks.at(name).drawn; !file.is_null())
    walk(schemas_.at("framework"), file, "framework");
}

void SettingsSeen::walk(const Json& schema, const Json& value, const std::string& path) {
  if (value.is_object() && value.contains("value")) {
    forms_["a value with its source"].insert("a map");
    return walk(schema, value["value"], path);
  }
  const std::vector<const Json*> forms = forms_of(schema);
  const auto fitting = std::find_if(forms.begin(), forms.end(), [&](const Json* each) { return fits(*each, value); });
  if (fitting == forms.end()) return walk_other(value, path);
  const Json* const form = *fitting;
  forms_[path].insert(form_of(*form));
  if (value.is_array())
    for (const Json& each : value) walk((*form)["items"], each, path + "[]");
  if (value.is_object())
    for (const auto& [key, each] : value.items()) {
      const auto named = form->find("properties");
      if (named != form->end() && named->contains(key))
        walk((*named)[key], each, path + "." + key);
      else if (form->contains("additionalProperties") && (*form)["additionalProperties"].is_object())
        walk((*form)["additionalProperties"], each, path + ".*");
    }
  std::set<std::string>& values = values_[path + form_of(*form)];
  const bool few = value.is_boolean() || form->contains("enum");
  if (value.is_primitive() && (few || values.size() < k_enough)) values.insert(value.dump());
}

void SettingsSeen::walk_other(const Json& value, const std::string& path) {
  const std::string key = path.substr(path.rfind('.') + 1);
  forms_[path].insert(value.is_object() ? "a block" : "a name");
  for (const char* named : {"file", "hf", "recipe"})
    if (value.is_object() && value.contains(named)) forms_[path].insert(std::string("a ") + named);
  if (value.is_object() && schemas_.contains(key)) walk(schemas_.at(key), value, key);
}

void SettingsSeen::ask(const Json& schema, const std::string& path, std::vector<std::string>& missing) const {
  for (const Json* each_form : forms_of(schema)) {
    const Json& form = *each_form;
    if (form.contains("properties"))
      for (const auto& [key, each] : form["properties"].items()) ask(each, path + "." + key, missing);
    if (form.contains("additionalProperties") && form["additionalProperties"].is_object())
      ask(form["additionalProperties"], path + ".*", missing);
    if (form.contains("items")) ask(form["items"], path + "[]", missing);
    const auto require = [&](const auto& all, const std::string& what, const std::string& value) {
      const auto found = all.find(what);
      if (found == all.end() || !found->second.contains(value)) missing.push_back(path + " = " + value);
    };
    if (!form.contains("enum") && !form.contains("type")) {
      const std::string key = path.substr(path.rfind('.') + 1);
      if (!forms_.contains(path)) missing.push_back(path);
      if (!schemas_.contains(key)) continue;
      for (const char* written : {"a name", "a block"}) require(forms_, path, written);
      ask(schemas_.at(key), key, missing);
      continue;
    }
    require(forms_, path, form_of(form));
    const std::string type = form.value("type", "");
    const std::string at_form = path + form_of(form);
    if (form.contains("enum"))
      for (const Json& word : form["enum"]) require(values_, at_form, word.dump());
    if (type == "boolean")
      for (const char* flag : {"true", "false"}) require(values_, at_form, flag);
    const bool alone = type == "integer" && form.contains("maximum") && form["maximum"] == form["minimum"];
    const auto found = values_.find(at_form);
    if ((type == "string" || type == "integer" || type == "number") && !alone &&
        (found == values_.end() || found->second.size() < k_enough))
      missing.push_back(path + ": fewer than two values");
  }
}

std::vector<std::string> SettingsSeen::missing() const {
  std::vector<std::string> missing;
  if (!forms_.contains("a value with its source")) missing.push_back("a value with its source");
  ask(schemas_.at("experiment"), "experiment", missing);
  ask(schemas_.at("framework"), "framework", missing);
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  return missing;
}

}  // namespace cairn::laws
