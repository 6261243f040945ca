#include "html/plans.h"

#include <algorithm>

#include <fmt/format.h>

#include "picture_text.h"

namespace cairn::report::html {
namespace {

// A setting as words: those of documents are texts, those of others may be anything.
std::string setting(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

}  // namespace

std::string differences(const Document& document, const std::string& path, const std::string& best) {
  const Json* all = document.find(path);
  const Json* other = document.find(best);
  std::string words;
  if (all == nullptr || other == nullptr) return words;
  for (const auto& [key, value] : all->items()) {
    if (other->contains(key) && other->at(key) == value) continue;
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", xml_text(key), xml_text(setting(value)));
  }
  return words;
}

std::string settings_words(const Document& document, const std::string& path) {
  const Json* all = document.find(path);
  std::string words;
  if (all == nullptr) return words;
  for (const auto& [key, value] : all->items())
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", xml_text(key), xml_text(setting(value)));
  return words;
}

std::string objective_words(const std::string& objective) {
  std::string words = objective;
  if (words == "fewest-gpus") return "fewest GPUs";
  std::replace(words.begin(), words.end(), '-', ' ');
  return xml_text(words);
}

}  // namespace cairn::report::html
