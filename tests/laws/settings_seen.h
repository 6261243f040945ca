// Which settings of the schemas a set of experiments varies: every key, every form of a value, every word of a choice.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "schemas.h"
#include "shelf.h"

namespace cairn::laws {

class SettingsSeen {
 public:
  void see(const Json& experiment, const Shelf& shelf);

  // What the schemas allow and no experiment had, as "model.moe.dispatcher = smile".
  std::vector<std::string> missing() const;

 private:
  void see(const Written& written);
  void ask(const std::string& path, const Json* form, std::vector<std::string>& missing) const;

  Schemas schemas_;
  std::map<std::string, std::set<std::string>> forms_;   // of a path
  std::map<std::string, std::set<std::string>> values_;  // of a path and form; of numbers and texts a few
};

}  // namespace cairn::laws
