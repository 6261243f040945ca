// Which settings of the schemas a set of experiments varies: every key, every form of a value, every word of a choice.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "shelf.h"

namespace cairn::laws {

class SettingsSeen {
 public:
  SettingsSeen();

  void see(const Json& experiment, const Shelf& shelf);

  // What the schemas allow and no experiment had, as "model.moe.dispatcher = smile".
  std::vector<std::string> missing() const;

 private:
  // A value that `schema` describes, at `path`.
  void walk(const Json& schema, const Json& value, const std::string& path);
  // What the exported schema of an experiment leaves to other schemas.
  void walk_other(const Json& value, const std::string& path);
  void ask(const Json& schema, const std::string& path, std::vector<std::string>& missing) const;

  std::map<std::string, Json> schemas_;
  std::map<std::string, std::set<std::string>> forms_;   // of a path
  std::map<std::string, std::set<std::string>> values_;  // of a path and form; of numbers and texts a few
};

}  // namespace cairn::laws
