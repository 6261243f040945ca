// What a row's notes say: that it is no full training, and settings that no column has.
#include <string>

#include "cairn/config/loader.h"
#include "row.h"

namespace cairn::validation {
namespace {

// Signs of words: `packed` is no word of `unpacked`.
bool is_word_sign(char sign) {
  return (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z') || (sign >= '0' && sign <= '9') || sign == '_';
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& sign : result)
    if (sign >= 'A' && sign <= 'Z') sign = static_cast<char>(sign - 'A' + 'a');
  return result;
}

// Where `word` stands in `text` by itself, both in small letters.
std::size_t place_of(const std::string& text, const std::string& word, std::size_t from = 0) {
  for (std::size_t at = text.find(word, from); at != std::string::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word_sign(text[at - 1])) && (end == text.size() || !is_word_sign(text[end]))) return at;
  }
  return std::string::npos;
}

}  // namespace

std::string not_full_training(const Row& row) {
  std::string notes = lower(row.record.text("notes"));
  const auto& general = row.families.words.skip;
  for (const auto& [word, why] : general)
    if (why.empty())
      for (std::size_t at = 0; (at = place_of(notes, lower(word), at)) != std::string::npos;)
        notes.replace(at, word.size(), word.size(), ' ');
  for (const auto* words : {&row.family.skip, &general})
    for (const auto& [word, why] : *words)
      if (!why.empty() && place_of(notes, lower(word)) != std::string::npos) return fmt::format("{}: {}", word, why);
  return {};
}

NotedSettings noted_settings(const Row& row) {
  const std::string notes = lower(row.record.text("notes"));
  NotedSettings settings{.strategy = row.map(), .framework = row.map(), .attention = {}};
  for (const Noted& noted : row.family.noted) {
    const auto said = [&](const std::string& word) { return place_of(notes, lower(word)) != std::string::npos; };
    if (!std::all_of(noted.words.begin(), noted.words.end(), said)) continue;
    if (std::any_of(noted.without.begin(), noted.without.end(), said)) continue;
    for (const auto& [keys, of_notes] :
         {std::pair(&settings.strategy, &noted.strategy), std::pair(&settings.framework, &noted.framework)})
      if (!of_notes->is_null()) *keys = config::merge_within_values(std::move(*keys), *of_notes);
    settings.attention.insert(settings.attention.begin(), noted.attention.begin(), noted.attention.end());
  }
  return settings;
}

}  // namespace cairn::validation
