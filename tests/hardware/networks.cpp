// Levels and derived bandwidths, by hand.
#include <string>
#include <utility>

#include "catch.h"
#include "hardware/support.h"

namespace cairn::hardware {
namespace {

double gigabytes(core::BytesPerSecond rate) { return rate / core::k_gigabyte_per_second; }
double microseconds(core::Seconds time) { return time / core::k_microsecond; }

Network network_of(std::string_view cluster) {
  core::Diagnostics diagnostics;
  Machine machine = read_machine(test::shipped(), test::parse(cluster), {}, diagnostics);
  diagnostics.raise_if_errors();
  return machine.network;
}

}  // namespace

TEST_CASE("64 DGX H100", "[hardware][network]") {
  const Network net = network_of("{file: dgx-h100, nodes: 64}");
  CHECK(net.gpus() == 512);
  CHECK(net.nodes == 64);
  REQUIRE(net.levels.size() == 2);
  CHECK(net.levels[0].domain == 8);
  CHECK(net.levels[0].unit == 1);
  CHECK(gigabytes(net.levels[0].gpu_bandwidth()) == Approx(450));
  CHECK(microseconds(net.levels[0].latency) == Approx(0.6));
  // 400 Gb/s = 50 GB/s per NIC; eight of them 400 GB/s per node, 50 GB/s per GPU.
  CHECK(net.levels[1].unit == 8);
  CHECK(net.levels[1].size == 64);
  CHECK(gigabytes(net.levels[1].nic_bandwidth) == Approx(50));
  CHECK(gigabytes(net.levels[1].unit_bandwidth()) == Approx(400));
  CHECK(gigabytes(net.levels[1].gpu_bandwidth()) == Approx(50));
  CHECK(net.levels[1].oversubscription == 1.0);
  CHECK(net.levels[1].fabric == "infiniband");
}

TEST_CASE("bandwidths of the shipped clusters", "[hardware][network]") {
  const config::Loader loader = test::shipped();
  struct Row {
    const char* name;
    double intra, node, gpu;  // GB/s per GPU inside, per node outside, per GPU outside
  };
  // p4d: 4 x 100 Gb/s = 50 GB/s per node, 6.25 per GPU. p5: 32 x 12.5 = 400, 50. A100: 8 x 25 = 200, 25.
  for (const Row& row : {Row{"dgx-a100", 300, 200, 25}, Row{"dgx-h100", 450, 400, 50}, Row{"aws-p4d", 300, 50, 6.25},
                         Row{"aws-p5", 450, 400, 50}, Row{"hgx-h800", 200, 400, 50}, Row{"hgx-a800", 200, 200, 25},
                         Row{"dgx-b200", 900, 400, 50}}) {
    CAPTURE(row.name);
    const Network net = load_machine(loader, row.name).network;
    CHECK(gigabytes(net.levels[0].gpu_bandwidth()) == Approx(row.intra));
    CHECK(gigabytes(net.levels[1].unit_bandwidth()) == Approx(row.node));
    CHECK(gigabytes(net.levels[1].gpu_bandwidth()) == Approx(row.gpu));
  }
}

TEST_CASE("one GPU per node needs no network inside", "[hardware][network]") {
  const Network net = network_of("{file: piz-daint, nodes: 2048}");
  REQUIRE(net.levels.size() == 1);
  CHECK(net.gpus() == 2048);
  CHECK(net.levels[0].unit == 1);
  CHECK(gigabytes(net.levels[0].gpu_bandwidth()) == Approx(10));
}

TEST_CASE("a domain is joined by links of accelerators, not by adapters of nodes", "[hardware][network]") {
  struct Row {
    const char* cluster;
    std::int64_t domain;
    std::size_t beyond;  // networks that join domains
  };
  for (const Row& row :
       {Row{"{file: dgx-h100, nodes: 64}", 8, 1}, Row{"{file: gb200-nvl72, nodes: 36}", 72, 1},
        Row{"{file: workstation-4x-a100-pcie, intra: {pairs: {bandwidth: 300 GB/s, latency: 0.6 us}}}", 2, 1},
        // Nodes of one accelerator: the network leads from node to node, whether or not the file says what joins one.
        Row{"{file: piz-daint, nodes: 64}", 1, 1},
        Row{"{file: piz-daint, nodes: 64, intra: {kind: star, bandwidth: 10 GB/s, latency: 1 us}}", 1, 1},
        Row{"{name: t, accelerator: h100-sxm5-80gb, gpus_per_node: 1, levels: "
            "[{kind: star, size: 8, bandwidth: 50 GB/s, latency: 5 us}, "
            "{kind: star, size: 4, bandwidth: 50 GB/s, latency: 5 us}]}",
            1, 2},
        // Hosts of one accelerator each in a rack of NVLink.
        Row{"{name: t, accelerator: h100-sxm5-80gb, gpus_per_node: 1, levels: "
            "[{kind: nvswitch, size: 32, bandwidth: 450 GB/s, latency: 0.6 us}, "
            "{kind: star, size: 4, bandwidth: 1600 GB/s, latency: 5 us}]}",
            32, 1},
        // Two accelerators under one host, any of them on the torus by itself.
        Row{"{name: t, accelerator: h100-sxm5-80gb, gpus_per_node: 2, levels: "
            "[{kind: torus, dims: [4, 4], size: 16, bandwidth: 50 GB/s, latency: 1 us}]}",
            16, 0}}) {
    CAPTURE(row.cluster);
    const Network net = network_of(row.cluster);
    CHECK(net.domain() == row.domain);
    CHECK(net.beyond().size() == row.beyond);
  }
}

TEST_CASE("the general form: a rack of 72 with hosts of 4", "[hardware][network]") {
  const Network net = network_of("{file: gb200-nvl72, nodes: 144}");  // trays: 576 GPUs, eight racks
  CHECK(net.gpus() == 576);
  CHECK(net.gpus_per_node == 4);
  CHECK(net.levels[0].domain == 72);
  CHECK(net.levels[1].size == 8);
  CHECK(gigabytes(net.levels[1].unit_bandwidth()) == Approx(72 * 50));
  CHECK(gigabytes(net.levels[1].gpu_bandwidth()) == Approx(50));
  CHECK(test::complaints("{file: gb200-nvl72, nodes: 20}").find("do not fill units of 72") != std::string::npos);
}

TEST_CASE("what a few of a node's accelerators send out of it goes by their own ports", "[hardware][network]") {
  const auto rate = [](const char* adapters, std::int64_t senders) {
    return gigabytes(network_of("{file: dgx-h100, nodes: 2, inter: {bandwidth: 50 GB/s, nics_per_node: " +
                                std::string(adapters) + "}}")
                         .levels[1]
                         .rate_of(senders));
  };
  // Two for eight: neighbours share one until all of its four send, then the others join in by the other.
  for (const auto& [senders, expected] :
       {std::pair{1, 50.0}, std::pair{2, 25.0}, std::pair{4, 12.5}, std::pair{6, 12.5}, std::pair{8, 12.5}})
    CHECK(rate("2", senders) == Approx(expected));
  for (const std::int64_t senders : {1, 4, 8}) {
    CHECK(rate("8", senders) == Approx(50.0));
    CHECK(rate("16", senders) == Approx(100.0));
  }
  // Three for eight: all together have a share of all three.
  CHECK(rate("3", 1) == Approx(50.0));
  CHECK(rate("3", 8) == Approx(150.0 / 8));
}

TEST_CASE("bridges between neighbours become a level of pairs", "[hardware][network]") {
  const Network net =
      network_of("{file: workstation-4x-a100-pcie, intra: {pairs: {bandwidth: 300 GB/s, latency: 0.6 us}}}");
  REQUIRE(net.levels.size() == 2);
  CHECK(net.levels[0].domain == 2);
  CHECK(gigabytes(net.levels[0].gpu_bandwidth()) == Approx(300));
  CHECK(net.levels[1].domain == 4);
  CHECK(gigabytes(net.levels[1].gpu_bandwidth()) == Approx(25));  // two links of 25 for a pair
  CHECK(gigabytes(net.levels[1].unit_bandwidth()) == Approx(50));
  const char* trees =
      "{name: t, accelerator: l20-48gb, gpus_per_node: 2, nodes: 2, intra: {kind: nvswitch, bandwidth: 9 GB/s, "
      "latency: 1 us}, "
      "inter: {kind: pcie-tree, bandwidth: 9 GB/s, latency: 1 us, pairs: {bandwidth: 9 GB/s, latency: 1 us}}}";
  CHECK(test::complaints(trees).find("inter.pairs: direct links join accelerators") != std::string::npos);
}

TEST_CASE("switches of a PCIe tree share the way to the root complex", "[hardware][network]") {
  const Network server = network_of("{file: pcie-8x-l20}");
  REQUIRE(server.levels.size() == 1);
  CHECK(server.levels[0].domain == 8);
  CHECK(server.levels[0].switch_domain() == 4);
  CHECK(gigabytes(server.levels[0].gpu_bandwidth()) == Approx(25));
  CHECK(gigabytes(server.levels[0].uplink_share(4)) == Approx(25.0 / 4));  // by default one more link like the others
  CHECK(gigabytes(network_of("{file: pcie-8x-l20, intra: {switches: 4, uplink: 20 GB/s}}").levels[0].uplink_share(2)) ==
        Approx(10));
  CHECK(
      test::complaints("{file: pcie-8x-l20, intra: {switches: 1, uplink: 20 GB/s}}").find("fewer than two switches") !=
      std::string::npos);
  CHECK(test::complaints("{file: pcie-8x-l20, intra: {switches: 3}}").find("do not spread evenly") !=
        std::string::npos);
  CHECK(test::complaints("{file: dgx-h100, intra: {uplink: 20 GB/s}}").find("kind 'nvswitch' has no such key") !=
        std::string::npos);
}

TEST_CASE("hop latency is summed over the longest route", "[hardware][network]") {
  // A 4 x 4 x 4 torus: at most 2 + 2 + 2 = 6 links. A mesh of the same: 9. Two-level fat tree: 4.
  const std::string head = "{name: t, accelerator: a100-sxm4-80gb, gpus_per_node: 1, nodes: 64, inter: ";
  CHECK(microseconds(network_of(head + "{kind: torus, dims: [4, 4, 4], bandwidth: 50 GB/s, hop_latency: 0.5 us}}")
                         .levels[0]
                         .latency) == Approx(3.0));
  CHECK(microseconds(network_of(head + "{kind: mesh, dims: [4, 4, 4], bandwidth: 50 GB/s, hop_latency: 0.5 us}}")
                         .levels[0]
                         .latency) == Approx(4.5));
  CHECK(microseconds(network_of(head + "{kind: fat-tree, leaf: 16, bandwidth: 50 GB/s, hop_latency: 0.5 us}}")
                         .levels[0]
                         .latency) == Approx(2.0));
  CHECK(test::complaints(head + "{kind: graph, file: g.txt, bandwidth: 50 GB/s, hop_latency: 0.5 us}}")
            .find("no closed form") != std::string::npos);
}

TEST_CASE("every kind is read with its keys", "[hardware][network]") {
  const std::string head =
      "{name: t, accelerator: a100-sxm4-80gb, gpus_per_node: 1, nodes: 64, inter: {bandwidth: 50 GB/s, latency: 1 us, ";
  for (const char* level : {"kind: nvswitch", "kind: pcie-tree, switches: 4", "kind: hybrid-cube-mesh", "kind: star",
                            "kind: fat-tree", "kind: fat-tree, radix: 16, levels: 2, oversubscription: 2",
                            "kind: rail-optimized, nics_per_node: 2, pod: 16", "kind: rail-only, nics_per_node: 1",
                            "kind: dragonfly, routers_per_group: 8, hosts_per_router: 4, global_links: 4",
                            "kind: torus, dims: [8, 8]", "kind: mesh, dims: [64]", "kind: hyperx, dims: [4, 4, 4]",
                            "kind: hammingmesh, a: 2, b: 2, x: 4, y: 4, planes: 1", "kind: graph, file: net.txt"}) {
    CAPTURE(level);
    CHECK(test::complaints(head + level + "}}") == "");
  }
}

TEST_CASE("what can be wrong in a cluster file", "[hardware][network]") {
  const std::string head = "name: t\naccelerator: a100-sxm4-80gb\ngpus_per_node: 8\nnodes: 2\n";
  const std::string intra = "intra: {kind: nvswitch, bandwidth: 300 GB/s, latency: 1 us}\n";
  const auto has = [](const std::string& text, std::string_view part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  has(test::complaints(head + intra), "error: inter: missing: 2 nodes");
  has(test::complaints(head + intra + "inter: {kind: star, bandwdith: 1 GB/s, latency: 1 us}\n"),
      "test.yaml:6:21: error: inter.bandwdith: unknown key (did you mean 'bandwidth'?)");
  has(test::complaints(head + intra + "inter: {kind: star, bandwidth: 400, latency: 1 us}\n"),
      "test.yaml:6:32: error: inter.bandwidth");
  has(test::complaints(head + intra + "inter: {kind: star, bandwidth: 400 GB, latency: 1 us}\n"), "inter.bandwidth");
  has(test::complaints(head + intra + "inter: {kind: star, bandwidth: 400 Gb/s, latency: 1 GB}\n"), "inter.latency");
  has(test::complaints(head + intra + "inter: {kind: star, bandwidth: 0 Gb/s, latency: 1 us}\n"), "inter.bandwidth");
  has(test::complaints(head + intra + "inter: {kind: fat-trea, bandwidth: 1 GB/s, latency: 1 us}\n"),
      "did you mean 'fat-tree'?");
  has(test::complaints(head + intra + "inter: {kind: star, bandwidth: 1 GB/s, latency: 1 us, radix: 4}\n"),
      "inter.radix: kind 'star' has no such key");
  has(test::complaints(head + intra + "inter: {kind: torus, bandwidth: 1 GB/s, latency: 1 us}\n"),
      "inter.dims: kind 'torus' needs this key");
  has(test::complaints(head + intra + "inter: {kind: torus, dims: [3], bandwidth: 1 GB/s, latency: 1 us}\n"),
      "error: inter.dims: dims have 3 points, the level joins 2");
  has(test::complaints(head + intra + "inter: {kind: star, bandwidth: 1 GB/s}\n"),
      "give either latency or hop_latency; usual latencies: 0.6 us over NVLink, 1.9 us over PCIe, 5 us over "
      "InfiniBand");
  has(test::complaints(head + intra + "inter: {kind: star, bandwidth: 1 GB/s, latency: 1 us, hop_latency: 1 us}\n"),
      "given beside hop_latency");
  has(test::complaints(head + "levels: [{kind: star, size: 16, bandwidth: 1 GB/s, latency: 1 us}]\n" + intra),
      "levels: given beside intra or inter");
  has(test::complaints(head + "levels: [{kind: star, size: 24, bandwidth: 1 GB/s, latency: 1 us}]\n"),
      "nodes: 2 nodes given, the levels make 3");
  has(test::complaints(head), "levels: no network");
  has(test::complaints(
          head + intra +
          "inter: {kind: star, bandwidth: 1 GB/s, latency: 1 us}\ngroups: [{count: 2, accelerator: h100-sxm5-80gb}]\n"),
      "a mixed cluster runs no single plan");
  has(test::complaints("name: t\naccelerator: a100-sxm4-80gbb\ngpus_per_node: 8\n" + intra),
      "did you mean 'a100-sxm4-80gb'?");
  has(test::complaints("{file: dgx-h100, nodes: 0}"), "nodes");
  has(test::complaints(
          head + intra +
          "inter: {kind: hammingmesh, a: 1000000000, b: 1000000000, x: 1000000000, y: 3, bandwidth: 1 GB/s, "
          "latency: 1 us}\n"),
      "a b x y is not the size 2");
}

}  // namespace cairn::hardware
