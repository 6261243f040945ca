// What networks are made of, against their graphs, and what it costs.
#include <algorithm>
#include <map>
#include <set>

#include "cairn/topology/prices.h"
#include "catch.h"
#include "topology/networks.h"
#include "topology/random_networks.h"

using namespace cairn::topology;
using cairn::core::Random;
using cairn::topology_tests::key;
using cairn::topology_tests::network;
using cairn::topology_tests::network_of_file;
using cairn::topology_tests::pick;
using cairn::topology_tests::random_keys;
using cairn::topology_tests::shipped;

namespace {

// Counted link by link; a cable is a link each way and has a switch at one end, or leads from board to board.
struct Counted {
  std::set<NodeId> switches;
  std::int64_t cables = 0;
  std::map<NodeId, std::int64_t> ports;
};
Counted count(const Topology& graph, bool boards) {
  Counted counted;
  for (LinkId id = 0; id < graph.links(); ++id) {
    const Link link = graph.link(id);
    if (link.bandwidth <= 0.0) continue;
    const bool from_switch = link.from >= graph.endpoints(), to_switch = link.to >= graph.endpoints();
    if (boards && !from_switch && !to_switch) continue;
    ++counted.cables;
    if (from_switch) ++counted.ports[link.from];
    for (const NodeId end : {link.from, link.to})
      if (end >= graph.endpoints()) counted.switches.insert(end);
  }
  CHECK(counted.cables % 2 == 0);
  counted.cables /= 2;
  return counted;
}

std::int64_t total(const Inventory& inventory) {
  std::int64_t switches = 0;
  for (const SwitchStage& stage : inventory.stages) switches += stage.count;
  return switches;
}
std::int64_t most_ports(const Inventory& inventory) {
  std::int64_t most = 0;
  for (const SwitchStage& stage : inventory.stages) most = std::max(most, stage.ports);
  return most;
}
std::int64_t inner_cables(const Inventory& inventory) {
  std::int64_t cables = 0;
  for (const SwitchStage& stage : inventory.stages) cables += stage.inner_cables;
  return cables;
}
bool alone(const Inventory& inventory) {
  return std::all_of(inventory.stages.begin(), inventory.stages.end(),
                     [](const SwitchStage& stage) { return stage.packing == Packing::alone; });
}

void check(const Network& net) {
  const CompositeLevel& level = net.topology->levels().back();
  const auto inventory = level.network->inventory(1);
  REQUIRE(inventory.has_value());
  const Counted counted = count(*level.network, level.shape->name() == "hammingmesh");
  CHECK(total(*inventory) == static_cast<std::int64_t>(counted.switches.size()));
  CHECK(total(*inventory) == level.network->switches());
  CHECK(inventory->short_cables + inventory->long_cables + inner_cables(*inventory) == counted.cables);
  std::int64_t busiest = 0;
  for (const auto& [node, ports] : counted.ports) busiest = std::max(busiest, ports);
  CHECK(most_ports(*inventory) >= busiest);

  // Of switches that have as many ports as the largest of the network: one for each, but for those that may share.
  PriceList prices;
  prices.switch_ports = std::max<std::int64_t>(2, most_ports(*inventory));
  const Bill bought = bill(*net.topology, prices);
  REQUIRE(bought.usd.has_value());
  CHECK(bought.switches <= total(*inventory));
  if (alone(*inventory)) CHECK(bought.switches == total(*inventory));
  // A last, partly filled pod of a tree needs less inside the core than the graph has.
  CHECK(bought.short_cables + bought.long_cables <= counted.cables);
  CHECK(bought.short_cables + bought.long_cables >= counted.cables - inner_cables(*inventory));
  if (inner_cables(*inventory) > 0) return;
  CHECK(bought.short_cables + bought.long_cables == counted.cables);
  std::int64_t ports = 0;
  for (const auto& [node, used] : counted.ports) ports += used;
  CHECK(bought.switches * prices.switch_ports >= ports);
}

std::string machine(const std::string& inter, std::int64_t nodes) {
  return "version: 1\nname: test\naccelerator: h100-sxm5-80gb\nnodes: " + std::to_string(nodes) +
         "\ngpus_per_node: 8\nintra: {kind: nvswitch, bandwidth: 450 GB/s, latency: 1 us}\ninter: {" + inter + "}\n";
}

const CompositeLevel& fabric(const Network& net) { return net.topology->levels().back(); }

}  // namespace

TEST_CASE("The inventory of every kind is what its graph holds", "[topology][property]") {
  Random random(1);
  for (const std::string kind : {"star", "fat-tree", "dragonfly", "torus", "mesh", "hyperx", "hammingmesh"}) {
    for (int trial = 0; trial < 40; ++trial) {
      const std::string keys = random_keys(kind, random);
      INFO(keys);
      const Network net = network(keys);
      if (kind == "dragonfly") {
        // Global ports may stay empty, and so may hosts of the last group: the rest is counted.
        const auto inventory = fabric(net).network->inventory(1);
        const Counted counted = count(*fabric(net).network, false);
        CHECK(total(*inventory) == fabric(net).network->switches());
        CHECK(inventory->short_cables + inventory->long_cables == counted.cables);
        continue;
      }
      check(net);
    }
  }
}

TEST_CASE("The inventory of rails and of leaves under nodes is what their graph holds", "[topology][property]") {
  Random random(2);
  for (int trial = 0; trial < 60; ++trial) {
    const std::int64_t nodes = pick(random, 2, 40);
    std::string keys = "bandwidth: 50 GB/s, latency: 5 us, " + key("nics_per_node", pick(random, 1, 8)) +
                       key("oversubscription", pick(random, 1, 3));
    keys += trial % 2 == 0 ? "kind: rail-optimized, pod: " + std::to_string(pick(random, 1, nodes)) : "kind: fat-tree";
    INFO(nodes << " nodes, " << keys);
    check(network_of_file(machine(keys, nodes)));
  }
}

TEST_CASE("Uplinks of a leaf carry what the oversubscription leaves", "[topology][property]") {
  Random random(3);
  for (int trial = 0; trial < 100; ++trial) {
    const std::int64_t leaf = pick(random, 1, 24);
    const double over = static_cast<double>(pick(random, 10, 60)) / 10.0;
    const Network net = network("kind: fat-tree, bandwidth: 12 GB/s, hop_latency: 1 us, size: 200, " +
                                key("leaf", leaf) + "oversubscription: " + std::to_string(over));
    const Topology& graph = *fabric(net).network;
    double down = 0.0, up = 0.0;
    const NodeId first = graph.endpoints();
    for (LinkId id = 0; id < graph.links(); ++id) {
      const Link link = graph.link(id);
      if (link.to == first && link.from < first) down += link.bandwidth;
      if (link.from != first || link.to < first) continue;
      up += link.bandwidth;
      CHECK(link.bandwidth <= 12e9 * (1.0 + 1e-9));
    }
    INFO(leaf << " under a leaf, " << over << " to 1");
    CHECK(up * over == Approx(down).epsilon(1e-12));
  }
}

TEST_CASE("A cluster of 32 nodes with half the uplinks", "[topology]") {
  // Every node is a leaf: 8 ports of 200 Gb/s down, 4 up. Four ways up to a core, each with a port for 32 leaves; on
  // switches of 64 ports two of them share one.
  const Network net = network_of_file(
      machine("kind: fat-tree, nics_per_node: 8, bandwidth: 200 Gb/s, latency: 5 us, oversubscription: 2", 32));
  CHECK(fabric(net).network->switches() == 32 + 4);
  const Bill bought = bill(*net.topology, load_prices(shipped(), "hammingmesh-2022"));
  CHECK(bought.switches == 32 + 2);
  CHECK(bought.short_cables == 256);
  CHECK(bought.long_cables == 32 * 4);
}

TEST_CASE("Rails of a DGX H100: the bill holds the network's switches", "[topology]") {
  const auto loader = shipped();
  const PriceList prices = load_prices(loader, "hammingmesh-2022");
  // One pod: a leaf switch for each of 8 rails. Two pods: 16 leaves of 32 ports down and 32 up, 512 / 64 spines.
  const Network one = cairn::hardware::load_network(loader, "dgx-h100", {"nodes=32"}),
                two = cairn::hardware::load_network(loader, "dgx-h100", {"nodes=64"});
  CHECK(fabric(one).network->switches() == 8);
  CHECK(bill(*one.topology, prices).switches == 8);
  CHECK(fabric(two).network->switches() == 16 + 8);
  CHECK(bill(*two.topology, prices).switches == 16 + 8);
  CHECK(bill(*two.topology, prices).long_cables == 512);
}
