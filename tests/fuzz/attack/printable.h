// Texts that change nothing but the place of the cursor on a terminal.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cairn::attack {

// What of `text` is not printable, or nothing: bytes that are no UTF-8, controls (C0 but line breaks, DEL, C1),
// characters that turn or isolate the direction of writing (U+202A to U+202E, U+2066 to U+2069), line and paragraph
// separators (U+2028, U+2029).
std::optional<std::string> unprintable(std::string_view text);

}  // namespace cairn::attack
