#include "cairn/core/read_file.h"

#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"

namespace cairn::core {

std::string read_file(const std::filesystem::path& file, std::size_t limit, const std::string& what) {
  constexpr std::size_t k_block = std::size_t{1} << 20;
  std::error_code problem;
  std::ifstream stream(file, std::ios::binary);
  if (!stream || std::filesystem::is_directory(file, problem))
    throw ConfigurationError(file.string(), "cannot be read", "name " + what);
  const auto refuse = [&] {
    throw ConfigurationError(file.string(), fmt::format("larger than {} MiB, the most that is read", limit >> 20),
                             "is this the right file? Name " + what + ", or split it");
  };
  if (const std::uintmax_t size = std::filesystem::file_size(file, problem); !problem && size > limit) refuse();
  std::string text;
  while (stream) {
    const std::size_t had = text.size();
    text.resize(had + k_block);
    stream.read(text.data() + had, k_block);
    text.resize(had + static_cast<std::size_t>(stream.gcount()));
    if (text.size() > limit) refuse();
  }
  if (stream.bad()) throw InputOutputError(file.string() + ": reading stopped half-way");
  return text;
}

}  // namespace cairn::core
