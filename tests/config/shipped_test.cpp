#include "cairn/config/shipped.h"

#include <set>

#include "cairn/config/loader.h"
#include "catch.h"

namespace cairn {
namespace {

TEST_CASE("The configurations that come with Cairn are found without being told where they are") {
  const std::vector<std::filesystem::path> folders = config::shipped_folders();
  REQUIRE_FALSE(folders.empty());
  std::set<std::filesystem::path> places;
  for (const std::filesystem::path& folder : folders) CHECK(places.insert(std::filesystem::canonical(folder)).second);
  const config::Loader loader(folders);
  for (const auto& [name, kind] :
       {std::pair{"dgx-h100", "clusters"}, {"h100-sxm5-80gb", "accelerators"}, {"llama-3.1-8b", "models"}})
    CHECK(std::filesystem::exists(loader.find_shipped(name, kind)));
}

}  // namespace
}  // namespace cairn
