// Graphs of their own: from YAML and from NCCL's XML, and what can be wrong with them.
#include "cairn/config/read.h"
#include "cairn/topology/nccl.h"
#include "cairn/topology/survey.h"
#include "catch.h"
#include "topology/networks.h"

using namespace cairn::topology;
using cairn::topology_tests::network;
using cairn::topology_tests::network_of_file;
using cairn::topology_tests::shipped;

namespace {

void refused(const std::string& text, const std::string& place, const std::string& words) {
  INFO(text);
  try {
    network_of_file(text);
    FAIL_CHECK("accepted");
  } catch (const cairn::core::ConfigurationError& error) {
    INFO(error.what());
    CHECK(std::string(error.what()).find(place) != std::string::npos);
    CHECK(std::string(error.what()).find(words) != std::string::npos);
  }
}

const std::string k_head = "version: 1\nname: test\nendpoints: [a, b, c, d]\nswitches: [s, t]\nlinks:\n";
std::string cable(const std::string& from, const std::string& to, const std::string& rest = "") {
  return "  - {from: " + from + ", to: " + to + ", bandwidth: 10 GB/s, latency: 1 us" + rest + "}\n";
}

const char* const k_machine = R"(<?xml version="1.0"?>
<system version="1">
  <cpu numaid="0" affinity="ff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="106">
    <pci busid="0000:0f:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0000:10:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="80" rank="0" gdr="1"><nvlink target="0000:20:00.0" count="4" tclass="0x030200"/></gpu>
      </pci>
      <pci busid="0000:12:00.0" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="8">
        <nic><net name="mlx5_0" dev="0" speed="200000" port="1"/></nic>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="106">
    <pci busid="0000:20:00.0" class="0x030200" link_speed="8.0 GT/s PCIe" link_width="16">
      <gpu dev="1" sm="80" rank="1" gdr="1"><nvlink target="0000:10:00.0" count="4" tclass="0x030200"/></gpu>
    </pci>
    <pci busid="0000:30:00.0" class="0x030200" link_speed="5 GT/s" link_width="16">
      <gpu dev="2" sm="80" rank="2" gdr="1"/>
    </pci>
  </cpu>
</system>
)";

}  // namespace

TEST_CASE("A graph of two pairs joined by one cable", "[topology]") {
  const Network net =
      network_of_file(k_head + cable("a", "s") + cable("b", "s") + cable("c", "t") + cable("d", "t") + cable("s", "t"));
  const Limits limits = net.topology->limits();
  CHECK(limits.diameter == 3);
  CHECK(limits.injection == Approx(10e9));
  // The cable carries 10 of the 20 GB/s that two endpoints inject; 2 x 2 pairs cross it each way.
  CHECK(limits.bisection_fraction == Approx(0.5));
  CHECK(limits.alltoall_load == Approx(4.0 / 10e9));
  CHECK(limits.narrowest_cut == Approx(10e9));
  CHECK(net.topology->node_name(0) == "a");
  CHECK(net.topology->node_name(5) == "t");
}

TEST_CASE("Equal ways are shared by destination", "[topology]") {
  // Two leaves of two, two spines, all cables alike: a full tree, which loses nothing.
  std::string text = "version: 1\nname: tree\nendpoints: [a, b, c, d]\nswitches: [s, t, x, y]\nlinks:\n" +
                     cable("a", "s") + cable("b", "s") + cable("c", "t") + cable("d", "t");
  for (const char* leaf : {"s", "t"})
    for (const char* spine : {"x", "y"}) text += cable(leaf, spine);
  const Network net = network_of_file(text);
  CHECK(net.topology->limits().bisection_fraction == Approx(1.0));
  CHECK(net.topology->limits().alltoall_load == Approx(3.0 / 10e9));
  CHECK(survey(*net.topology).alltoall_load == Approx(3.0 / 10e9));
}

TEST_CASE("A wider cable is preferred among equally short ways", "[topology]") {
  const Network net =
      network_of_file("version: 1\nname: test\nendpoints: [a, b]\nswitches: [s, t]\nlinks:\n" + cable("a", "s") +
                      cable("s", "b") + "  - {from: a, to: t, bandwidth: 40 GB/s, latency: 1 us}\n" + cable("t", "b"));
  std::vector<LinkId> route;
  net.topology->route(0, 1, route);
  REQUIRE(route.size() == 2);
  CHECK(net.topology->link(route[0]).bandwidth == 40e9);
}

TEST_CASE("Wrong graphs are refused at their place", "[topology]") {
  refused(k_head + cable("a", "s") + cable("b", "s") + cable("c", "t") + cable("d", "t"), "test.yaml:6",
          "no way leads from 'c' to 'a'");
  refused(k_head + cable("a", "s") + cable("b", "s") + cable("c", "s") + cable("d", "s", ", one_way: true"),
          "test.yaml:6", "no way leads from 'a' to 'd'");
  refused(k_head + cable("a", "x"), "test.yaml:6", "no node is called 'x'");
  refused(k_head + cable("a", "a"), "test.yaml:6", "to itself");
  refused("version: 1\nname: test\nendpoints: [a, a]\nlinks:\n" + cable("a", "a"), "test.yaml:3", "declared twice");
  refused("version: 1\nname: test\nendpoints: [a]\nlinks: []\n", "test.yaml:3", "");
  refused(k_head + "  - {from: a, to: s, bandwidth: 0 GB/s}\n", "test.yaml:6:", "bandwidth");
}

TEST_CASE("Wrong networks are refused at their place", "[topology]") {
  const auto refused_keys = [](const std::string& keys, const std::string& place, const std::string& words) {
    INFO(keys);
    try {
      network(keys);
      FAIL_CHECK("accepted");
    } catch (const cairn::core::ConfigurationError& error) {
      INFO(error.what());
      CHECK(std::string(error.what()).find("test.yaml:1:") != std::string::npos);
      CHECK(std::string(error.what()).find(place) != std::string::npos);
      CHECK(std::string(error.what()).find(words) != std::string::npos);
    }
  };
  const std::string rest = ", bandwidth: 1 GB/s, hop_latency: 1 us";
  refused_keys("kind: tours, dims: [3]" + rest, "kind", "did you mean 'torus'");
  refused_keys("kind: torus, dims: [3, 3], bandwidth: 0 GB/s, hop_latency: 1 us", "bandwidth", "");
  refused_keys("kind: star" + rest, "size", "missing");
  refused_keys("kind: star, size: 1" + rest, "", "single accelerator");
  refused_keys("kind: torus, dims: [3, 3], size: 8" + rest, "dims", "9 points");
  refused_keys("kind: torus, dims: [1048576, 1048576]" + rest, "", "2^");
  refused_keys("kind: fat-tree, radix: 8, levels: 2, size: 100" + rest, "levels", "3");
  refused_keys("kind: fat-tree, radix: 2, size: 100" + rest, "radix", "fewer than 4");
  refused_keys("kind: fat-tree, leaf: 4, levels: 3, size: 100" + rest, "levels", "radix");
  refused_keys("kind: dragonfly, routers_per_group: 2, hosts_per_router: 2, global_links: 1, size: 100" + rest,
               "global_links", "25 groups");
  refused_keys("kind: pcie-tree, switches: 3, size: 8" + rest, "switches", "evenly");
  refused_keys("kind: hybrid-cube-mesh, size: 4" + rest, "kind", "joins 8");
  refused_keys("kind: torus, dims: [3], routing: ecmp" + rest, "routing", "no such key");
  refused_keys("kind: dragonfly, routers_per_group: 2, hosts_per_router: 2, global_links: 1, routing: ecmp" + rest,
               "routing", "valiant");
  refused_keys("kind: graph, size: 4, file: nowhere, bandwidth: 1 GB/s, latency: 1 us", "file", "nowhere");
}

TEST_CASE("NCCL's topology as a graph", "[topology][nccl]") {
  const GraphFile graph = parse_nccl(k_machine, "topo.xml", load_nccl_speeds(shipped()));
  CHECK(graph.endpoints == std::vector<std::string>{"gpu0", "gpu1", "gpu2"});
  CHECK(graph.switches == std::vector<std::string>{"cpu0", "pci 0000:0f:00", "nic 0000:12:00", "cpu1"});
  const auto bandwidth = [&](const std::string& from, const std::string& to) {
    double sum = 0.0;
    for (const GraphLink& link : graph.links)
      if ((link.from == from && link.to == to) || (!link.one_way && link.from == to && link.to == from))
        sum += link.bandwidth.base();
    return sum;
  };
  CHECK(bandwidth("gpu0", "pci 0000:0f:00") == Approx(24e9));            // Gen4 x16
  CHECK(bandwidth("nic 0000:12:00", "pci 0000:0f:00") == Approx(12e9));  // Gen4 x8
  CHECK(bandwidth("gpu1", "cpu1") == Approx(12e9));                      // Gen3 x16
  CHECK(bandwidth("gpu2", "cpu1") == Approx(6e9));                       // Gen2 x16
  CHECK(bandwidth("gpu0", "gpu1") == Approx(80e9));                      // four NVLinks of the A100
  CHECK(bandwidth("gpu1", "gpu0") == Approx(80e9));
  CHECK(bandwidth("cpu0", "cpu1") == Approx(10e9));  // Ice Lake: as Skylake

  // As text it is read back as the same network.
  const Network net = network_of_file(graph_text(graph));
  CHECK(net.topology->endpoints() == 3);
  std::vector<LinkId> route;
  net.topology->route(0, 1, route);
  CHECK(route.size() == 1);
  route.clear();
  net.topology->route(0, 2, route);
  CHECK(route.size() == 3);  // over the NVLink to gpu1, then its PCI link, and down
}

TEST_CASE("GPUs behind an NVSwitch", "[topology][nccl]") {
  std::string text =
      "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"143\" "
      "modelid=\"49\">";
  for (int i = 0; i < 4; ++i)
    text +=
        "<pci busid=\"0000:0" + std::to_string(i) +
        ":00.0\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"" + std::to_string(i) +
        "\" sm=\"90\"><nvlink target=\"0000:c0:00.0\" count=\"9\" tclass=\"0x068000\"/><nvlink target=\"0000:c1:00.0\" "
        "count=\"9\" tclass=\"0x068000\"/></gpu></pci>";
  const GraphFile graph = parse_nccl(text + "</cpu></system>", "topo.xml", load_nccl_speeds(shipped()));
  const Network net = network_of_file(graph_text(graph));
  CHECK(net.topology->endpoints() == 4);
  // 18 links of 20.6 GB/s, and the PCI link of Gen5 beside them.
  CHECK(net.topology->limits().injection == Approx(18.0 * 20.6e9 + 48e9));
  CHECK(net.topology->limits().diameter == 2);
}

TEST_CASE("Wrong XML is refused with its line", "[topology][nccl]") {
  const NcclSpeeds speeds = load_nccl_speeds(shipped());
  const auto refused_xml = [&](const std::string& text, const std::string& place, const std::string& words) {
    INFO(text.substr(0, 200));
    try {
      parse_nccl(text, "topo.xml", speeds);
      FAIL_CHECK("accepted");
    } catch (const cairn::core::ConfigurationError& error) {
      INFO(error.what());
      CHECK(std::string(error.what()).find(place) != std::string::npos);
      CHECK(std::string(error.what()).find(words) != std::string::npos);
    }
  };
  refused_xml("", "topo.xml:1:", "");
  refused_xml("<system>\n  <cpu>\n</system>\n", "topo.xml:3:", "</system> ends");
  refused_xml("<graphs></graphs>", "topo.xml:1:", "no <system>");
  refused_xml("<system><cpu arch=\"x86_64\"/></system>", "topo.xml:1:", "0 GPUs");
  refused_xml("<system><cpu arch=\"z80\"/></system>", "topo.xml:1:", "'z80'");
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  refused_xml(deep, "topo.xml:1:", "64 elements");
  const std::string text = k_machine;
  std::string lost = text;
  lost.replace(lost.find("target=\"0000:20"), 15, "target=\"0000:99");
  refused_xml(lost, "topo.xml", "no GPU here");
  std::string twice = text;
  twice.replace(twice.find("dev=\"1\""), 7, "dev=\"0\"");
  refused_xml(twice, "topo.xml", "two GPUs are dev 0");
  // Cut anywhere, it is an error, never a crash.
  for (std::size_t cut = 0; cut + 2 < text.size(); cut += 37) refused_xml(text.substr(0, cut), "topo.xml", "");
}
