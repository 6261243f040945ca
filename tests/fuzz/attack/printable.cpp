#include "printable.h"

namespace cairn::attack {
namespace {

// Bytes of the character that begins with `lead`, 0 when none does.
std::size_t length_of(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  return lead >= 0xF0 && lead <= 0xF4 ? 4 : 0;
}

bool is_control(char32_t point) {
  const bool c0 = point < 0x20 && point != '\n';
  const bool c1 = point >= 0x7F && point <= 0x9F;
  return c0 || c1;
}

bool parts_or_turns(char32_t point) {
  return (point >= 0x2028 && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069);
}

constexpr const char* k_no_utf8 = "bytes that are no UTF-8";

}  // namespace

std::optional<std::string> unprintable(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = length_of(lead);
    if (length == 0 || i + length > text.size()) return k_no_utf8;
    char32_t point = length == 1 ? lead : lead & (0x7FU >> length);
    for (std::size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xC0U) != 0x80U) return k_no_utf8;
      point = (point << 6U) | (next & 0x3FU);
    }
    if (is_control(point)) return "a control character";
    if (parts_or_turns(point)) return "a character that parts lines or turns their direction";
    i += length;
  }
  return {};
}

}  // namespace cairn::attack
