#include "glossary_text.h"

#include <sstream>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/core/printable.h"
#include "cairn/report/glossary.h"

namespace cairn::cli {
namespace {

constexpr std::size_t k_width = 80;   // columns
constexpr std::size_t k_column = 22;  // where meanings begin

std::string entry(const report::Term& term) {
  std::string text, line = fmt::format("{:<{}}", term.word, k_column);
  bool begun = false;
  std::istringstream words{std::string(term.meaning)};
  for (std::string word; words >> word; begun = true) {
    if (begun && line.size() + 1 + word.size() > k_width) {
      text += line + "\n";
      line = std::string(k_column, ' ');
      begun = false;
    }
    line += (begun ? " " : "") + word;
  }
  return text + line + "\n";
}

const report::Term& term(const std::string& word) {
  if (const report::Term* found = report::explained(word)) return *found;
  std::vector<std::string> known;
  for (const report::Term& each : report::glossary()) known.emplace_back(each.word);
  const std::string near = core::nearest(word, known);
  throw core::ConfigurationError(
      "cairn help terms", fmt::format("{} is not explained", core::quoted(word)),
      near.empty() ? "`cairn help terms` has all words" : fmt::format("did you mean '{}'?", near));
}

}  // namespace

std::string glossary_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += entry(term(word));
  if (words.empty())
    for (const report::Term& each : report::glossary()) text += entry(each);
  return text;
}

}  // namespace cairn::cli
