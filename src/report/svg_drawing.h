// An SVG picture under way: elements are painted in the order in which they are added.
#pragma once

#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "picture_text.h"

namespace cairn::report {

// Colours that are told apart on white, for lines of which none comes first.
inline constexpr std::array<const char*, 10> k_line_colours{"#4269d0", "#efb118", "#ff725c", "#3ca951", "#a463f2",
                                                            "#6cc5b0", "#9c6b4e", "#ff8ab7", "#97bbf5", "#5f6b7a"};

class SvgDrawing {
 protected:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
  }
  // Words at a place [pixels]; `anchor` is start, middle or end, `style` further attributes, each after a blank.
  void text(double x, double y, std::string_view anchor, std::string_view words, std::string_view style = "") {
    add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, style, xml_text(words));
  }
  static const char* colour(std::size_t line) { return k_line_colours[line % k_line_colours.size()]; }

  std::string out_;
};

}  // namespace cairn::report
