// The table of surfaces against the program: every file, option and folder of configurations is in it.
#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include "catch.h"
#include "fuzz/attack/attack.h"
#include "fuzz/attack/call.h"
#include "support/source_dir.h"

namespace cairn::attack {
namespace {

namespace fs = std::filesystem;

std::string said(std::vector<std::string> command) {
  command.insert(command.begin(), "cairn");
  const Answer answer = call_here(command);
  REQUIRE(answer.code == 0);
  return answer.out;
}

// "run", "config show", ...: the commands below `path`, itself when there are none.
void add_commands(const std::vector<std::string>& path, std::vector<std::vector<std::string>>& commands) {
  std::vector<std::string> ask = path;
  ask.emplace_back("--help");
  std::istringstream lines(said(ask));
  bool listed = false, any = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() != ' ') listed = line.starts_with("Subcommands");
    if (!listed || line.empty() || line.front() != ' ' || line.starts_with("   ")) continue;
    std::istringstream words(line);
    std::string name;
    words >> name;
    std::vector<std::string> below = path;
    below.push_back(name);
    add_commands(below, commands);
    any = true;
  }
  if (!any && !path.empty()) commands.push_back(path);
}

// Options of a command that take a value, --help and --output left out: what they name is written, not read.
std::set<std::string> value_options(const std::vector<std::string>& command) {
  std::vector<std::string> ask = command;
  ask.emplace_back("--help");
  const std::string help = said(ask);
  const std::regex option(R"(\n  (?:-\w,)?(--[\w-]+) [A-Z])");
  std::set<std::string> names;
  for (std::sregex_iterator each(help.begin(), help.end(), option), end; each != end; ++each) names.insert((*each)[1]);
  for (const char* written : {"--output", "--write-moves", "--write-intervals"}) names.erase(written);
  return names;
}

// All words that surfaces of this command are attacked with, seeds of words among them.
std::set<std::string> attacked_words(const std::string& command) {
  std::set<std::string> words;
  for (const Surface& surface : surfaces()) {
    std::string all(surface.command);
    if (surface.grammar == Grammar::words)
      for (const std::string& seed : seeds_of(surface)) {
        std::string line(surface.command);
        line.replace(line.find('*'), 1, seed);
        std::replace(line.begin(), line.end(), '\n', ' ');
        if (line.starts_with(command + " ")) all = line + " " + all;
      }
    if (!all.starts_with(command + " ") && all != command) continue;
    std::replace(all.begin(), all.end(), '[', ' ');
    std::replace(all.begin(), all.end(), ']', ' ');
    std::replace(all.begin(), all.end(), '=', ' ');
    std::istringstream parts(all);
    for (std::string word; parts >> word;) words.insert(word);
  }
  return words;
}

TEST_CASE("every option that takes a value is attacked", "[fuzz]") {
  const Scratch scratch;
  std::vector<std::vector<std::string>> commands;
  add_commands({}, commands);
  REQUIRE(commands.size() >= 12);
  for (const std::vector<std::string>& command : commands) {
    std::string name;
    for (const std::string& word : command) name += (name.empty() ? "" : " ") + word;
    const std::set<std::string> words = attacked_words(name);
    INFO(name);
    CHECK_FALSE(words.empty());
    for (const std::string& option : value_options(command)) {
      INFO(option);
      CHECK(words.contains(option));
    }
  }
}

TEST_CASE("every document that is read is attacked", "[fuzz]") {
  const Scratch scratch;
  std::set<std::string> attacked;
  for (const Surface& surface : surfaces()) {
    std::istringstream names{std::string(surface.schemas)};
    for (std::string name; names >> name;) attacked.insert(name);
  }
  std::istringstream lines(said({"schema"}));
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string name = line.substr(0, line.find(' '));
    // Answers have a version in their name; measurements are read, too.
    if (name.find('/') != std::string::npos && name != "cairn.measurement/1") continue;
    ++count;
    INFO(name);
    CHECK(attacked.contains(name));
  }
  CHECK(count > 0);
}

TEST_CASE("every folder of configurations is attacked", "[fuzz]") {
  std::set<std::string> places;
  for (const Surface& surface : surfaces())
    places.insert(std::string(surface.place.substr(0, surface.place.find('/'))));
  for (const fs::directory_entry& entry : fs::directory_iterator(cairn::testing::source_dir() + "/configs")) {
    if (!entry.is_directory()) continue;
    INFO(entry.path().filename());
    CHECK(places.contains(entry.path().filename().string()));
  }
}

TEST_CASE("names of surfaces are their own, and every folder of the corpus has one", "[fuzz]") {
  std::set<std::string_view> names;
  for (const Surface& surface : surfaces()) CHECK(names.insert(surface.name).second);
  for (const fs::directory_entry& entry : fs::directory_iterator(cairn::testing::source_dir() + "/tests/fuzz/corpus")) {
    INFO(entry.path().filename());
    CHECK(find_surface(entry.path().filename().string()) != nullptr);
  }
}

}  // namespace
}  // namespace cairn::attack
