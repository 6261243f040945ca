// Input files are read whole, up to a limit that their kind states.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace cairn::core {

// Lists of flows, graphs and traces: what a machine can hold of what is made of them, some 30 bytes to the byte.
inline constexpr std::size_t k_most_listed_bytes = std::size_t{256} << 20;

// What the operating system calls the stream that a program reads: a file to whoever opens it by name.
inline constexpr const char* k_standard_input = "/dev/stdin";

// The bytes of a file, or of anything else that can be read, of at most `limit` bytes. `what` it should have been, for
// the remedy: "a CSV file of flows". Throws ConfigurationError where it cannot be opened or is larger, InputOutputError
// where reading stops half-way.
std::string read_file(const std::filesystem::path& file, std::size_t limit, const std::string& what);

}  // namespace cairn::core
