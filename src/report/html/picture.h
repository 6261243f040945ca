// Pictures of a page: as wide as a column of text, so that their letters can be read on a phone.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "html/document.h"
#include "svg_drawing.h"

namespace cairn::report::html {

inline constexpr double k_picture_width = 560.0;
inline constexpr double k_picture_font = 12.0;
inline constexpr double k_unit_line = 16.0;     // where the unit of the vertical axis stands, above it
inline constexpr double k_widest_letter = 9.6;  // of a tick: that of a phone, whose letters are larger

class Picture : public SvgDrawing {
 protected:
  // `name`: its title, `what`: what it shows to those who do not see it; plain. `id` is its own in the page.
  void begin(double height, std::string_view id, std::string_view name, std::string_view what);
  std::string end();
  // Words in the colour of remarks.
  void remark(double x, double y, std::string_view anchor, std::string_view words) {
    text(x, y, anchor, words, " class=\"dim\"");
  }
  void line(double x1, double y1, double x2, double y2, std::string_view style);
  // What is drawn until end_point() leads to the row of that id, whose figures the script shows. `name`: what it is to
  // those who do not see it; plain.
  void begin_point(std::string_view row, std::string_view name);
  void end_point() { out_ += "</a>\n"; }

 private:
  std::size_t role_at_ = 0;  // where its role is to stand
  bool leads_ = false;       // to some row
};

}  // namespace cairn::report::html
