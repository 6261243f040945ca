#include "picture_text.h"

#include <fmt/format.h>

#include "cairn/core/printable.h"

namespace cairn::report {

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : core::printable(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string svg_head(double width, double height, double font_size) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"{2:.0f}\">\n<rect width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "fill=\"#ffffff\"/>\n",
      width, height, font_size);
}

std::string dot_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : core::printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace cairn::report
