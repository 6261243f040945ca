// The bytes of one file, or why they cannot be had.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cairn/config/node.h"

namespace cairn::config {

// Missing, a directory, unreadable, beyond k_file_limit (found before reading), empty, binary or not UTF-8: an error
// that names the file, placed at `naming` when another file asked for it. A read that breaks off raises
// core::InputOutputError.
std::optional<std::string> read_text_file(const std::filesystem::path& file, const Place& naming,
                                          core::Diagnostics& diagnostics);

}  // namespace cairn::config
