#include "shell.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/config/units.h"
#include "cairn/core/diagnostics.h"
#include "cairn/core/printable.h"
#include "numbers.h"
#include "shell_words.h"

namespace cairn::launch {
namespace {

constexpr int k_conditions = 40;               // conditions within each other
constexpr std::size_t k_most_words = 1 << 16;  // of one command

bool among(std::string_view word, std::initializer_list<std::string_view> all) {
  return std::find(all.begin(), all.end(), word) != all.end();
}

class Interpreter {
 public:
  Interpreter(std::string_view text, const std::string& file_name, const std::vector<std::string>& definitions)
      : words_(text, file_name) {
    for (const std::string& definition : definitions) {
      const std::size_t equals = definition.find('=');
      if (equals == 0 || equals == std::string::npos)
        throw core::ConfigurationError("--define", fmt::format("{} is no NAME=VALUE", core::quoted(definition)),
                                       "write it as in --define WORLD_SIZE=64");
      words_.variables[definition.substr(0, equals)] = {.array = false,
                                                        .items = {Text::of(definition.substr(equals + 1), 0)}};
    }
  }

  Script read() {
    statements(true, 0);
    if (!words_.at_end() && !left_)
      words_.refuse(words_.offset(), fmt::format("'{}' without its beginning", words_.name()), "take it out");
    Script script;
    split(script);
    script.unset.assign(words_.unset.begin(), words_.unset.end());
    script.assumes_files = assumes_files_;
    for (const auto& [name, variable] : words_.variables)
      if (!variable.array && variable.items.size() == 1) script.variables[name] = variable.items.front().characters;
    return script;
  }

 private:
  using Fields = std::vector<Text>;

  // Up to a word that closes what is open, or the end.
  void statements(bool taken, int depth) {
    if (depth > k_conditions)
      words_.refuse(words_.offset(), "conditions within each other, too deep", "write the arguments out");
    while (!left_) {
      words_.skip_blanks();
      if (words_.at_end()) return;
      if (words_.skip("\n") || words_.skip(";") || words_.skip("&") || words_.skip("|")) continue;
      const std::string_view name = words_.name();
      if (among(name, {"then", "elif", "else", "fi"})) return;
      if (name == "if") {
        condition(taken, depth);
      } else if (among(name, {"for", "while", "until", "case", "function", "select", "do", "done", "esac"})) {
        words_.refuse(words_.offset(), fmt::format("'{}' is not read", name), "write the arguments out, without it");
      } else {
        simple(taken);
      }
    }
  }

  void condition(bool taken, int depth) {
    const std::size_t start = words_.offset();
    bool done = false;
    for (bool first = true;; first = false) {
      if (!words_.skip(first ? "if" : "elif")) break;
      const bool holds = tests(taken && !done);
      separator("then");
      statements(taken && !done && holds, depth + 1);
      done = done || holds;
    }
    if (words_.skip("else")) statements(taken && !done, depth + 1);
    if (left_) return;
    if (!words_.skip("fi")) words_.refuse(start, "an if that is not closed", "close it with fi");
  }

  void separator(std::string_view word) {
    for (words_.skip_blanks(); words_.skip(";") || words_.skip("\n"); words_.skip_blanks()) {
    }
    if (!words_.skip(word))
      words_.refuse(words_.offset(), fmt::format("'{}' is missing", word), "write it after the test");
  }

  // Tests joined by && and ||, from left to right.
  bool tests(bool taken) {
    bool value = test(taken);
    for (;;) {
      words_.skip_blanks();
      if (words_.skip("&&")) {
        const bool other = test(taken && value);
        value = value && other;
      } else if (words_.skip("||")) {
        const bool other = test(taken && !value);
        value = value || other;
      } else {
        return value;
      }
    }
  }

  bool test(bool taken) {
    words_.skip_blanks();
    bool inverted = false;
    for (; words_.skip("! "); words_.skip_blanks()) inverted = !inverted;
    const std::size_t start = words_.offset();
    const bool wide = words_.skip("[[ ");
    if (!wide && !words_.skip("[ "))
      words_.refuse(start, "a condition that is no test", "write it as [ ... ] or [[ ... ]]");
    bool value = bracketed(wide, start, taken);
    while (wide) {
      const bool both = words_.skip("&&");
      if (!both && !words_.skip("||")) break;
      const bool other = bracketed(wide, start, taken);
      value = both ? value && other : value || other;
    }
    if (!words_.skip(wide ? "]]" : "]"))
      words_.refuse(start, "a test that is not closed", wide ? "close it with ]]" : "close it with ]");
    return value != inverted;
  }

  bool bracketed(bool wide, std::size_t start, bool taken) {
    Fields fields;
    for (words_.skip_blanks(); words_.word_begins() && words_.peek() != ']'; words_.skip_blanks()) {
      Fields more = words_.word();
      if (wide && more.empty()) more.push_back(Text::of("", start));
      fields.insert(fields.end(), more.begin(), more.end());
    }
    return taken && holds(fields, start);
  }

  bool holds(Fields fields, std::size_t start) {
    const auto negations =
        std::find_if(fields.begin(), fields.end(), [](const Text& each) { return each.characters != "!"; });
    if (negations != fields.begin()) {
      const bool odd = (negations - fields.begin()) % 2 == 1;
      fields.erase(fields.begin(), negations);
      return holds(std::move(fields), start) != odd;
    }
    if (fields.empty()) return false;
    const std::string& first = fields[0].characters;
    if (fields.size() == 1) return !first.empty();
    if (fields.size() == 2) {
      if (first == "-z") return fields[1].characters.empty();
      if (first == "-n") return !fields[1].characters.empty();
      if (among(first, {"-f", "-d", "-e", "-r", "-s", "-x"})) return assumes_files_ = true;
    }
    if (fields.size() == 3) {
      const std::string& sign = fields[1].characters;
      const std::string& last = fields[2].characters;
      if (sign == "==" || sign == "=") return first == last;
      if (sign == "!=") return first != last;
      const auto left = config::parse_whole(first), right = config::parse_whole(last);
      if (left && right) {
        if (sign == "-eq") return *left == *right;
        if (sign == "-ne") return *left != *right;
        if (sign == "-gt") return *left > *right;
        if (sign == "-ge") return *left >= *right;
        if (sign == "-lt") return *left < *right;
        if (sign == "-le") return *left <= *right;
      }
    }
    words_.refuse(start, "a test that is not read",
                  "compare texts by == and numbers by -eq, or write the arguments out");
  }

  // NAME=, NAME+= at the place of the next word.
  bool assignment_begins() const {
    std::size_t length = 0;
    if (!begins_name(words_.peek())) return false;
    while (in_name(words_.peek(length))) ++length;
    return words_.peek(length) == '=' || (words_.peek(length) == '+' && words_.peek(length + 1) == '=');
  }

  void assign(bool taken) {
    const std::size_t start = words_.offset();
    std::string name;
    for (; in_name(words_.peek()); words_.advance()) name += words_.peek();
    const bool adds = words_.skip("+");
    words_.advance();
    Variable value;
    if (words_.skip("(")) {
      value.array = true;
      value.items = array_items(start);
    } else {
      value.items = {words_.value()};
    }
    if (!taken) return;
    if (words_.variables.find(name) == words_.variables.end()) order_.push_back(name);
    Variable& variable = words_.variables[name];
    if (!adds) {
      variable = std::move(value);
    } else if (variable.array || value.array) {
      variable.array = true;
      variable.items.insert(variable.items.end(), value.items.begin(), value.items.end());
      if (variable.items.size() > k_most_words) words_.refuse(start, "too many words", "write fewer");
    } else {
      if (variable.items.empty()) variable.items.emplace_back();
      variable.items.front().add(value.items.front());
      words_.check_size(variable.items.front().characters.size(), start);
    }
  }

  Fields array_items(std::size_t start) {
    Fields items;
    for (;;) {
      words_.skip_blanks();
      if (words_.skip("\n")) continue;
      if (words_.skip(")")) return items;
      if (!words_.word_begins()) words_.refuse(start, "an array that is not closed", "close it with )");
      const Fields more = words_.word();
      items.insert(items.end(), more.begin(), more.end());
      if (items.size() > k_most_words) words_.refuse(start, "too many words", "write fewer");
    }
  }

  void simple(bool taken) {
    Fields command;
    for (;;) {
      words_.skip_blanks();
      if (redirects()) {
        redirection();
      } else if (words_.word_begins()) {
        if ((command.empty() || declares(command)) && assignment_begins()) {
          assign(taken);
          continue;
        }
        Fields more = words_.word();
        command.insert(command.end(), more.begin(), more.end());
        if (command.size() > k_most_words) words_.refuse(words_.offset(), "too many words", "write fewer");
      } else {
        break;
      }
    }
    if (words_.peek() == '(' || words_.peek() == ')')
      words_.refuse(words_.offset(), "a parenthesis where a command is due",
                    "write the arguments out, without functions and subshells");
    if (taken && !command.empty()) run(command);
  }

  static bool declares(const Fields& command) {
    return std::all_of(command.begin(), command.end(), [](const Text& each) {
      return among(each.characters, {"export", "readonly", "local", "declare", "typeset", "-a", "-x", "-r", "-i"});
    });
  }

  // > or <, behind the number of a stream where one is named.
  bool redirects() const {
    std::size_t digits = 0;
    while (words_.peek(digits) >= '0' && words_.peek(digits) <= '9') ++digits;
    return words_.peek(digits) == '>' || words_.peek(digits) == '<';
  }

  void redirection() {
    const std::size_t start = words_.offset();
    while (words_.peek() >= '0' && words_.peek() <= '9') words_.advance();
    if (words_.skip("<<")) words_.refuse(start, "a here-document is not read", "write the arguments out");
    while (words_.peek() == '>' || words_.peek() == '<' || words_.peek() == '&') words_.advance();
    words_.skip_blanks();
    if (!words_.word_begins()) words_.refuse(start, "a redirection to nothing", "name a file after it");
    words_.word();
  }

  void run(const Fields& command) {
    const std::string& name = command.front().characters;
    const std::size_t start = command.front().offset();
    if (among(name, {"source", ".", "eval"}))
      words_.refuse(start, fmt::format("'{}' takes words from elsewhere", name),
                    "write the arguments out, or give variables with --define");
    if (name == "exit") {
      left_ = true;
    } else if (name == "unset") {
      for (const Text& each : command) words_.variables.erase(each.characters);
    } else if (name.starts_with("--")) {
      bare_.insert(bare_.end(), command.begin(), command.end());
      if (bare_.size() > k_most_words) words_.refuse(start, "too many words", "write fewer");
    } else if (std::any_of(command.begin(), command.end(), is_program)) {
      if (!launch_.empty())
        words_.refuse(start,
                      fmt::format("a second training program is launched; the first is at {}",
                                  words_.place(launch_.front().offset()).to_string()),
                      "keep the one that is meant");
      launch_ = command;
    }
  }

  static bool is_program(const Text& word) {
    return word.characters.ends_with(".py") && word.characters.find_first_of(" \n") == std::string::npos;
  }

  void put(std::vector<Word>& words, const Text& text) const {
    words.push_back({.text = text.characters, .place = words_.place(text.offset())});
  }

  void split(Script& script) const {
    if (!launch_.empty()) {
      const auto program = std::find_if(launch_.begin(), launch_.end(), is_program);
      for (auto each = launch_.begin(); each != program; ++each) put(script.launcher, *each);
      for (auto each = program + 1; each != launch_.end(); ++each) put(script.arguments, *each);
      return;
    }
    for (const Text& each : bare_) put(script.arguments, each);
    if (!bare_.empty()) return;
    std::vector<std::string> from;
    std::set<std::string> met;
    for (const std::string& name : order_) {
      if (!met.insert(name).second) continue;
      const auto found = words_.variables.find(name);
      if (found == words_.variables.end()) continue;
      const Fields fields = separate(found->second);
      if (fields.empty() || !fields.front().characters.starts_with("--")) continue;
      from.push_back(name);
      for (const Text& each : fields) put(script.arguments, each);
    }
    script.taken_from = fmt::format("{}", fmt::join(from, ", "));
  }

  // Fields of a variable as if it was written without quotes.
  static Fields separate(const Variable& variable) {
    Fields fields;
    for (const Text& item : variable.items) {
      Text open;
      for (std::size_t i = 0; i <= item.characters.size(); ++i) {
        const bool ends = i == item.characters.size() || item.characters[i] == ' ' || item.characters[i] == '\t' ||
                          item.characters[i] == '\n';
        if (!ends)
          open.add(item.characters[i], item.offsets[i]);
        else if (!open.characters.empty())
          fields.push_back(std::exchange(open, {}));
      }
    }
    return fields;
  }

  ShellWords words_;
  std::vector<std::string> order_ = {};  // of variables, as they were first set
  Fields launch_ = {};
  Fields bare_ = {};   // arguments that no program precedes
  bool left_ = false;  // by exit
  bool assumes_files_ = false;
};

}  // namespace

Script read_script(std::string_view text, const std::string& file_name, const std::vector<std::string>& definitions) {
  if (core::end_of_utf8(text) || text.find('\0') != std::string_view::npos)
    throw core::ConfigurationError(
        {core::Diagnostic::at_line(file_name, 1, "no text in UTF-8", "name a launch script")});
  return Interpreter(text, file_name, definitions).read();
}

}  // namespace cairn::launch
