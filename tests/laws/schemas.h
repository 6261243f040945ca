// The schemas of kinds of configuration files, exported from their descriptions, and walks through them. Blocks of
// other kinds that a file holds (the model of an experiment) are walked by their own schema, and their paths begin with
// their own name: "model.moe.top_k", "accelerator.memory[].capacity".
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/config/read.h"
#include "draw.h"

namespace cairn::laws {

// A value as it is written.
struct Written {
  std::string path;          // of its key in the schemas
  Json::json_pointer where;  // in what is walked
  const Json* form;          // of the schema, that it fits; null: the schema leaves it to another one
  const Json* value;
  bool with_source = false;  // written as {value: ..., source: ...}
};

class Schemas {
 public:
  // Of experiments and all that they hold or name: experiment, model, cluster, accelerator, precision, framework.
  Schemas();

  void add(const std::string& kind, Json schema) { all_.insert_or_assign(kind, std::move(schema)); }
  const std::map<std::string, Json>& all() const { return all_; }

  // Every value that `block` of a kind holds, outermost first. `at` is where it lies.
  using See = std::function<void(const Written&)>;
  void walk(const std::string& kind, const Json& block, const See& see,
            const Json::json_pointer& at = Json::json_pointer()) const;

  // Every form of every value that the schema of a kind allows, with its path; null where it is left to another schema.
  using Ask = std::function<void(const std::string& path, const Json* form)>;
  void ask(const std::string& kind, const Ask& asked) const;

  // The other kind that the value of `path` is a block of; empty: of none.
  std::string kind_at(const std::string& path) const;

 private:
  void walk(const Json& schema, Written written, const See& see) const;
  static void ask(const Json& schema, const std::string& path, const Ask& asked);

  std::map<std::string, Json> all_;
};

template <class T>
Json schema() {
  return Json::parse(config::json_schema<T>("x"));
}

}  // namespace cairn::laws
