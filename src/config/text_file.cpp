#include "text_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "cairn/config/loader.h"

namespace cairn::config {

bool is_utf8(std::string_view text) {
  // Smallest code point of a sequence of 2, 3 and 4 bytes: anything below is an overlong form.
  constexpr char32_t k_smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  constexpr char32_t k_largest = 0x10FFFF;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || i + length > text.size()) return false;
    char32_t point = lead & (0x7Fu >> length);
    for (std::size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xC0) != 0x80) return false;
      point = (point << 6) | (next & 0x3Fu);
    }
    const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
    if (point < k_smallest[length] || point > k_largest || surrogate) return false;
    i += length;
  }
  return true;
}

std::optional<std::string> read_text_file(const std::filesystem::path& file, const Place& naming,
                                          core::Diagnostics& diagnostics) {
  const auto refuse = [&](std::string message, std::string hint) {
    Place place = naming;
    if (place.file) {
      message = fmt::format("{}: {}", quote(file.string()), message);
    } else {
      place.file = std::make_shared<const std::string>(file.string());
    }
    diagnostics.add(error_at(place, {}, std::move(message), std::move(hint)));
    return std::nullopt;
  };
  std::error_code problem;
  const std::filesystem::file_status status = std::filesystem::status(file, problem);
  if (status.type() == std::filesystem::file_type::not_found) return refuse("no such file", "check the name");
  if (problem) return refuse(fmt::format("cannot be opened: {}", problem.message()), "check the name and permissions");
  if (std::filesystem::is_directory(status)) return refuse("is a directory", "name a file in it");
  const std::string too_large = fmt::format("larger than {} MiB", k_file_limit >> 20);
  const char* const split = "a configuration is small: is this the right file?";
  if (std::filesystem::is_regular_file(status)) {
    const std::uintmax_t size = std::filesystem::file_size(file, problem);
    if (!problem && size > k_file_limit) return refuse(too_large, split);
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return refuse(fmt::format("cannot be opened: {}", std::strerror(errno)), "check its permissions");
  std::string text;
  char block[1 << 16];
  while (stream.read(block, sizeof block) || stream.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(stream.gcount()));
    if (text.size() > k_file_limit) return refuse(too_large, split);
  }
  if (stream.bad()) throw core::InputOutputError(fmt::format("{}: reading stopped half-way", file.string()));
  if (std::all_of(text.begin(), text.end(), [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; })) {
    return refuse("empty file", "write at least one key: value");
  }
  if (text.find('\0') != std::string::npos)
    return refuse("binary file (it holds NUL bytes)", "name a YAML or JSON text");
  if (!is_utf8(text)) return refuse("not UTF-8 text", "save it as UTF-8");
  return text;
}

}  // namespace cairn::config
