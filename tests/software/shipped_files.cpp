// Every shipped recipe and profile loads, says where each number comes from, and reads back what it writes.
#include "cairn/software/files.h"
#include "catch.h"
#include "support/shipped.h"
#include "support/sourced_files.h"

namespace cairn::software {

using config::Loaded;
using testing::check_round_trip;
using testing::name_node;
using testing::unsourced;

TEST_CASE("every precision file", "[software]") {
  const config::Loader loader = testing::shipped();
  for (const std::string& name : loader.names("precision")) {
    CAPTURE(name);
    const PrecisionRecipe recipe = load_precision(loader, name);
    CHECK(recipe.recipe == name);
    check_round_trip(recipe);
  }
}

TEST_CASE("every framework file and release", "[software]") {
  const config::Loader loader = testing::shipped();
  CHECK(loader.names("frameworks").size() >= 10);
  for (const std::string& name : loader.names("frameworks")) {
    const FrameworkProfile profile = load_framework(loader, name);
    CHECK(profile.name == name);
    std::vector<std::string> wanted{name};
    for (const auto& [release, overlay] : profile.releases) wanted.push_back(name + "@" + release);
    for (const std::string& each : wanted) {
      CAPTURE(each);
      core::Diagnostics diagnostics;
      const Loaded<FrameworkProfile> loaded = read_framework(loader, name_node(each), "framework", diagnostics);
      REQUIRE_NOTHROW(diagnostics.raise_if_errors());
      CHECK(unsourced(loaded.origins) == "");
      check_round_trip(loaded.value);
    }
  }
}

TEST_CASE("schemas can be exported", "[software]") {
  CHECK(config::json_schema<PrecisionRecipe>("precision").find("none") != std::string::npos);
  CHECK(config::json_schema<FrameworkProfile>("framework").find("host_per_micro_batch") != std::string::npos);
}

}  // namespace cairn::software
