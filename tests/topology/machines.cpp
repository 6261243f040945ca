// Levels composed: routes through nodes and fabrics, and the limits of the whole.
#include "cairn/topology/survey.h"
#include "catch.h"
#include "topology/networks.h"

using namespace cairn::topology;
using cairn::topology_tests::network_of_file;
using cairn::topology_tests::shipped;

namespace {

std::string machine(const std::string& intra, const std::string& inter, int nodes, int gpus) {
  return "version: 1\nname: test\naccelerator: h100-sxm5-80gb\nnodes: " + std::to_string(nodes) +
         "\ngpus_per_node: " + std::to_string(gpus) + "\nintra: {" + intra + "}\ninter: {" + inter + "}\n";
}

void check_routes(const Topology& topology) {
  std::vector<LinkId> route;
  for (NodeId from = 0; from < topology.endpoints(); ++from)
    for (NodeId to = 0; to < topology.endpoints(); ++to) {
      if (from == to) continue;
      route.clear();
      topology.route(from, to, route);
      NodeId at = from;
      bool contiguous = true;
      for (const LinkId id : route) {
        const Link link = topology.link(id);
        contiguous = contiguous && link.from == at && link.bandwidth > 0.0;
        at = link.to;
      }
      if (!contiguous || at != to) FAIL_CHECK(from << " to " << to);
    }
}

double routed(const Topology& topology) {
  Limits limits = topology.limits();
  limits.alltoall_load = survey(topology).alltoall_load;
  return alltoall_fraction(limits, topology.endpoints());
}

const std::string k_switch = "kind: nvswitch, bandwidth: 450 GB/s, latency: 1 us";

}  // namespace

TEST_CASE("A DGX H100 pod: rails through the node, then over the fabric", "[topology]") {
  const Network net = network_of_file(
      machine(k_switch, "kind: rail-optimized, nics_per_node: 8, bandwidth: 50 GB/s, latency: 5 us, pod: 2", 4, 8));
  const Topology& topology = *net.topology;
  CHECK(topology.endpoints() == 32);
  // 4 node switches; 2 pods x 8 rails of leaves, 2 uplinks each to 2 spines.
  CHECK(topology.switches() == 4 + 16 + 2);
  check_routes(topology);
  const Limits limits = topology.limits();
  // Accelerator 0 to 9: inside the node to 1, up to rail 1's leaf and down: 4 links. To 25, another pod: 2 + 4.
  std::vector<LinkId> route;
  topology.route(0, 9, route);
  CHECK(route.size() == 4);
  CHECK(topology.link(route[0]).from == 0);
  CHECK(topology.link(route[1]).to == 1);
  CHECK(topology.link(route[2]).from == 1);
  CHECK(limits.diameter == 6);
  CHECK(limits.injection == Approx(450e9));
  CHECK(limits.bisection_fraction == Approx(50.0 / 450.0));
  // Each accelerator sends to 24 in other nodes at 50 GB/s.
  CHECK(limits.alltoall_load == Approx(24.0 / 50e9));
  CHECK(routed(topology) == Approx(alltoall_fraction(limits, 32)));
  // All-reduce: 8 NICs of a node against 450 GB/s of an accelerator.
  CHECK(allreduce_fraction(limits, 32) == Approx(32.0 / 62.0 * 400.0 / 450.0));
  CHECK(topology.deadlock_free());
}

TEST_CASE("Rails with half the uplinks", "[topology]") {
  const Network net = network_of_file(machine(
      k_switch,
      "kind: rail-optimized, nics_per_node: 2, bandwidth: 50 GB/s, latency: 5 us, pod: 4, oversubscription: 2", 8, 2));
  const Limits limits = net.topology->limits();
  CHECK(limits.bisection_fraction == Approx(0.5 * 50.0 / 450.0));
  // A leaf joins 4 NICs, each with the traffic of 2 accelerators to the 4 nodes of the other pod, over 2 uplinks:
  // 4 x 2 x 4 / 2 = 16, above the 2 x 7 of a NIC.
  CHECK(limits.alltoall_load == Approx(16.0 / 50e9));
  CHECK(routed(*net.topology) == Approx(alltoall_fraction(limits, 16)));
  check_routes(*net.topology);
}

TEST_CASE("Rail-only has no spine, and shares NICs where there are fewer", "[topology]") {
  const Network rails =
      network_of_file(machine(k_switch, "kind: rail-only, nics_per_node: 4, bandwidth: 50 GB/s, latency: 5 us", 3, 4));
  CHECK(rails.topology->switches() == 3 + 4);
  check_routes(*rails.topology);
  CHECK(routed(*rails.topology) == Approx(alltoall_fraction(rails.topology->limits(), 12)));

  // 4 NICs for 8 accelerators: two share one, 2 x (16 - 8) pairs each way.
  const Network shared = network_of_file(
      machine(k_switch, "kind: fat-tree, nics_per_node: 4, leaf: 4, bandwidth: 12.5 GB/s, latency: 15 us", 2, 8));
  check_routes(*shared.topology);
  CHECK(shared.topology->limits().alltoall_load == Approx(2.0 * 8.0 / 12.5e9));
  CHECK(routed(*shared.topology) == Approx(alltoall_fraction(shared.topology->limits(), 16)));
  // 32 NICs for 8: four make one port of 50 GB/s.
  const Network many = network_of_file(
      machine(k_switch, "kind: fat-tree, nics_per_node: 32, bandwidth: 12.5 GB/s, latency: 15 us", 2, 8));
  check_routes(*many.topology);
  CHECK(many.topology->limits().alltoall_load == Approx(8.0 / 50e9));
}

TEST_CASE("Nodes on a torus enter it as a whole", "[topology]") {
  const Network net = network_of_file(
      machine(k_switch, "kind: torus, dims: [3, 3], nics_per_node: 4, bandwidth: 25 GB/s, hop_latency: 1 us", 9, 4));
  check_routes(*net.topology);
  // Four ports of 25 GB/s; load 9 (9 - 1) / (8 x 3) = 3 node pairs a link, 16 accelerator pairs each.
  CHECK(net.topology->limits().alltoall_load == Approx(3.0 * 16.0 / 25e9));
  CHECK(routed(*net.topology) == Approx(alltoall_fraction(net.topology->limits(), 36)));
  CHECK(net.topology->limits().diameter == 2 + 2);
}

TEST_CASE("PCIe switches with bridges between neighbours", "[topology]") {
  const Network net = network_of_file(
      "version: 1\nname: test\naccelerator: a100-pcie-80gb\ngpus_per_node: 8\nintra: {kind: pcie-tree, switches: 2, "
      "bandwidth: 25 GB/s, "
      "latency: 2 us, pairs: {bandwidth: 300 GB/s, latency: 1 us}}\n");
  check_routes(*net.topology);
  std::vector<LinkId> route;
  net.topology->route(4, 5, route);
  CHECK(route.size() == 1);
  route.clear();
  net.topology->route(3, 4, route);
  CHECK(route.size() == 4);
}

TEST_CASE("Every shipped cluster and network can be built", "[topology]") {
  const auto loader = shipped();
  for (const std::string& name : loader.names("topologies")) {
    INFO(name);
    const Network net = cairn::hardware::load_network(loader, name);
    CHECK_FALSE(net.name.empty());
    const Limits limits = net.topology->limits();
    CHECK(limits.bisection_fraction > 0.0);
    CHECK(limits.bisection_fraction <= 1.0);
    CHECK(alltoall_fraction(limits, net.topology->endpoints()) > 0.0);
  }
  for (const std::string& name : loader.names("clusters")) {
    INFO(name);
    const bool single = name == "workstation-4x-a100-pcie" || name == "pcie-8x-l20";
    const Network net = cairn::hardware::load_network(
        loader, name, single ? std::vector<std::string>{} : std::vector<std::string>{"nodes=36"});
    check_routes(*net.topology);
    CHECK(routed(*net.topology) > 0.0);
  }
}
