#include "cairn/core/printable.h"

#include <array>
#include <string>

#include "catch.h"

using namespace cairn::core;
using namespace std::string_literals;

TEST_CASE("Text that can be shown stays as it is") {
  for (const std::string& text : {""s, "a plain name (v1.0) ~"s, "µs, 24 °C, Größe, 東京, █▌"s, "\U0001f680 rocket"s}) {
    CHECK(printable(text) == text);
    CHECK(is_printable(text));
  }
}

TEST_CASE("What moves a terminal, reorders or hides text is shown as an escape") {
  CHECK(printable("\x1b[31m\a") == R"(\u001b[31m\u0007)");
  CHECK(printable("a\0b"s) == R"(a\u0000b)");
  CHECK(printable("\x7f") == R"(\u007f)");
  CHECK(printable("\u009b2J") == R"(\u009b2J)");
  CHECK(printable("x\u202ey\u2066z") == R"(x\u202ey\u2066z)");
  CHECK(printable("a\u200bb\ufeffc\u061cd") == R"(a\u200bb\ufeffc\u061cd)");
  CHECK(printable("a\nb\tc\r") == R"(a\nb\tc\u000d)");
  CHECK(printable("\uffff") == R"(\uffff)");  // no character of XML
}

TEST_CASE("Bytes that are not UTF-8 are shown one by one") {
  CHECK(printable("a\x9b\xff") == R"(a\x9b\xff)");
  CHECK(printable("\xc3") == R"(\xc3)");                  // cut off
  CHECK(printable("\xc0\x9b") == R"(\xc0\x9b)");          // an overlong U+001B
  CHECK(printable("\xed\xa0\x80") == R"(\xed\xa0\x80)");  // a surrogate
  CHECK(end_of_utf8("ab\xc3\xa9\x9b") == 4);
  CHECK_FALSE(end_of_utf8("ab\xc3\xa9"));
}

TEST_CASE("Lines keep their breaks and what the writer itself put in") {
  constexpr std::array<std::string_view, 2> k_colours{"\x1b[1m", "\x1b[0m"};
  CHECK(printable_lines("\x1b[1mtitle\x1b[0m\n\x1b[2Jx\n", k_colours) == "\x1b[1mtitle\x1b[0m\n\\u001b[2Jx\n");
  CHECK(printable_lines("\x1b[1mtitle\x1b[0m\n") == "\\u001b[1mtitle\\u001b[0m\n");
  CHECK(is_printable("two\nlines\n"));
  CHECK_FALSE(is_printable("\r"));
  CHECK_FALSE(is_printable("a\u202e"));
  CHECK_FALSE(is_printable("\x9b"));
}

TEST_CASE("Every code point is either kept or leaves nothing but ASCII behind") {
  for (unsigned point = 0; point <= 0xFFFF; ++point) {
    if (point >= 0xD800 && point <= 0xDFFF) continue;
    std::string text;
    if (point < 0x80) {
      text += static_cast<char>(point);
    } else if (point < 0x800) {
      text += static_cast<char>(0xC0 | (point >> 6));
      text += static_cast<char>(0x80 | (point & 0x3F));
    } else {
      text += static_cast<char>(0xE0 | (point >> 12));
      text += static_cast<char>(0x80 | ((point >> 6) & 0x3F));
      text += static_cast<char>(0x80 | (point & 0x3F));
    }
    const std::string shown = printable(text);
    if (shown == text) {
      if (point < 0x20 || (point >= 0x7F && point < 0xA0)) FAIL(point);
      continue;
    }
    for (const char c : shown)
      if (c < ' ' || c > '~') FAIL(point);
  }
}

TEST_CASE("A quotation is cut between characters") {
  CHECK(cairn::core::quoted("a\x1b") == R"('a\u001b')");
  CHECK(cairn::core::quoted(std::string(60, 'x')) == "'" + std::string(60, 'x') + "'");
  CHECK(cairn::core::quoted(std::string(59, 'x') + "é tail") == "'" + std::string(59, 'x') + "...'");
}
