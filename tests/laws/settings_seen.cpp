#include "settings_seen.h"

#include <algorithm>

#include "random_experiments.h"

namespace cairn::laws {
namespace {

constexpr std::size_t k_enough = 2;  // values of a number or a text

std::string form_of(const Json& schema) {
  return schema.contains("enum") ? "a word" : "a " + schema.value("type", "value");
}

}  // namespace

void SettingsSeen::see(const Json& experiment, const Shelf& shelf) {
  const auto seen = [this](const Written& written) { see(written); };
  schemas_.walk("experiment", experiment, seen);
  const std::string name = framework_of(experiment);
  if (const Json& file = shelf.frameworks.at(name).drawn; !file.is_null()) schemas_.walk("framework", file, seen);
}

void SettingsSeen::see(const Written& written) {
  const Json& value = *written.value;
  if (written.with_source) forms_["a value with its source"].insert("a map");
  if (written.form == nullptr) {
    forms_[written.path].insert(value.is_object() ? "a block" : "a name");
    for (const char* named : {"file", "hf", "recipe"})
      if (value.is_object() && value.contains(named)) forms_[written.path].insert(std::string("a ") + named);
    return;
  }
  const Json& form = *written.form;
  forms_[written.path].insert(form_of(form));
  std::set<std::string>& values = values_[written.path + form_of(form)];
  const bool few = value.is_boolean() || form.contains("enum");
  if (value.is_primitive() && (few || values.size() < k_enough)) values.insert(value.dump());
}

void SettingsSeen::ask(const std::string& path, const Json* asked, std::vector<std::string>& missing) const {
  const auto require = [&](const auto& all, const std::string& what, const std::string& value) {
    const auto found = all.find(what);
    if (found == all.end() || !found->second.contains(value)) missing.push_back(path + " = " + value);
  };
  if (asked == nullptr) {
    if (!forms_.contains(path)) missing.push_back(path);
    const std::string kind = schemas_.kind_at(path);
    if (kind.empty()) return;
    for (const char* written : {"a name", "a block"}) require(forms_, path, written);
    schemas_.ask(kind, [&](const std::string& inner, const Json* form) { ask(inner, form, missing); });
    return;
  }
  const Json& form = *asked;
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

std::vector<std::string> SettingsSeen::missing() const {
  std::vector<std::string> missing;
  if (!forms_.contains("a value with its source")) missing.push_back("a value with its source");
  for (const char* kind : {"experiment", "framework"})
    schemas_.ask(kind, [&](const std::string& path, const Json* form) { ask(path, form, missing); });
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  return missing;
}

}  // namespace cairn::laws
