// Text that came from outside, safe to show: on a terminal, in a log, inside XML, JSON and YAML.
//
// Written visibly instead of as they are: control characters (U+0000-001F, U+007F-009F), what reorders or hides text
// (U+00AD, U+061C, U+180E, U+200B-200F, U+2028-202E, U+2060-206F, U+FEFF, U+FFF9-FFFB), code points that are no
// characters (U+FDD0-FDEF, U+FFFE, U+FFFF), and bytes that are not UTF-8:
//   newline \n    tab \t    escape \u001b    right-to-left override \u202e    a byte 9b outside UTF-8 \x9b
// Those of characters are escapes of JSON and of YAML's double quotes, too, so a document stays one that reads back.
// Source: Unicode 15, general categories Cc and Cf and section 23.7; XML 1.0 (fifth edition), production Char.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cairn::core {

// One line: newlines are escaped, too.
std::string printable(std::string_view text);

// Lines: newlines stay, and so does every occurrence of a text of `kept`, such as the colours of a report.
std::string printable_lines(std::string_view text, std::span<const std::string_view> kept = {});

// Whether printable_lines(text) is `text`.
bool is_printable(std::string_view text);

// printable(text) in single quotes, cut after 60 bytes of `text`.
std::string quoted(std::string_view text);

// Bytes before the first that is not UTF-8; none when all is.
std::optional<std::size_t> end_of_utf8(std::string_view text);

}  // namespace cairn::core
