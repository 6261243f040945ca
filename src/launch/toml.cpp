#include "toml.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "cairn/core/printable.h"
#include "numbers.h"
#include "shell_text.h"

namespace cairn::launch {
namespace {

constexpr int k_most_nested_arrays = 16;

class TomlReader {
 public:
  TomlReader(std::string_view text, const std::string& file_name) : text_(text), lines_(text, file_name) {}

  std::vector<Argument> read() {
    for (;;) {
      skip_space(true);
      if (at_ == text_.size()) return std::move(result_);
      if (peek() == '[')
        table();
      else
        assignment();
      skip_space(false);
      if (at_ < text_.size() && peek() != '\n') refuse(at_, "text after the end of a line's value", "begin a new line");
    }
  }

 private:
  [[noreturn]] void refuse(std::size_t offset, std::string message, std::string hint) const {
    throw core::ConfigurationError({config::error_at(lines_.place(offset), {}, std::move(message), std::move(hint))});
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool skip(char sign) {
    if (at_ == text_.size() || peek() != sign) return false;
    ++at_;
    return true;
  }
  void skip_space(bool lines) {
    while (at_ < text_.size()) {
      const char sign = peek();
      if (sign == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (sign == ' ' || sign == '\t' || sign == '\r' || (lines && sign == '\n')) {
        ++at_;
      } else {
        return;
      }
    }
  }

  static bool is_bare(char each) {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || (each >= '0' && each <= '9') ||
           each == '_' || each == '-';
  }
  std::string key() {
    std::string name;
    do {
      skip_space(false);
      const std::size_t start = at_;
      std::string part;
      if (peek() == '"' || peek() == '\'') {
        part = quoted();
      } else {
        while (is_bare(peek())) part += text_[at_++];
      }
      if (part.empty()) refuse(start, "a key is missing", "write it as in seq_len = 2048");
      name += (name.empty() ? "" : ".") + part;
      skip_space(false);
    } while (skip('.'));
    return name;
  }

  void table() {
    const std::size_t start = at_++;
    if (peek() == '[') refuse(start, "an array of tables is not read", "write one table");
    table_ = key();
    if (!skip(']')) refuse(start, "a table's name that is not closed", "close it with ]");
    if (!tables_.insert(table_).second)
      refuse(start, fmt::format("a second table {}", core::quoted(table_)), "write its keys in the first");
  }

  void assignment() {
    const std::size_t start = at_;
    const std::string name = key();
    if (!skip('=')) refuse(at_, fmt::format("no value for {}", core::quoted(name)), "write key = value");
    skip_space(false);
    Argument argument{.name = table_.empty() ? name : table_ + "." + name, .place = lines_.place(start)};
    if (!keys_.insert(argument.name).second)
      refuse(start, fmt::format("{} a second time", core::quoted(argument.name)), "keep one of the two");
    if (peek() == '[')
      array(argument.values, 0);
    else
      argument.values.push_back(value());
    result_.push_back(std::move(argument));
  }

  void array(std::vector<Word>& values, int depth) {
    const std::size_t start = at_++;
    if (depth > k_most_nested_arrays) refuse(start, "arrays within each other, too deep", "write fewer");
    for (;;) {
      skip_space(true);
      if (skip(']')) return;
      if (at_ == text_.size()) refuse(start, "an array that is not closed", "close it with ]");
      if (peek() == '[')
        array(values, depth + 1);
      else
        values.push_back(value());
      skip_space(true);
      if (skip(',')) continue;
      if (peek() != ']' && at_ < text_.size())
        refuse(at_, "no comma between two items of an array", "write one, or close the array with ]");
    }
  }

  Word value() {
    const std::size_t start = at_;
    const config::Place place = lines_.place(start);
    if (peek() == '"' || peek() == '\'') return {.text = quoted(), .place = place};
    std::string text;
    while (is_bare(peek()) || peek() == '.' || peek() == '+') text += text_[at_++];
    if (text == "true" || text == "false") return {.text = text, .place = place};
    std::string digits = text;
    std::erase(digits, '_');
    if (digits.empty() || !decimal(digits))
      refuse(start,
             text.empty() ? std::string("a value is missing") : fmt::format("{} is no value", core::quoted(text)),
             "write a number, true, false, a text in quotes, or an array of them");
    return {.text = digits, .place = place};
  }

  std::string quoted() {
    const std::size_t start = at_;
    const char quote = text_[at_++];
    if (text_.substr(start, 3) == std::string(3, quote))
      refuse(start, "a text over several lines is not read", "write it in one line");
    std::string result;
    while (peek() != quote) {
      if (at_ == text_.size() || peek() == '\n')
        refuse(start, "a text that is not closed", fmt::format("close it with {}", quote));
      if (quote == '"' && peek() == '\\') {
        ++at_;
        constexpr std::string_view k_signs = "\"\\nt", k_meant = "\"\\\n\t";
        const std::size_t sign = k_signs.find(peek());
        if (sign == std::string_view::npos || at_ == text_.size())
          refuse(at_ - 1, "an escape that is not read", "use \\\", \\\\, \\n or \\t");
        result += k_meant[sign];
        ++at_;
      } else {
        result += text_[at_++];
      }
    }
    ++at_;
    return result;
  }

  std::string_view text_;
  Lines lines_;
  std::size_t at_ = 0;
  std::string table_ = {};
  std::set<std::string> tables_ = {};
  std::set<std::string> keys_ = {};
  std::vector<Argument> result_ = {};
};

}  // namespace

std::vector<Argument> read_toml(std::string_view text, const std::string& file_name) {
  if (core::end_of_utf8(text) || text.find('\0') != std::string_view::npos)
    throw core::ConfigurationError({core::Diagnostic::at_line(file_name, 1, "no text in UTF-8", "name a TOML file")});
  return TomlReader(text, file_name).read();
}

}  // namespace cairn::launch
