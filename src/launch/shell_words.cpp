#include "shell_words.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"

namespace cairn::launch {
namespace {

constexpr std::size_t k_expanded = std::size_t{16} << 20;  // characters
constexpr int k_expansions = 40;                           // expansions within each other
constexpr std::string_view k_word_ends = " \t\n;&|<>()";
constexpr std::string_view k_blank_signs = " \t\n";

bool is_blank(char each) { return k_blank_signs.find(each) != std::string_view::npos; }
bool is_digit(char each) { return each >= '0' && each <= '9'; }

}  // namespace

bool begins_name(char each) { return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || each == '_'; }
bool in_name(char each) { return begins_name(each) || is_digit(each); }

// Text that is not quoted is split at blanks; a quoted empty text is a field all the same.
struct ShellWords::Fields {
  std::vector<Text> done = {};
  Text open = {};
  bool begun = false;

  void add(char each, std::size_t offset) {
    open.add(each, offset);
    begun = true;
  }
  void close() {
    if (begun) done.push_back(std::exchange(open, {}));
    begun = false;
  }
  void begin(std::size_t offset) {
    if (!begun) open.start = offset;
    begun = true;
  }
  void add(const Text& text, bool quoted) {
    if (quoted) {
      begin(text.start);
      open.add(text);
      return;
    }
    for (std::size_t i = 0; i < text.characters.size(); ++i) {
      if (is_blank(text.characters[i]))
        close();
      else
        add(text.characters[i], text.offsets[i]);
    }
  }
};

void ShellWords::refuse(std::size_t offset, std::string message, std::string hint) const {
  throw core::ConfigurationError({config::error_at(place(offset), {}, std::move(message), std::move(hint))});
}

void ShellWords::check_size(std::size_t size, std::size_t offset) const {
  if (size > k_script_limit) refuse(offset, "a value longer than 1 MiB", "write the arguments out");
}

bool ShellWords::skip(std::string_view sign) {
  if (text_.substr(at_, sign.size()) != sign) return false;
  at_ += sign.size();
  return true;
}

void ShellWords::skip_blanks() {
  while (!at_end()) {
    if (peek() == ' ' || peek() == '\t' || peek() == '\r')
      ++at_;
    else if (peek() == '\\' && peek(1) == '\n')
      at_ += 2;
    else if (peek() == '\\' && peek(1) == '\r' && peek(2) == '\n')
      at_ += 3;
    else if (peek() == '#')
      while (!at_end() && peek() != '\n') ++at_;
    else
      return;
  }
}

bool ShellWords::word_begins() const { return !at_end() && k_word_ends.find(peek()) == std::string_view::npos; }

std::string_view ShellWords::name() const {
  std::size_t end = at_;
  while (end < text_.size() && in_name(text_[end])) ++end;
  const bool whole =
      end == text_.size() || k_word_ends.find(text_[end]) != std::string_view::npos || text_[end] == '\r';
  return whole ? text_.substr(at_, end - at_) : std::string_view();
}

std::vector<Text> ShellWords::word() {
  Fields fields;
  word_into(fields);
  fields.close();
  return std::move(fields.done);
}

Text ShellWords::value() {
  const std::size_t start = at_;
  Text result;
  result.start = start;
  if (!word_begins()) return result;
  const std::vector<Text> fields = word();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) result.add(' ', start);
    result.add(fields[i]);
  }
  check_size(result.characters.size(), start);
  return result;
}

void ShellWords::word_into(Fields& fields) {
  while (word_begins()) {
    switch (peek()) {
      case '\'':
        single_quoted(fields);
        break;
      case '"':
        double_quoted(fields);
        break;
      case '$':
        dollar(fields, false);
        break;
      case '`':
        command_output(fields, at_, '`');
        break;
      case '\\':
        if (peek(1) == '\n') return;
        if (peek(1) != '\0') ++at_;
        [[fallthrough]];
      default:
        if (peek() != '\r') fields.add(peek(), at_);
        ++at_;
    }
  }
}

void ShellWords::single_quoted(Fields& fields) {
  const std::size_t start = at_++;
  fields.begin(start);
  while (peek() != '\'') {
    if (at_end()) refuse(start, "a quote that is not closed", "close it with '");
    fields.add(peek(), at_);
    ++at_;
  }
  ++at_;
}

void ShellWords::double_quoted(Fields& fields) {
  const std::size_t start = at_++;
  const bool whole_array = text_.substr(at_, 2) == "${" && !fields.begun;  // "${ARRAY[@]}" of none is no field
  if (!whole_array) fields.begin(start);
  while (peek() != '"') {
    if (at_end()) refuse(start, "a quote that is not closed", "close it with \"");
    if (peek() == '$') {
      dollar(fields, true);
    } else if (peek() == '`') {
      command_output(fields, at_, '`');
    } else if (peek() == '\\' && std::string_view("\"\\$`\n").find(peek(1)) != std::string_view::npos &&
               peek(1) != '\0') {
      if (peek(1) != '\n') fields.add(peek(1), at_ + 1);
      at_ += 2;
    } else {
      fields.add(peek(), at_);
      ++at_;
    }
  }
  ++at_;
}

void ShellWords::command_output(Fields& fields, std::size_t start, char close) {
  fields.begin(start);
  int open = 1;
  fields.add(peek(), at_);
  for (++at_; open > 0; ++at_) {
    if (at_end())
      refuse(start, "a command in place of a word that is not closed", fmt::format("close it with {}", close));
    if (close == ')' && peek() == '(') ++open;
    if (peek() == close) --open;
    fields.add(peek(), at_);
  }
}

void ShellWords::dollar(Fields& fields, bool quoted) {
  const std::size_t start = at_;
  if (++depth_ > k_expansions) refuse(start, "expansions within each other, too deep", "write the value out");
  ++at_;
  if (skip("((")) {
    const std::int64_t value = arithmetic();
    if (!skip("))")) refuse(at_, "arithmetic that is not closed", "close it with ))");
    fields.add(Text::of(std::to_string(value), start), quoted);
  } else if (peek() == '(') {
    fields.add('$', start);
    command_output(fields, start, ')');
  } else if (skip("{")) {
    braced(fields, quoted, start);
  } else if (begins_name(peek())) {
    const std::size_t begin = at_;
    while (in_name(peek())) ++at_;
    expand(fields, text_.substr(begin, at_ - begin), quoted, false, start);
  } else if (is_digit(peek()) || peek() == '@' || peek() == '*' || peek() == '#' || peek() == '?') {
    expand(fields, text_.substr(at_++, 1), quoted, true, start);
  } else if (peek() == '\'') {
    refuse(start, "quotes of the form $'...' are not read", "write them as '...'");
  } else {
    fields.add('$', start);
  }
  --depth_;
}

void ShellWords::braced(Fields& fields, bool quoted, std::size_t start) {
  const std::size_t begin = at_;
  while (in_name(peek()) || (at_ == begin && (peek() == '@' || peek() == '*'))) ++at_;
  const std::string_view name = text_.substr(begin, at_ - begin);
  const bool items = skip("[@]") || skip("[*]");
  if (name.empty()) refuse(start, "this form of ${...} is not read", "write the value out");
  const bool or_empty = skip(":-") || skip(":=");
  if (or_empty || skip("-") || skip("=")) {
    const Variable* known = is_set(name) ? find(name) : nullptr;
    const bool empty = known != nullptr && (known->items.empty() || known->items.front().characters.empty());
    const Text otherwise = default_value();
    if (known == nullptr || (or_empty && empty))
      fields.add(otherwise, quoted);
    else
      expand(fields, name, quoted, items, start);
  } else {
    expand(fields, name, quoted, items, start);
  }
  if (!skip("}")) refuse(start, "this form of ${...} is not read", "write the value out, or ${NAME:-default}");
}

Text ShellWords::default_value() {
  const std::size_t start = at_;
  Fields fields;
  while (peek() != '}') {
    if (at_end()) refuse(start, "${...} is not closed", "close it with }");
    if (peek() == '$') {
      dollar(fields, true);
    } else if (peek() == '"') {
      double_quoted(fields);
    } else if (peek() == '\'') {
      single_quoted(fields);
    } else {
      fields.add(peek(), at_);
      ++at_;
    }
  }
  fields.close();
  Text result;
  result.start = start;
  for (const Text& field : fields.done) result.add(field);
  return result;
}

bool ShellWords::is_set(std::string_view name) const { return variables.find(name) != variables.end(); }

const Variable* ShellWords::find(std::string_view name) {
  const auto found = variables.find(name);
  if (found != variables.end()) return &found->second;
  const bool list = name == "@" || name == "*" || name == "#" || name == "?";
  if (!list) unset.emplace(name);
  return nullptr;
}

void ShellWords::expand(Fields& fields, std::string_view name, bool quoted, bool items, std::size_t start) {
  const Variable* variable = find(name);
  if (variable == nullptr) {
    if (quoted && !items) fields.begin(start);
    return;
  }
  const std::size_t count = items ? variable->items.size() : std::min<std::size_t>(1, variable->items.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) fields.close();
    expanded_ += variable->items[i].characters.size() + 1;
    if (expanded_ > k_expanded) refuse(start, "variables stand for more than 16 MiB in all", "write the arguments out");
    fields.add(variable->items[i], quoted);
    check_size(fields.open.characters.size(), start);
    check_size(fields.done.size(), start);
  }
}

std::int64_t ShellWords::arithmetic() {
  if (++depth_ > k_expansions) refuse(at_, "parentheses within each other, too deep", "write the number out");
  const std::int64_t value = sum();
  --depth_;
  return value;
}

std::int64_t ShellWords::sum() {
  std::int64_t value = product();
  for (;;) {
    skip_blanks();
    const std::size_t start = at_;
    const bool minus = peek() == '-';
    if (!skip("+") && !skip("-")) return value;
    const std::int64_t other = product();
    if (minus ? __builtin_sub_overflow(value, other, &value) : __builtin_add_overflow(value, other, &value))
      refuse(start, "a number beyond 64 bits", "write a smaller one");
  }
}

std::int64_t ShellWords::product() {
  std::int64_t value = factor();
  for (;;) {
    skip_blanks();
    const std::size_t start = at_;
    const char sign = peek();
    if (!skip("*") && !skip("/") && !skip("%")) return value;
    const std::int64_t other = factor();
    if (sign == '*') {
      if (__builtin_mul_overflow(value, other, &value)) refuse(start, "a number beyond 64 bits", "write a smaller one");
    } else if (other <= 0) {
      refuse(start, "a division by what is not positive", "check the variables that it names");
    } else {
      value = sign == '/' ? value / other : value % other;
    }
  }
}

std::int64_t ShellWords::factor() {
  while (is_blank(peek())) ++at_;
  const std::size_t start = at_;
  if (skip("(")) {
    const std::int64_t value = arithmetic();
    skip_blanks();
    if (!skip(")")) refuse(at_, "a parenthesis that is not closed", "close it with )");
    return value;
  }
  std::string digits;
  if (is_digit(peek())) {
    while (is_digit(peek())) digits += text_[at_++];
  } else {
    skip("$");
    const bool brace = skip("{");
    const std::size_t begin = at_;
    while (in_name(peek())) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (name.empty() || (brace && !skip("}"))) refuse(start, "arithmetic that is not read", "write the number out");
    if (const Variable* variable = find(name); variable != nullptr && !variable->items.empty())
      digits = variable->items.front().characters;
    if (digits.empty())
      refuse(start, fmt::format("'{}' is not set", name), fmt::format("give it with --define {}=N", name));
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size())
    refuse(start, fmt::format("{} is no whole number", config::quote(digits)), "write the number out");
  return value;
}

}  // namespace cairn::launch
