// Pieces of a text report: colour, bars, wrapping.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::report {

inline constexpr std::size_t k_text_width = 100;  // columns

// Colours of ISO 6429. One that is added has to be named by colours(), or it is shown instead of working.
namespace sgr {
inline constexpr std::string_view k_plain = "\x1b[0m", k_bold = "\x1b[1m", k_dim = "\x1b[2m", k_green = "\x1b[32m",
                                  k_cyan = "\x1b[36m", k_bold_red = "\x1b[1;31m";
// Black on a colour.
inline constexpr std::string_view k_on_red = "\x1b[30;41m", k_on_green = "\x1b[30;42m", k_on_yellow = "\x1b[30;43m",
                                  k_on_blue = "\x1b[30;44m", k_on_magenta = "\x1b[30;45m", k_on_cyan = "\x1b[30;46m",
                                  k_on_white = "\x1b[30;47m";
}  // namespace sgr

class Paint {
 public:
  explicit Paint(bool color) : color_(color) {}
  std::string bold(std::string_view text) const { return in(sgr::k_bold, text); }
  std::string dim(std::string_view text) const { return in(sgr::k_dim, text); }
  std::string accent(std::string_view text) const { return in(sgr::k_cyan, text); }
  std::string good(std::string_view text) const { return in(sgr::k_green, text); }
  std::string bad(std::string_view text) const { return in(sgr::k_bold_red, text); }

 private:
  std::string in(std::string_view colour, std::string_view text) const;
  bool color_;
};

// A horizontal bar of `share` (0 to 1) of `width` columns, in eighths of a column, padded with blanks to `width`.
std::string bar(double share, std::size_t width);

// A time with four significant digits whatever they are, so that columns of times line up: 522.0 us, 1.070 s.
std::string aligned_time(double seconds);

// `text` cut to `width` bytes with an ellipsis of dots.
std::string clipped(std::string_view text, std::size_t width);

// `text` in lines of at most k_text_width, the first after `first`, the others after `next`; ends with a line break.
std::string wrapped(std::string_view text, std::string_view first, std::string_view next);
// A command in lines that a shell reads as one; an option and its value are one of its words.
std::string wrapped_command(const std::vector<std::string>& words, std::string_view first, std::string_view next);

}  // namespace cairn::report
