#include "text_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>

#include <fmt/format.h>

#include "cairn/config/loader.h"
#include "cairn/core/printable.h"

namespace cairn::config {

namespace {

// Line and column, in characters, of what follows `before`.
Place after(std::string_view before, const std::shared_ptr<const std::string>& file) {
  const std::size_t line_start = before.find_last_of('\n') + 1;
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  const auto line = std::count(before.begin(), before.end(), '\n');
  const auto column =
      std::count_if(before.begin() + static_cast<std::ptrdiff_t>(line_start), before.end(), std::not_fn(continues));
  return Place{.file = file, .line = static_cast<int>(line) + 1, .column = static_cast<int>(column) + 1};
}

}  // namespace

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
  // What the file holds is wrong at a place of its own, whoever asked for it.
  const auto refuse_at = [&](std::size_t at, std::string message, std::string hint) {
    const Place place = after(std::string_view(text).substr(0, at), std::make_shared<const std::string>(file.string()));
    diagnostics.add(error_at(place, {}, std::move(message), std::move(hint)));
    return std::nullopt;
  };
  if (const std::size_t nul = text.find('\0'); nul != std::string::npos)
    return refuse_at(nul, "binary file (it holds NUL bytes)", "name a YAML or JSON text");
  if (const auto end = core::end_of_utf8(text))
    return refuse_at(*end, fmt::format("not UTF-8 text: byte {}", core::quoted(std::string_view(text).substr(*end, 1))),
                     "save it as UTF-8");
  return text;
}

}  // namespace cairn::config
