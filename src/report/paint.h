// Pieces of a text report: colour, bars, wrapping.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cairn::report {

inline constexpr std::size_t k_text_width = 100;  // columns

class Paint {
 public:
  explicit Paint(bool color) : color_(color) {}
  std::string bold(std::string_view text) const { return in("1", text); }
  std::string dim(std::string_view text) const { return in("2", text); }
  std::string accent(std::string_view text) const { return in("36", text); }
  std::string good(std::string_view text) const { return in("32", text); }
  std::string bad(std::string_view text) const { return in("1;31", text); }

 private:
  std::string in(std::string_view code, std::string_view text) const;
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

}  // namespace cairn::report
