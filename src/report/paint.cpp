#include "paint.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "cairn/report/colours.h"

namespace cairn::report {

std::span<const std::string_view> colours() {
  static constexpr std::array k_all{sgr::k_plain,     sgr::k_bold,     sgr::k_dim,        sgr::k_green,
                                    sgr::k_cyan,      sgr::k_bold_red, sgr::k_on_red,     sgr::k_on_green,
                                    sgr::k_on_yellow, sgr::k_on_blue,  sgr::k_on_magenta, sgr::k_on_cyan,
                                    sgr::k_on_white};
  return k_all;
}

std::string Paint::in(std::string_view colour, std::string_view text) const {
  const std::size_t shown = text.find_last_not_of(' ') + 1;  // blanks at the end stay plain
  if (!color_ || shown == 0) return std::string(text);
  return fmt::format("{}{}{}{}", colour, text.substr(0, shown), sgr::k_plain, text.substr(shown));
}

std::string bar(double share, std::size_t width) {
  constexpr std::array<std::string_view, 8> k_partial{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double eighths = std::clamp(share, 0.0, 1.0) * static_cast<double>(width) * 8.0;
  const auto filled = static_cast<std::size_t>(std::lround(eighths));
  std::string result;
  for (std::size_t i = 0; i < filled / 8; ++i) result += "█";
  result += k_partial[filled % 8];
  const std::size_t used = filled / 8 + (filled % 8 > 0 ? 1 : 0);
  return result.append(width - used, ' ');
}

std::string aligned_time(double seconds) {
  struct Unit {
    double seconds;
    std::string_view name;
  };
  constexpr std::array<Unit, 5> k_units{{{1.0, "s "}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}, {1e-12, "ps"}}};
  constexpr double k_rounds_up = 0.99995;  // of a unit: four digits show it as 1.000
  const auto unit = std::find_if(k_units.begin(), k_units.end() - 1,
                                 [&](const Unit& each) { return seconds >= k_rounds_up * each.seconds; });
  const double value = seconds / unit->seconds;
  const int decimals = value < 9.9995 ? 3 : value < 99.995 ? 2 : value < 999.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, unit->name);
}

std::string clipped(std::string_view text, std::size_t width) {
  if (text.size() <= width) return std::string(text);
  std::size_t cut = width - 2;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;  // not inside a character
  return fmt::format("{}..", text.substr(0, cut));
}

namespace {

// Each line but the last ends in `joint`.
template <class Words>
std::string in_lines(const Words& words, std::string_view first, std::string_view next, std::string_view joint) {
  std::string result(first);
  std::size_t column = first.size(), left = words.size();
  bool fresh = true;
  for (const std::string_view word : words) {
    --left;
    if (!fresh && column + 1 + word.size() + (left > 0 ? joint.size() : 0) > k_text_width) {
      result += fmt::format("{}\n{}", joint, next);
      column = next.size();
      fresh = true;
    }
    if (!fresh) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
    fresh = false;
  }
  return result + '\n';
}

}  // namespace

std::string wrapped(std::string_view text, std::string_view first, std::string_view next) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t blank = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, blank));
    text.remove_prefix(std::min(blank + 1, text.size()));
  }
  return in_lines(words, first, next, "");
}

std::string wrapped_command(const std::vector<std::string>& words, std::string_view first, std::string_view next) {
  return in_lines(words, first, next, " \\");
}

}  // namespace cairn::report
