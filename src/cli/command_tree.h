// Commands, their options and the words these take: what completion scripts and the manual are made of.
#pragma once

#include <string>
#include <vector>

namespace cairn::cli {

// What a word may be the name of beside files: a family of measurements.
inline constexpr const char* k_families = "families";

// An option, or the argument of a command.
struct OptionWords {
  std::vector<std::string> names;     // --engine, -q; of an argument its one name
  std::vector<std::string> choices;   // empty: anything, or nothing when it is a flag
  std::vector<std::string> names_of;  // kinds of configuration files whose names it takes, or k_families
  std::vector<std::string> keys_of;   // documents of `cairn schema` whose keys it sets: KEY=VALUE
  std::string description;
  std::string value;  // what follows it: FILE, TIME; empty: it is a flag
  bool takes_file = false;

  bool takes_value() const { return !value.empty(); }
};

struct CommandTree {
  std::string name;
  std::string description;
  std::vector<OptionWords> options;
  OptionWords argument;  // without names: it takes none
  std::string remarks;   // an example, and what else its help says below the options
  std::vector<CommandTree> commands;
};

}  // namespace cairn::cli
