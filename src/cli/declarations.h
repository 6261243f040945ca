// How commands and options are declared: CLI11, and beside it what that does not know of a value. From here come the
// files that a command line names, completion and the manual.
//
// Where a file is read, `-` is standard input; where one is written, standard output.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "arguments.h"
#include "command_tree.h"

namespace cairn::cli {

inline constexpr const char* k_file = "FILE";

// A whole number from `least` on; CLI11's own ranges are said in 300 digits.
CLI::Validator at_least(std::int64_t least);

class Declarations {
 public:
  Declarations(const std::string& description, const std::string& name) : app_(description, name) {}

  // The command that was asked for, of those below one another.
  const CLI::App* asked_command() const;
  // Whatever a value is for, a file of that name is safe from being written.
  NamedFiles named_files() const;
  CommandTree tree();

 protected:
  // A file that the command writes.
  void add_output(CLI::App& sub, const char* names, std::string& target, const char* description);
  // The option takes one of these words and completes them.
  CLI::Option* choose(CLI::Option* option, const std::vector<std::string>& words);
  // One of these words, or a file whose name ends so.
  CLI::Option* choose_or_file(CLI::Option* option, const std::vector<std::string>& words, std::string_view suffix);
  template <class Value>
  CLI::Option* choose(CLI::App& sub, const char* name, Value& target, const std::map<std::string, Value>& values,
                      const char* description) {
    std::vector<std::string> words;
    for (const auto& [word, value] : values) words.push_back(word);
    const auto take = [&target, &values](const std::string& word) { target = values.at(word); };
    return choose(sub.add_option_function<std::string>(name, take, description), words);
  }
  // The option completes these words, and takes others as well.
  CLI::Option* suggest(CLI::Option* option, std::vector<std::string> words);
  // The option completes the names of these kinds of configuration files.
  CLI::Option* name_of(CLI::Option* option, std::vector<std::string> kinds);
  // Again and again a key of these documents, "=", and what it shall be.
  CLI::Option* add_keys(CLI::App& sub, const char* name, std::vector<std::string>& target,
                        std::vector<std::string> documents, const char* description);
  // KEY=VALUE, again and again: overrides of keys of these documents.
  void add_overrides(CLI::App& sub, std::vector<std::string>& overrides, std::vector<std::string> documents,
                     const char* description);
  // Below the options of `sub` in its help: how it is called, and what else there is to say.
  static void example(CLI::App& sub, const std::string& call, const std::string& more = {});
  // A run asks for one command, whose options alone are then declared: `declare` is called where the command is on the
  // command line, before what follows it is read, or where declare() or tree() names it.
  void declare_when_asked(CLI::App& sub, std::function<void()> declare);
  void declare(CLI::App& sub);

  CLI::App app_;

 private:
  using WordsOfOptions = std::map<const CLI::Option*, std::vector<std::string>>;
  static std::vector<std::string> known(const WordsOfOptions& all, const CLI::Option* option);
  OptionWords words_of(const CLI::Option* option) const;
  CommandTree tree(const CLI::App& app) const;
  bool names_file(const CLI::Option* option) const;
  void declare_all(CLI::App& app);
  // `-` means a stream in every option of the command that names a file.
  void read_dashes(CLI::App& sub);

  WordsOfOptions words_, kinds_, documents_;
  std::set<const CLI::Option*> outputs_;
  std::map<const CLI::App*, std::function<void()>> undeclared_;
};

}  // namespace cairn::cli
