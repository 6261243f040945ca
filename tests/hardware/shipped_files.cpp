// Every shipped file loads, says where each number comes from, and reads back what it writes.
#include "catch.h"
#include "hardware/support.h"
#include "support/sourced_files.h"

namespace cairn::hardware {
using testing::check_round_trip;
using testing::name_node;
using testing::unsourced;

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

TEST_CASE("schemas can be exported", "[hardware]") {
  CHECK(config::json_schema<Accelerator>("accelerator").find("multiprocessors") != std::string::npos);
  CHECK(config::json_schema<Cluster>("cluster").find("oversubscription") != std::string::npos);
}

}  // namespace cairn::hardware
