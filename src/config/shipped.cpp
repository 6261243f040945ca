#include "cairn/config/shipped.h"

#include <algorithm>

namespace cairn::config {

std::vector<std::filesystem::path> shipped_folders() {
  namespace fs = std::filesystem;
  std::error_code problem;
  const fs::path program = fs::read_symlink("/proc/self/exe", problem);
  const fs::path beside = program.parent_path().parent_path() / CAIRN_DATADIR / "cairn" / "configs";
  std::vector<fs::path> folders;
  for (const fs::path& folder : {beside, fs::path(CAIRN_INSTALLED_CONFIGS), fs::path(CAIRN_SOURCE_CONFIGS)})
    if (fs::is_directory(folder, problem) && std::none_of(folders.begin(), folders.end(), [&](const fs::path& other) {
          return fs::equivalent(folder, other, problem);
        }))
      folders.push_back(folder);
  return folders;
}

}  // namespace cairn::config
