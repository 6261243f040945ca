#include "cairn/config/sources.h"

#include <algorithm>

namespace cairn::config {

namespace {

namespace fs = std::filesystem;

// Models in the Hugging Face form are folders with one file of this name.
constexpr const char* k_folder_file = "config.json";

}  // namespace

std::string SourceFile::name() const {
  return file.filename() == k_folder_file ? file.parent_path().filename().string() : file.stem().string();
}

std::string SourceFile::portable(const fs::path& home) const {
  const fs::path& from = folder.empty() ? home : folder;
  std::error_code problem;
  const fs::path relative =
      fs::absolute(file, problem)
          .lexically_normal()
          .lexically_relative(fs::absolute(from.empty() ? fs::path(".") : from, problem).lexically_normal());
  const bool below = !relative.empty() && *relative.begin() != "..";
  return (below ? relative : file.filename()).generic_string();
}

void Sources::add(SourceFile source) {
  if (find(source.file) == nullptr) all_.push_back(std::move(source));
}

const SourceFile* Sources::find(const fs::path& file) const {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const SourceFile& each) { return each.file == file; });
  return found == all_.end() ? nullptr : &*found;
}

}  // namespace cairn::config
