#include "text_file.h"

#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "cairn/config/loader.h"
#include "cairn/core/diagnostics.h"

namespace cairn::measure {

std::string read_text(const std::filesystem::path& file, std::string_view what) {
  const std::string name = file.filename().string();
  const auto refuse = [&](std::string message, std::string hint) {
    core::Diagnostic diagnostic;
    diagnostic.file = name;
    diagnostic.message = std::move(message);
    diagnostic.hint = std::move(hint);
    throw core::ConfigurationError(std::vector<core::Diagnostic>{std::move(diagnostic)});
  };
  std::error_code problem;
  if (std::filesystem::is_directory(file, problem)) refuse("is a directory", fmt::format("name {}", what));
  const std::uintmax_t size = std::filesystem::file_size(file, problem);
  if (problem) refuse(fmt::format("cannot be read: {}", problem.message()), fmt::format("name {}", what));
  if (size > config::k_file_limit)
    refuse(fmt::format("{} bytes, more than the {} that a file may have", size, config::k_file_limit),
           "split the table");
  std::ifstream stream(file, std::ios::binary);
  std::string text(static_cast<std::size_t>(size), '\0');
  if (!stream || (size > 0 && !stream.read(text.data(), static_cast<std::streamsize>(size))))
    throw core::InputOutputError(fmt::format("{}: reading stopped half-way", name));
  return text;
}

}  // namespace cairn::measure
