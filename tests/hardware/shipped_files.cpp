// Every shipped file loads, says where each number comes from, and reads back what it writes.
#include "catch.h"
#include "hardware/support.h"

namespace cairn::hardware {
namespace {

bool needs_source(const config::Origin& origin) {
  if (origin.is_default()) return false;
  const std::string& path = origin.key_path;
  if (path.empty() || path == "version" || path == "name" || path == "accelerator" || path == "nodes" ||
      path == "gpus_per_node")
    return false;
  const std::string_view last = std::string_view(path).substr(path.find_last_of('.') + 1);
  if (last == "kind" || last == "name" || last == "fabric") return false;
  return path.rfind("releases", 0) != 0;
}

// Leaves without a source of their own or of a map above them. A key is a leaf when no other key lies below it.
std::string unsourced(const config::Origins& origins) {
  std::string text;
  const auto& all = origins.all();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string& path = all[i].key_path;
    const bool is_leaf = i + 1 == all.size() || (all[i + 1].key_path.rfind(path + ".", 0) != 0 &&
                                                 all[i + 1].key_path.rfind(path + "[", 0) != 0);
    if (!is_leaf || !needs_source(all[i])) continue;
    const config::Origin* basis = provenance(origins, path);
    if (basis == nullptr || basis->reference.empty()) text += path + " ";
  }
  return text;
}

template <class T>
void check_round_trip(const T& value) {
  const std::string written = config::to_json(value);
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(written, config::Syntax::json, "written.json", diagnostics);
  T again{};
  config::read(node, again, diagnostics);
  diagnostics.raise_if_errors();
  CHECK(config::to_json(again) == written);
}

config::Node name_node(const std::string& name) { return config::make_scalar(name, {}); }

}  // namespace

TEST_CASE("every accelerator file", "[hardware]") {
  const config::Loader loader = test::shipped();
  const std::vector<std::string> names = loader.names("accelerators");
  CHECK(names.size() >= 20);
  for (const std::string& name : names) {
    CAPTURE(name);
    core::Diagnostics diagnostics;
    const Loaded<Accelerator> loaded = read_accelerator(loader, name_node(name), "accelerator", diagnostics);
    REQUIRE_NOTHROW(diagnostics.raise_if_errors());
    CHECK(unsourced(loaded.origins) == "");
    CHECK(loaded.value.find_memory("l2") != nullptr);
    CHECK(loaded.value.find_memory("shared")->scope == Scope::multiprocessor);
    // What remains is at least 85 % of the card.
    CHECK(loaded.value.usable_memory() / loaded.value.device_memory().capacity > 0.85);
    check_round_trip(loaded.value);
  }
}

TEST_CASE("every cluster file", "[hardware]") {
  const config::Loader loader = test::shipped();
  const std::vector<std::string> names = loader.names("clusters");
  CHECK(names.size() >= 11);
  for (const std::string& name : names) {
    CAPTURE(name);
    core::Diagnostics diagnostics;
    const Machine machine = read_machine(loader, name_node(name), "cluster", diagnostics);
    REQUIRE_NOTHROW(diagnostics.raise_if_errors());
    CHECK(unsourced(machine.cluster.origins) == "");
    CHECK(machine.network.gpus() == machine.network.nodes * machine.network.gpus_per_node);
    CHECK(machine.accelerator.value.multiprocessors > 0);
    check_round_trip(machine.cluster.value);
  }
}

TEST_CASE("every precision file", "[hardware]") {
  const config::Loader loader = test::shipped();
  for (const std::string& name : loader.names("precision")) {
    CAPTURE(name);
    const PrecisionRecipe recipe = load_precision(loader, name);
    CHECK(recipe.recipe == name);
    check_round_trip(recipe);
  }
}

TEST_CASE("every framework file and release", "[hardware]") {
  const config::Loader loader = test::shipped();
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

TEST_CASE("schemas can be exported", "[hardware]") {
  CHECK(config::json_schema<Accelerator>("accelerator").find("multiprocessors") != std::string::npos);
  CHECK(config::json_schema<Cluster>("cluster").find("oversubscription") != std::string::npos);
  CHECK(config::json_schema<PrecisionRecipe>("precision").find("none") != std::string::npos);
  CHECK(config::json_schema<FrameworkProfile>("framework").find("host_per_micro_batch") != std::string::npos);
}

}  // namespace cairn::hardware
