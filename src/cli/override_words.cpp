#include "override_words.h"

#include <algorithm>
#include <string_view>

#include <nlohmann/json.hpp>

#include "cairn/core/assert.h"
#include "cairn/pipeline/generators.h"
#include "schemas.h"

namespace cairn::cli {
namespace {

using Json = nlohmann::ordered_json;

// Keys that name a file, and the kind of it.
constexpr std::pair<std::string_view, std::string_view> k_naming[] = {{"model", "models"},
                                                                      {"cluster", "clusters"},
                                                                      {"cluster.accelerator", "accelerators"},
                                                                      {"accelerator", "accelerators"},
                                                                      {"calibration", "calibration"},
                                                                      {"training.precision", "precision"},
                                                                      {"training.framework", "frameworks"}};

class Words {
 public:
  explicit Words(const config::Loader& loader) : loader_(loader) {}

  // Everything that `schema` allows at `path`.
  void add(const Json& schema, const std::string& path) {
    if (schema.contains("$ref")) return;  // a value with its source: no word of its own
    if (const auto forms = schema.find("anyOf"); forms != schema.end()) {
      for (const Json& form : *forms) add(form, path);
      return;
    }
    if (const auto words = schema.find("enum"); words != schema.end()) {
      for (const Json& word : *words) put(path + "=" + word.get<std::string>());
      return;
    }
    if (const auto keys = schema.find("properties"); keys != schema.end()) {
      for (const auto& [key, value] : keys->items()) add(value, path.empty() ? key : path + "." + key);
      return;
    }
    const bool flag = schema.value("type", "") == "boolean";
    for (const char* value : flag ? std::vector<const char*>{"true", "false"} : std::vector<const char*>{""})
      put(path + "=" + value);
    for (const auto& [key, kind] : k_naming) {
      if (key != path) continue;
      for (const std::string& name : loader_.names(kind)) put(path + "=" + name);
    }
    if (path == "strategy.schedule")
      for (const pipeline::Generator& kind : pipeline::generators()) put(path + "=" + std::string(kind.kind));
    if (path == "model") add(of("model"), path);
    if (path == "cluster") add(of("cluster"), path);
    if (path == "training.precision") add(of("precision"), path);
  }

  static Json of(std::string_view name) {
    for (const Schema& schema : schemas())
      if (schema.name == name) return Json::parse(schema.text());
    CAIRN_ASSERT(!"every document has a schema");
    return {};
  }

  std::vector<std::string> all;

 private:
  const config::Loader& loader_;

  void put(std::string word) {
    if (std::find(all.begin(), all.end(), word) == all.end()) all.push_back(std::move(word));
  }
};

}  // namespace

std::vector<std::string> override_words(const config::Loader& loader, std::string_view document) {
  Words words(loader);
  words.add(Words::of(document), "");
  return std::move(words.all);
}

}  // namespace cairn::cli
