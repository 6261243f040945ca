// Words of a shell with their expansions.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shell.h"
#include "shell_text.h"

namespace cairn::launch {

struct Variable {
  bool array = false;
  std::vector<Text> items = {};  // one, where it is no array
};

// Reads a script from left to right and expands words as it meets them.
class ShellWords {
 public:
  ShellWords(std::string_view text, const std::string& file_name) : text_(text), lines_(text, file_name) {}

  std::map<std::string, Variable, std::less<>> variables = {};
  std::set<std::string, std::less<>> unset = {};

  bool at_end() const { return at_ == text_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  std::size_t offset() const { return at_; }
  config::Place place(std::size_t offset) const { return lines_.place(offset); }
  void advance(std::size_t count = 1) { at_ += count; }
  bool skip(std::string_view sign);  // where it comes next
  void skip_blanks();                // blanks and continued lines, and a comment up to the end of its line
  bool word_begins() const;

  // The fields that the next word expands to: none for an unset variable, several for an array.
  std::vector<Text> word();
  // A value as an assignment takes it: one text, not split.
  Text value();
  // The word as it is written, without reading past it, where it is a plain name; else empty.
  std::string_view name() const;

  [[noreturn]] void refuse(std::size_t offset, std::string message, std::string hint) const;
  void check_size(std::size_t size, std::size_t offset) const;

 private:
  struct Fields;
  void word_into(Fields& fields);
  void double_quoted(Fields& fields);
  void single_quoted(Fields& fields);
  void dollar(Fields& fields, bool quoted);
  void braced(Fields& fields, bool quoted, std::size_t start);
  void command_output(Fields& fields, std::size_t start, char close);
  Text default_value();
  void expand(Fields& fields, std::string_view name, bool quoted, bool items, std::size_t start);
  const Variable* find(std::string_view name);
  bool is_set(std::string_view name) const;
  std::int64_t sum();
  std::int64_t product();
  std::int64_t factor();
  std::int64_t arithmetic();

  std::string_view text_;
  Lines lines_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::size_t expanded_ = 0;  // characters that variables stood for
};

bool begins_name(char character);
bool in_name(char character);

}  // namespace cairn::launch
