#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "cairn/config/shipped.h"
#include "context.h"

namespace cairn::cli {

std::vector<std::filesystem::path> search_folders() {
  std::vector<std::filesystem::path> folders;
  if (const char* given = std::getenv("CAIRN_CONFIGS"); given != nullptr && *given != '\0') folders.emplace_back(given);
  std::error_code problem;
  for (const std::filesystem::path& folder : config::shipped_folders())
    if (std::none_of(folders.begin(), folders.end(), [&](const std::filesystem::path& other) {
          return std::filesystem::equivalent(folder, other, problem);
        }))
      folders.push_back(folder);
  return folders;
}

std::vector<std::string> configuration_kinds() {
  return {"accelerators", "calibration", "clusters", "experiments", "frameworks",
          "models",       "precision",   "prices",   "topologies"};
}

}  // namespace cairn::cli
