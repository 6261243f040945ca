#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "context.h"

namespace cairn::cli {

std::vector<std::filesystem::path> search_folders() {
  namespace fs = std::filesystem;
  std::vector<fs::path> folders;
  if (const char* given = std::getenv("CAIRN_CONFIGS"); given != nullptr && *given != '\0') folders.emplace_back(given);
  std::error_code problem;
  const fs::path program = fs::read_symlink("/proc/self/exe", problem);
  const fs::path installed = program.parent_path().parent_path() / CAIRN_DATADIR / "cairn" / "configs";
  for (const fs::path& folder : {installed, fs::path(CAIRN_SOURCE_CONFIGS)})
    if (fs::is_directory(folder, problem) && std::none_of(folders.begin(), folders.end(), [&](const fs::path& other) {
          return fs::equivalent(folder, other, problem);
        }))
      folders.push_back(folder);
  return folders;
}

std::vector<std::string> configuration_kinds() {
  return {"accelerators", "calibration", "clusters", "experiments", "frameworks",
          "models",       "precision",   "prices",   "topologies"};
}

}  // namespace cairn::cli
