#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "cairn/config/loader.h"
#include "cairn/core/diagnostics.h"

namespace cairn::validation::test {

inline config::Loader shipped() { return config::Loader({std::filesystem::path(CAIRN_SOURCE_DIR) / "configs"}); }

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Everything an action finds wrong, one line each; empty when nothing is.
template <class Action>
std::string complaints(Action action) {
  try {
    action();
  } catch (const core::ConfigurationError& error) {
    return error.what();
  }
  return {};
}

// A folder that goes away with the test.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "cairn_validation_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void write(const std::filesystem::path& name, std::string_view text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace cairn::validation::test
