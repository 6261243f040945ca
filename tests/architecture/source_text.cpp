#include "source_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>

namespace cairn::architecture {

namespace fs = std::filesystem;

namespace {

bool is_source(const SourceFile& file) {
  constexpr std::array<std::string_view, 3> k_suffixes = {".cpp", ".h", ".def"};
  return std::any_of(k_suffixes.begin(), k_suffixes.end(),
                     [&](std::string_view suffix) { return file.path.ends_with(suffix); });
}

}  // namespace

SourceFile read_file(const fs::path& root, const fs::path& path) {
  std::ifstream stream(root / path, std::ios::binary);
  return {path.generic_string(), std::string(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>())};
}

std::vector<SourceFile> read_files(const fs::path& root, const std::string& folder) {
  std::vector<SourceFile> files;
  if (!fs::exists(root / folder)) return files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
    if (entry.is_regular_file()) files.push_back(read_file(root, fs::relative(entry.path(), root)));
  }
  std::sort(files.begin(), files.end(), [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

std::vector<SourceFile> read_sources(const fs::path& root, const std::string& folder) {
  std::vector<SourceFile> files = read_files(root, folder);
  std::erase_if(files, [](const SourceFile& file) { return !is_source(file); });
  return files;
}

bool is_header(const SourceFile& file) { return file.path.ends_with(".h"); }

std::string module_of(const std::string& path) {
  for (const std::string_view prefix : {"src/", "include/cairn/", "tests/"}) {
    if (!path.starts_with(prefix)) continue;
    const std::size_t end = path.find('/', prefix.size());
    return end == std::string::npos ? std::string() : path.substr(prefix.size(), end - prefix.size());
  }
  return {};
}

void for_each_line(std::string_view text, const std::function<void(int, std::string_view)>& visit) {
  int number = 1;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    visit(number, text.substr(begin, end - begin));
    begin = end + 1;
  }
}

std::string_view included(std::string_view line) {
  const auto skip_blanks = [&] { line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size())); };
  skip_blanks();
  if (!line.starts_with('#')) return {};
  line.remove_prefix(1);
  skip_blanks();
  constexpr std::string_view k_include = "include";
  if (!line.starts_with(k_include)) return {};
  line.remove_prefix(k_include.size());
  skip_blanks();
  if (line.empty() || (line.front() != '"' && line.front() != '<')) return {};
  const std::size_t end = line.find(line.front() == '"' ? '"' : '>', 1);
  return end == std::string_view::npos ? std::string_view() : line.substr(0, end + 1);
}

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

void for_each_word(std::string_view text,
                   const std::function<void(int, std::string_view, std::size_t, std::size_t)>& visit) {
  for_each_line(text, [&](int number, std::string_view line) {
    for (std::size_t begin = 0; begin < line.size();) {
      std::size_t end = begin;
      while (end < line.size() && is_word_character(line[end])) ++end;
      if (end > begin) visit(number, line, begin, end);
      begin = std::max(end, begin + 1);
    }
  });
}

}  // namespace cairn::architecture
