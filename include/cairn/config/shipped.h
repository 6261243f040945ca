// The configurations that come with Cairn: accelerators, clusters, models and whatever else a bare name may mean.
//
//   const cairn::config::Loader loader(cairn::config::shipped_folders());
//   const auto loaded = cairn::experiment::load(loader, "llama3-8b-fsdp-dgx-h100");
#pragma once

#include <filesystem>
#include <vector>

namespace cairn::config {

// The folders of them that are there, in the order to be asked: ../share/cairn/configs of the program that runs, where
// they were installed, and the source tree that this library was built from. A Loader takes them, behind folders of
// one's own.
std::vector<std::filesystem::path> shipped_folders();

}  // namespace cairn::config
