#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include <unistd.h>

namespace cairn::architecture {

// A tree of its own that is gone when the test ends.
class PlantedTree {
 public:
  PlantedTree() : root_(std::filesystem::temp_directory_path() / ("cairn-architecture-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(root_);
  }
  ~PlantedTree() {
    std::error_code ignored;  // a destructor has nobody to tell
    std::filesystem::remove_all(root_, ignored);
  }
  PlantedTree(const PlantedTree&) = delete;
  PlantedTree& operator=(const PlantedTree&) = delete;

  const std::filesystem::path& root() const { return root_; }
  void plant(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

 private:
  std::filesystem::path root_;
};

}  // namespace cairn::architecture
