#include "callers.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "source_text.h"

namespace cairn::architecture {
namespace {

enum class Occurrence { call, declaration, definition };

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(" \t\n", at), text.size());
}

// One behind the bracket that closes the one at `open`.
std::size_t behind_bracket(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return i + 1;
  }
  return text.size();
}

// Of a name at [begin, end): declared and defined functions have a type before them.
Occurrence occurrence(std::string_view text, std::size_t begin, std::size_t end) {
  if (end >= text.size() || text[end] != '(') return Occurrence::call;
  std::size_t after = skip_blanks(text, behind_bracket(text, end));
  for (const std::string_view qualifier : {"const", "noexcept", "override"})
    if (text.substr(after).starts_with(qualifier)) after = skip_blanks(text, after + qualifier.size());
  const char next = after < text.size() ? text[after] : ' ';
  if (next != ';' && next != '{') return Occurrence::call;

  const std::size_t last = begin == 0 ? std::string_view::npos : text.find_last_not_of(" \t\n", begin - 1);
  if (last == std::string_view::npos) return Occurrence::call;
  const std::string_view before = text.substr(0, last + 1);
  const bool qualified = before.ends_with("::"), member = before.ends_with("->");
  std::size_t word = before.size();
  while (word > 0 && is_word_character(before[word - 1])) --word;
  static const std::set<std::string_view> k_statements{"return", "else", "throw", "case", "do", "co_return"};
  const bool type = (word < before.size() && !k_statements.contains(before.substr(word))) ||
                    (!member && std::string_view(">&*").find(before.back()) != std::string_view::npos);
  if (next == '{') return type || qualified ? Occurrence::definition : Occurrence::call;
  return type ? Occurrence::declaration : Occurrence::call;
}

void for_each_name(std::string_view text, const auto& visit) {
  for (std::size_t i = 0; i < text.size();) {
    if (!is_word_character(text[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && is_word_character(text[end])) ++end;
    visit(text.substr(i, end - i), i, end);
    i = end;
  }
}

}  // namespace

std::vector<Violation> functions_without_caller(const std::filesystem::path& root) {
  std::map<std::string, Violation> declared;
  std::set<std::string> called;
  for (const std::string folder : {"include", "src"})
    for (const SourceFile& file : read_sources(root, folder)) {
      const std::string text = blank_comments_and_literals(file.text);
      std::size_t counted = 0;
      int line = 1;
      for_each_name(text, [&](std::string_view name, std::size_t begin, std::size_t end) {
        line += static_cast<int>(std::count(text.begin() + static_cast<std::ptrdiff_t>(counted),
                                            text.begin() + static_cast<std::ptrdiff_t>(begin), '\n'));
        counted = begin;
        const Occurrence found = occurrence(text, begin, end);
        if (found == Occurrence::call) called.insert(std::string(name));
        if (found != Occurrence::call && folder == "include")
          declared.try_emplace(std::string(name), Violation{file.path, line, std::string(name)});
      });
    }
  std::vector<Violation> violations;
  for (const auto& [name, where] : declared)
    if (!called.contains(name)) violations.push_back(where);
  return violations;
}

}  // namespace cairn::architecture
