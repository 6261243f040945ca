// Names inside pictures, in the one way in which each format takes them.
#pragma once

#include <string>
#include <string_view>

namespace cairn::report {

// As text or an attribute of XML.
std::string xml_text(std::string_view text);

// The beginning of an SVG on white: sizes in pixels.
std::string svg_head(double width, double height, double font_size = 12.0);

// A name of Graphviz, with its quotes.
std::string dot_text(std::string_view text);

}  // namespace cairn::report
