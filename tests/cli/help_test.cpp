// What the program says of itself: help, manual, glossary, examples.
#include <cstdlib>
#include <set>
#include <sstream>

#include "catch.h"
#include "cli/program.h"

using namespace cairn::cli_tests;

namespace {

using Words = std::vector<std::string>;

std::string help_of(Words command) {
  command.emplace_back("--help");
  return run(command).out;
}

// Commands that take options, as words: {"config", "show"}.
void add_commands(const Words& above, std::vector<Words>& commands) {
  std::istringstream lines(help_of(above));
  bool listed = false, any = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() != ' ') listed = line.starts_with("Subcommands");
    if (!listed || !line.starts_with("  ") || line.starts_with("   ")) continue;
    Words below = above;
    below.push_back(line.substr(2, line.find(' ', 2) - 2));
    add_commands(below, commands);
    any = true;
  }
  if (!any && !above.empty()) commands.push_back(above);
}

std::vector<Words> commands() {
  std::vector<Words> all;
  add_commands({}, all);
  return all;
}

// Names of options in a help text: --json, -o.
std::set<std::string> options_in(const std::string& help) {
  std::set<std::string> names;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  -")) continue;
    std::string word = line.substr(2, line.find(' ', 2) - 2);
    for (std::size_t comma = 0; comma != std::string::npos; word.erase(0, comma + 1)) {
      comma = word.find(',');
      names.insert(word.substr(0, comma));
      if (comma == std::string::npos) break;
    }
  }
  return names;
}

std::string joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// The manual as it reads: hyphens without their escapes.
std::string manual() {
  std::string text = run({"help", "--man"}).out;
  for (std::size_t at = text.find("\\-"); at != std::string::npos; at = text.find("\\-", at)) text.erase(at, 1);
  return text;
}

// What stands between the heading of a command and the next one.
std::string section(const std::string& page, const std::string& command) {
  const std::size_t begin = page.find(".SS \"" + command + "\"\n");
  REQUIRE(begin != std::string::npos);
  const std::size_t end = page.find("\n.S", begin + 1);
  return page.substr(begin, end - begin);
}

}  // namespace

TEST_CASE("The manual has every command and every option") {
  const std::string page = manual();
  const std::vector<Words> all = commands();
  REQUIRE(all.size() >= 12);
  for (const Words& command : all) {
    const std::string text = section(page, "cairn " + joined(command));
    const std::set<std::string> options = options_in(help_of(command));
    INFO(joined(command));
    CHECK(!options.empty());
    for (const std::string& option : options) {
      INFO(option);
      CHECK(text.find("\\fB" + option + "\\fR") != std::string::npos);
    }
  }
  for (const std::string& option : options_in(help_of({})))
    CHECK(page.find("\\fB" + option + "\\fR") != std::string::npos);
  for (const char* word : {"130 interrupted", "CAIRN_CONFIGS", "NO_COLOR"}) CHECK(page.find(word) != std::string::npos);
}

TEST_CASE("The manual is one that roff reads without a complaint") {
  if (std::system("command -v groff > /dev/null 2>&1") != 0) return;
  const std::string page = write_file("cairn.1", run({"help", "--man"}).out);
  const std::string complaints = scratch() + "/complaints";
  CHECK(std::system(("groff -man -ww -Tascii -z '" + page + "' 2> '" + complaints + "'").c_str()) == 0);
  CHECK(content(complaints).empty());
}

// The call behind `Example: cairn ` in a help text.
std::string example_of(const std::string& help) {
  const std::string before = "Example: cairn ";
  const std::size_t at = help.find(before);
  REQUIRE(at != std::string::npos);
  const std::size_t begin = at + before.size();
  return help.substr(begin, help.find('\n', begin) - begin);
}

bool works(const std::string& call) {
  return std::system((std::string(CAIRN_PROGRAM) + " " + call + " > /dev/null 2>&1").c_str()) == 0;
}

TEST_CASE("Every command shows how it is called, and the call is right") {
  CHECK(works(example_of(help_of({}))));
  for (const Words& command : commands()) {
    INFO(joined(command));
    const std::string call = example_of(help_of(command));
    CHECK(call.starts_with(joined(command)));
    // Files of the user's own are not here.
    const bool of_own_files = call.find("probe.json") != std::string::npos ||
                              call.find("topo.xml") != std::string::npos || call.find("train.") != std::string::npos ||
                              call.find(".pt.trace.json") != std::string::npos;
    if (!of_own_files) CHECK(works(call));
  }
}

TEST_CASE("The glossary is asked for whole or by words, in lines of a terminal") {
  const std::string all = run({"help", "terms"}).out;
  for (const char* word :
       {"bubble", "MFU", "HFU", "micro-batch", "virtual stage", "ZeRO 3", "busbw", "scale-out", "tight"})
    CHECK(("\n" + all).find("\n" + std::string(word) + " ") != std::string::npos);
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
  const std::string two = run({"help", "terms", "tp exposed", "mfu"}).out;
  CHECK(two.starts_with("tp_exposed "));
  CHECK(two.find("\nMFU ") != std::string::npos);
  refused({"help", "terms", "buble"}, {"'buble' is not explained", "did you mean 'bubble'?"});
}
