// Files of the tree and the words in them.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::architecture {

struct SourceFile {
  std::string path;  // relative to the root, with '/'
  std::string text;
};

SourceFile read_file(const std::filesystem::path& root, const std::filesystem::path& path);

// All regular files below root/folder, sorted by path; none when the folder does not exist.
std::vector<SourceFile> read_files(const std::filesystem::path& root, const std::string& folder);

// The C++ files among them.
std::vector<SourceFile> read_sources(const std::filesystem::path& root, const std::string& folder);

bool is_header(const SourceFile& file);

// src/<module>/..., include/cairn/<module>/..., tests/<module>/...; empty for any other path.
std::string module_of(const std::string& path);

// Calls visit(line number, line) for each line.
void for_each_line(std::string_view text, const std::function<void(int, std::string_view)>& visit);

// What #include names on this line, with its quotes or angle brackets; empty when it is no include.
std::string_view included(std::string_view line);

bool is_word_character(char c);

// Calls visit(line number, line, begin, end) for each identifier of each line.
void for_each_word(std::string_view text,
                   const std::function<void(int, std::string_view, std::size_t, std::size_t)>& visit);

}  // namespace cairn::architecture
