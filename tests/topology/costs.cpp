// The cost table of Hoefler et al., "HammingMesh", SC22 (table II), re-derived part by part. [USD]
#include "cairn/topology/prices.h"
#include "catch.h"
#include "topology/networks.h"

using namespace cairn::topology;
using cairn::topology_tests::network;
using cairn::topology_tests::shipped;

namespace {

double cost(const std::string& name) {
  const auto loader = shipped();
  const Network net = cairn::hardware::load_network(loader, name);
  const Bill bought = bill(*net.topology, load_prices(loader, "hammingmesh-2022"));
  INFO(name);
  REQUIRE(bought.usd.has_value());
  return *bought.usd;
}

}  // namespace

TEST_CASE("HammingMesh cost table", "[topology]") {
  // Millions, within 0.2 percent.
  const std::vector<std::pair<std::string, double>> table{{"fat-tree-1024", 25.303},
                                                          {"fat-tree-16384", 679.903},
                                                          {"fat-tree-1024-tapered-50", 17.53},
                                                          {"fat-tree-16384-tapered-50", 418.75},
                                                          {"fat-tree-1024-tapered-75", 13.03},
                                                          {"fat-tree-16384-tapered-75", 270.48},
                                                          {"hx1mesh-1024", 10.824},
                                                          {"hx1mesh-16384", 448.233},
                                                          {"hx2mesh-1024", 5.412},
                                                          {"hx2mesh-16384", 224.117},
                                                          {"hx4mesh-1024", 2.706},
                                                          {"hx4mesh-16384", 43.295},
                                                          {"torus-1024", 2.470},
                                                          {"torus-16384", 39.518}};
  for (const auto& [name, millions] : table) {
    INFO(name);
    CHECK(cost(name) / 1e6 == Approx(millions).epsilon(0.002));
  }
  // Fat tree of 1,024 by hand, one plane: 32 leaves, 16 spines, 1,024 cables down and as many up.
  CHECK(cost("fat-tree-1024") == Approx(16.0 * (48.0 * 14280.0 + 1024.0 * 272.0 + 1024.0 * 603.0)).epsilon(1e-12));
  // Hx2Mesh: 64 lines of 32 ends, two of them on a switch; 1,024 ends along rows, as many along columns.
  CHECK(cost("hx2mesh-1024") == Approx(4.0 * (32.0 * 14280.0 + 1024.0 * 272.0 + 1024.0 * 603.0)).epsilon(1e-12));
  // Torus: half of 2 x 1,024 links stay on boards.
  CHECK(cost("torus-1024") == Approx(4.0 * 1024.0 * 603.0).epsilon(1e-12));
}

TEST_CASE("What comes with nodes or has no product is said, not guessed", "[topology]") {
  const PriceList prices = load_prices(shipped(), "hammingmesh-2022");
  const Network big = network("kind: star, size: 100, bandwidth: 10 GB/s, latency: 1 us");
  const Bill unknown = bill(*big.topology, prices);
  CHECK_FALSE(unknown.usd.has_value());
  REQUIRE(unknown.remarks.size() == 1);
  CHECK(unknown.remarks[0].find("64 ports") != std::string::npos);
  const Network node = network("kind: nvswitch, size: 8, bandwidth: 450 GB/s, latency: 1 us");
  const Bill included = bill(*node.topology, prices);
  CHECK(included.usd == 0.0);
  CHECK(included.remarks.size() == 1);
}
