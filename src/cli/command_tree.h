// Commands, their options and the words these take: what completion scripts are made of.
#pragma once

#include <string>
#include <vector>

namespace cairn::cli {

struct OptionWords {
  std::vector<std::string> names;    // --engine, -q
  std::vector<std::string> choices;   // empty: anything, or nothing when it is a flag
  std::vector<std::string> names_of;  // kinds of configuration files whose names it takes
  bool sets_keys = false;             // KEY=VALUE of an experiment
  std::string description;
  bool takes_value = false;
  bool takes_file = false;
};

struct CommandTree {
  std::string name;
  std::string description;
  std::vector<OptionWords> options;
  std::vector<std::string> words;     // choices of the positional argument
  std::vector<std::string> names_of;  // kinds of configuration files whose names it takes
  bool takes_file = false;         // the positional argument is a file
  std::vector<CommandTree> commands;
};

}  // namespace cairn::cli
