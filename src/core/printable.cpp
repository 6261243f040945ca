#include "cairn/core/printable.h"

#include <algorithm>

#include <fmt/format.h>

namespace cairn::core {
namespace {

// One character at the start of a text. Bytes that are not UTF-8 come singly and have no code point.
struct Character {
  std::optional<char32_t> point;
  std::size_t bytes;
};

Character first_of(std::string_view text) {
  // Smallest code point of a sequence of 2, 3 and 4 bytes: anything below is an overlong form.
  constexpr char32_t k_smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  constexpr char32_t k_largest = 0x10FFFF;
  constexpr Character k_invalid{.point = std::nullopt, .bytes = 1};
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return {.point = lead, .bytes = 1};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || length > text.size()) return k_invalid;
  char32_t point = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0) != 0x80) return k_invalid;
    point = (point << 6) | (next & 0x3Fu);
  }
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  if (point < k_smallest[length] || point > k_largest || surrogate) return k_invalid;
  return {.point = point, .bytes = length};
}

bool is_shown(char32_t point) {
  struct Range {
    char32_t first, last;
  };
  constexpr Range k_hidden[] = {{0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},     {0x61C, 0x61C},
                                {0x180E, 0x180E}, {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F},
                                {0xFDD0, 0xFDEF}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xFFFE, 0xFFFF}};
  return std::none_of(std::begin(k_hidden), std::end(k_hidden),
                      [point](const Range& range) { return point >= range.first && point <= range.last; });
}

// What nearly all texts consist of, found without decoding.
bool is_plain(char c) { return (c >= ' ' && c <= '~') || c == '\n'; }

void append_escaped(std::string& out, const Character& character, char byte) {
  if (!character.point)
    out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  else if (*character.point == '\n')
    out += "\\n";
  else if (*character.point == '\t')
    out += "\\t";
  else
    out += fmt::format("\\u{:04x}", static_cast<unsigned>(*character.point));
}

}  // namespace

std::string printable_lines(std::string_view text, std::span<const std::string_view> kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto plain = static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_plain) - text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto* whole = std::find_if(kept.data(), kept.data() + kept.size(),
                                     [&](std::string_view each) { return text.starts_with(each); });
    const Character character = first_of(text);
    const std::size_t bytes = whole != kept.data() + kept.size() ? whole->size() : character.bytes;
    if (bytes != character.bytes || (character.point && is_shown(*character.point)))
      out += text.substr(0, bytes);
    else
      append_escaped(out, character, text.front());
    text.remove_prefix(bytes);
  }
  return out;
}

std::string printable(std::string_view text) {
  std::string out;
  for (;;) {
    const std::size_t line = text.find('\n');
    out += printable_lines(text.substr(0, line));
    if (line == std::string_view::npos) return out;
    out += "\\n";
    text.remove_prefix(line + 1);
  }
}

bool is_printable(std::string_view text) {
  const char* at = std::find_if_not(text.data(), text.data() + text.size(), is_plain);
  const char* const end = text.data() + text.size();
  while (at != end) {
    const Character character = first_of({at, static_cast<std::size_t>(end - at)});
    if (!character.point || !is_shown(*character.point)) return false;
    at = std::find_if_not(at + character.bytes, end, is_plain);
  }
  return true;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t k_longest = 60;
  constexpr std::size_t k_continuing = 3;  // bytes of a character after its first: 10xxxxxx
  std::size_t cut = std::min(text.size(), k_longest);
  const auto inside = [&] { return cut < text.size() && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80; };
  for (std::size_t back = 0; back < k_continuing && inside(); ++back) --cut;
  return fmt::format("'{}{}'", printable(text.substr(0, cut)), cut < text.size() ? "..." : "");
}

std::optional<std::size_t> end_of_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Character character = first_of(text.substr(at));
    if (!character.point) return at;
    at += character.bytes;
  }
  return std::nullopt;
}

}  // namespace cairn::core
