#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace cairn::measure {

// The bytes of a file of at most config::k_file_limit bytes. `what` it should have been, for the remedy: "a CSV file".
// Throws core::ConfigurationError when it cannot be read, core::InputOutputError when reading stops half-way.
std::string read_text(const std::filesystem::path& file, std::string_view what);

}  // namespace cairn::measure
