#include "picture_text.h"

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

std::string dot_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : core::printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace cairn::report
