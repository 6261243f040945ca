// What every page is drawn with and acts by.
#pragma once

#include <string_view>

namespace cairn::report::html {

// CSS. Neither has a character that XML would take for markup.
std::string_view page_style();
// Shows the figures of the table row that a point of a picture leads to, and of the pass of a timeline under the
// pointer.
std::string_view page_script();

}  // namespace cairn::report::html
