// One file and one line make a kind of network that is read, checked, exported, priced, built and reported.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "cairn/config/read.h"
#include "cairn/hardware/files.h"
#include "cairn/hardware/network_files.h"
#include "cairn/report/topology.h"
#include "catch.h"
#include "support/complaints.h"
#include "support/shipped.h"

namespace {

using namespace cairn;
using nlohmann::json;

config::Node parsed(const std::string& text) {
  core::Diagnostics diagnostics;
  config::Node node = config::parse_text(text, config::Syntax::yaml, "ring.yaml", diagnostics);
  diagnostics.raise_if_errors();
  return node;
}

topology::Network network(const std::string& keys) {
  core::Diagnostics diagnostics;
  topology::Network result =
      hardware::read_network(testing::shipped(), parsed("{name: test, " + keys + "}"), diagnostics);
  diagnostics.raise_if_errors();
  return result;
}
std::string wrong(const std::string& keys) {
  return test::complaints([&] { network(keys); });
}

hardware::Network machine(const std::string& inter) {
  core::Diagnostics diagnostics;
  const hardware::Machine machine = hardware::read_machine(
      testing::shipped(),
      parsed("{name: test, accelerator: h100-sxm5-80gb, gpus_per_node: 1, nodes: 10, inter: {" + inter + "}}"), {},
      diagnostics);
  diagnostics.raise_if_errors();
  return machine.network;
}

constexpr const char* k_ring = "kind: ring, reach: 3, size: 10, bandwidth: 6 GB/s, hop_latency: 2 us";

}  // namespace

TEST_CASE("a new kind is read with its keys, and errors know them") {
  CHECK(wrong(k_ring) == "");
  CHECK(test::contains(wrong("kind: ring, size: 10, bandwidth: 6 GB/s, latency: 2 us"),
                       "reach: kind 'ring' needs this key"));
  CHECK(test::contains(wrong("kind: ring, reach: 3, dims: [10], bandwidth: 6 GB/s, latency: 2 us"),
                       "dims: kind 'ring' has no such key (remove it, or choose another kind: it belongs to torus, "
                       "mesh, hyperx)"));
  CHECK(
      test::contains(wrong("kind: star, reach: 3, size: 10, bandwidth: 6 GB/s, latency: 2 us"), "it belongs to ring)"));
  CHECK(test::contains(wrong("kind: rnig, reach: 3, size: 10, bandwidth: 6 GB/s, latency: 2 us"),
                       "did you mean 'ring'?"));
  CHECK(test::contains(wrong("kind: ring, reach: 3, size: 3, bandwidth: 6 GB/s, latency: 2 us"),
                       "reach: 3 units are within reach of themselves"));
}

TEST_CASE("a new kind is in the schemas") {
  const json level = json::parse(config::json_schema<hardware::Cluster>("cluster"))["properties"]["inter"];
  const json words = level["properties"]["kind"]["anyOf"][0]["enum"];
  CHECK(std::count(words.begin(), words.end(), "ring") == 1);
  CHECK(level["properties"]["reach"]["description"] == "ring: next ones that each is linked to");
  CHECK(level["dependentSchemas"]["reach"]["properties"]["kind"]["anyOf"][0]["enum"] == json{"ring"});
  const json planes = level["dependentSchemas"]["planes"]["properties"]["kind"]["anyOf"][0]["enum"];
  CHECK(std::count(planes.begin(), planes.end(), "ring") == 1);
}

TEST_CASE("a new kind is priced by its longest route") {
  // Nine places ahead in steps of up to three: three links.
  const hardware::Network net = machine("kind: ring, reach: 3, bandwidth: 6 GB/s, hop_latency: 2 us");
  CHECK(net.levels.back().latency / core::k_microsecond == Approx(3 * 2.0));
  CHECK(net.domain() == 1);  // adapters of nodes, not links of accelerators
}

TEST_CASE("a new kind is built, counted and reported") {
  topology::PriceList prices;
  prices.long_cable = core::Dollars::from_base(10.0);
  prices.switch_ports = 64;
  const report::TopologyAnswer answer = report::describe(network(std::string(k_ring) + ", planes: 2"), prices);
  const json document = json::parse(report::json(answer, {.version = "", .build = ""}));
  CHECK(document["levels"][0]["kind"] == "ring");
  CHECK(document["levels"][0]["routing"].is_null());
  CHECK(document["endpoints"] == 10);
  CHECK(document["diameter"] == 3);
  CHECK(document["routed"]["longest_links"] == 3);
  CHECK(document["bisection_fraction"].get<double>() == Approx(0.4));
  // Distances 1 to 9 take 0 0 1 1 1 2 2 2 3 = 12 links of three: 12 pairs over 2 GB/s against 9 over 6.
  CHECK(document["alltoall_fraction"].get<double>() == Approx(9.0 / 6.0 / (12.0 / 2.0)));
  CHECK(document["routed"]["alltoall_fraction"] == document["alltoall_fraction"]);
  CHECK(document["cost_usd"].get<double>() == Approx(2 * 30 * 10.0));
  CHECK(document["assumptions"] == json{"nothing flows backwards"});
}
