// cairn topology and cairn import, as a user would ask them.
#include <fstream>

#include "cli/asked.h"

using namespace cairn::cli_tests;
using nlohmann::json;

namespace {

json topology_answer(std::vector<std::string> arguments) { return asked("topology", std::move(arguments)); }

}  // namespace

TEST_CASE("topology: figures of a HammingMesh", "[topology]") {
  // 1/(2a) = 25 %; 16/15 of it for all-to-all, without messages to oneself; P / (2 (P - 1)); 5.412 M USD.
  const json document = topology_answer({"hx2mesh-1024"});
  CHECK(document["schema"] == "cairn.topology/1");
  CHECK(document["endpoints"] == 1024);
  CHECK(document["bisection_fraction"] == 0.25);
  CHECK(document["alltoall_fraction"].get<double>() == Approx(0.25 * 16.0 / 15.0 * 1023.0 / 1024.0));
  CHECK(document["allreduce_fraction"].get<double>() == Approx(1024.0 / 2046.0));
  CHECK(document["cost_usd"].get<double>() == Approx(5.412e6).epsilon(0.002));
  CHECK(document["routed"]["alltoall_fraction"].get<double>() == Approx(document["alltoall_fraction"].get<double>()));
  CHECK(document["flows"].is_null());
  CHECK(document["bill"]["switches"] == 4 * 32);
}

TEST_CASE("topology: a cluster with its levels", "[topology]") {
  const json document = topology_answer({"dgx-h100", "--set", "nodes=64"});
  CHECK(document["endpoints"] == 512);
  CHECK(document["levels"].size() == 2);
  CHECK(document["levels"][1]["kind"] == "rail-optimized");
  CHECK(document["injection_bytes_per_s"] == 450e9);
  CHECK(document["bisection_fraction"].get<double>() == Approx(50.0 / 450.0));
  CHECK_FALSE(document["assumptions"].empty());
}

TEST_CASE("topology: several side by side", "[topology]") {
  const json document = topology_answer({"--compare", "torus-1024", "fat-tree-1024", "star-8"});
  CHECK(document["schema"] == "cairn.topology-comparison/1");
  REQUIRE(document["networks"].size() == 3);
  CHECK(document["networks"][0]["name"] == "Torus 32x32");
  const Outcome text = run({"topology", "--compare", "torus-1024", "fat-tree-1024"});
  CHECK(text.code == 0);
  CHECK(text.out.find("Torus 32x32") != std::string::npos);
  CHECK(text.out.find("2.47 M USD") != std::string::npos);
  CHECK(text.out.find("25.30 M USD") != std::string::npos);
}

TEST_CASE("topology: a collective by every algorithm", "[topology]") {
  // 8 MB among 8 over 12.5 GB/s: 14 steps of 1 MB, each behind 1 us.
  const json document = topology_answer({"star-8", "--collective", "all-reduce", "--bytes", "8MB"});
  CHECK(document["collective"]["ranks"] == 8);
  bool found = false;
  for (const json& row : document["collective"]["rows"])
    if (row["algorithm"] == "ring") {
      found = true;
      CHECK(row["time_s"].get<double>() == Approx(14 * (1e-6 + 1e6 / 12.5e9)));
      CHECK(row["messages"] == 14 * 8);
    }
  CHECK(found);
  const Outcome text =
      run({"topology", "star-8", "--collective", "all-gather", "--bytes", "8MiB", "--algorithm", "ring"});
  CHECK(text.code == 0);
  CHECK(text.out.find("all-gather of 8 MiB, 8 ranks") != std::string::npos);
  CHECK(run({"topology", "star-8", "--collective", "all-gather"}).code == 2);
  CHECK(run({"topology", "star-8", "--collective", "broadcast", "--bytes", "1GiB", "--pieces", "9223372036854775807"})
            .code == 2);
  CHECK(run({"topology", "star-8", "--bytes", "8MB"}).code == 2);
  CHECK(run({"topology", "star-8", "--ranks", "4"}).code == 2);
}

TEST_CASE("topology: flows", "[topology]") {
  // 12.5 MB take 1 ms at 12.5 GB/s, two into one endpoint 2 ms, each behind 1 us; the third waits for the first.
  const std::string flows =
      write_file("flows.csv", "src,dst,bytes,start_s,after\n0,2,12.5e6,0,\n1,2,12.5e6,0,\n3,1,12.5e6,0,1\n");
  const json document = topology_answer({"star-8", "--flows", flows});
  CHECK(document["flows"]["count"] == 3);
  CHECK(document["flows"]["sharing"] == "max-min");
  CHECK(document["flows"]["makespan_s"].get<double>() == Approx(3.002e-3));
  CHECK(document["flows"]["first_finish_s"].get<double>() == Approx(2.001e-3));
  CHECK(document["flows"]["mean_finish_s"].get<double>() == Approx((2.001e-3 * 2 + 3.002e-3) / 3));
  CHECK(topology_answer({"star-8", "--flows", flows, "--sharing", "rtt-weighted"})["flows"]["sharing"] ==
        "rtt-weighted");
  const Outcome text = run({"topology", "star-8", "--flows", flows});
  CHECK(text.out.find("makespan") != std::string::npos);
  CHECK(text.out.find("3.002 ms") != std::string::npos);

  // The end of every flow, by row; nodes of a graph by their names, amounts with units.
  const std::vector<double> ends = document["flows"]["finish_s"];
  REQUIRE(ends.size() == 3);
  CHECK(ends[0] == Approx(2.001e-3));
  CHECK(ends[2] == Approx(3.002e-3));
  const std::string pair = write_file("pair.yaml",
                                      "version: 1\nname: pair\nendpoints: [left, right]\nlinks:\n"
                                      "  - {from: left, to: right, bandwidth: 1 GB/s, latency: 0 us}\n");
  const std::string named = write_file("named.csv", "src,dst,bytes\nleft,right,2GB\nright,left,500 MB\n");
  const Outcome graph = run({"topology", pair, "--flows", named});
  INFO(graph.out << graph.err);
  CHECK(graph.code == 0);
  CHECK(graph.out.find("left           right        1.86 GiB        2.000 s") != std::string::npos);
  CHECK(topology_answer({pair, "--flows", named})["flows"]["finish_s"] == json({2.0, 0.5}));
}

TEST_CASE("topology: a network with other values has another name", "[topology]") {
  CHECK(topology_answer({"torus-1024"})["name"] == "Torus 32x32");
  CHECK(topology_answer({"torus-1024", "--set", "dims=[6, 5]"})["name"] == "torus-1024 with dims=[6, 5]");
  CHECK(topology_answer({"torus-1024", "--set", "dims=[6, 5]", "--set", "name=Torus 6x5"})["name"] == "Torus 6x5");
}

TEST_CASE("topology: pictures", "[topology]") {
  const std::string svg = scratch() + "/net.svg", dot = scratch() + "/net.dot";
  CHECK(run({"topology", "star-8", "--svg", svg, "--dot", dot}).code == 0);
  const std::string drawn = content(svg);
  CHECK(drawn.find("<svg ") == 0);
  std::size_t circles = 0;
  for (std::size_t at = drawn.find("<circle"); at != std::string::npos; at = drawn.find("<circle", at + 1)) ++circles;
  CHECK(circles == 8 + 1);  // of its endpoints and of the legend
  for (const char* said : {">endpoint<", ">switch<", "GB/s</text>"}) CHECK(drawn.find(said) != std::string::npos);
  CHECK(content(dot).find("n0 -> n8") != std::string::npos);
  refused({"topology", "torus-1024", "--svg", svg}, {"1024 nodes", "at most 400"});
}

TEST_CASE("topology: ten million endpoints", "[topology]") {
  const std::string file = write_file(
      "big.yaml",
      "version: 1\nname: big\nkind: fat-tree\nradix: 512\nsize: 10000000\nbandwidth: 50 GB/s\nlatency: 5 us\n");
  const std::string flows = write_file("one.csv", "src,dst,bytes\n0,9999999,5e10\n");
  const json document = topology_answer({file, "--flows", flows});
  CHECK(document["endpoints"] == 10'000'000);
  CHECK(document["routed"].is_null());
  CHECK(document["flows"]["makespan_s"].get<double>() == Approx(1.000005));
}

TEST_CASE("topology: what can be wrong", "[topology]") {
  const std::string bad =
      write_file("bad.yaml", "version: 1\nname: bad\nkind: tours\ndims: [4]\nbandwidth: 1 GB/s\nlatency: 1 us\n");
  refused({"topology", bad}, {"bad.yaml:3:7: error: kind", "did you mean 'torus'"});
  const std::string lost = write_file("lost.yaml", "version: 1\nname: lost\nendpoints: [a, b]\nlinks: []\n");
  refused({"topology", lost}, {"lost.yaml:4", "no way leads"});
  refused({"topology", "no-such-network"}, {"no-such-network", ""});
  refused({"topology"}, {"no network was named", "--compare"});
  refused({"topology", "star-8", "--sharing", "rtt-weighted"}, {"--sharing", "--flows"});
  refused({"topology", "star-8", "--flows", write_file("self.csv", "src,dst,bytes\n2,2,1\n")},
          {"self.csv:2:3: error", "to itself"});
  refused({"topology", "star-8", "--flows", write_file("far.csv", "src,dst,bytes\n0,8,1\n")},
          {"far.csv:2:1: error", "0 to 7"});
  refused({"topology", "star-8", "--flows", write_file("ring.csv", "src,dst,bytes,after\n0,1,1,2\n1,2,1,1\n")},
          {"", "wait"});
  refused({"import", "nccl-topo", write_file("bad.xml", "<system>\n<cpu>\n</system>")},
          {"bad.xml:3:1: error", "not XML"});
  refused({"import", "nccl-topo", scratch() + "/absent.xml"}, {"absent.xml", "cannot be read"});
}

TEST_CASE("import: NCCL's topology becomes a network", "[topology]") {
  const std::string xml = write_file(
      "two.xml",
      "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"1\" modelid=\"1\">"
      "<pci busid=\"0000:01:00.0\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"0\" "
      "sm=\"80\"/></pci>"
      "<pci busid=\"0000:02:00.0\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"1\" "
      "sm=\"80\"/></pci>"
      "</cpu></system>");
  const std::string yaml = scratch() + "/two.yaml";
  CHECK(run({"import", "nccl-topo", xml, "-o", yaml}).code == 0);
  const json document = topology_answer({yaml});
  CHECK(document["endpoints"] == 2);
  CHECK(document["injection_bytes_per_s"] == 24e9);
  CHECK(document["diameter"] == 2);

  // As the inside of nodes: two on one switch, 12.5 GB/s for each node.
  const std::string cluster =
      write_file("nodes.yaml",
                 "version: 1\nname: nodes\naccelerator: a100-pcie-80gb\nnodes: 2\ngpus_per_node: 2\n"
                 "intra: {kind: graph, file: two.yaml, bandwidth: 24 GB/s, latency: 2 us}\n"
                 "inter: {kind: star, nics_per_node: 1, bandwidth: 12.5 GB/s, latency: 5 us}\n");
  const json nodes = topology_answer({cluster});
  CHECK(nodes["endpoints"] == 4);
  CHECK(nodes["bisection_fraction"].get<double>() == Approx(12.5 / 48.0));
}

TEST_CASE("topology: a name with a slip, of a network or a cluster", "[topology]") {
  refused({"topology", "torus-102"}, {"no such file or name: 'torus-102'", "did you mean 'torus-1024'?"});
  refused({"topology", "dgx-h10"}, {"no such file or name: 'dgx-h10'", "did you mean 'dgx-h100'?"});
  refused({"topology", "--compare", "torus-1024", "gb200-nvl7"},
          {"no such file or name", "did you mean 'gb200-nvl72'?"});
}

TEST_CASE("topology: a cluster that is not finished is told what it lacks as a cluster", "[topology]") {
  const std::string file = write_file(
      "unfinished.yaml", "version: 1\nname: mine\nnodes: 4\ngpus_per_node: 8\nprice: {accelerator_hour: 2 USD}\n");
  refused({"topology", file}, {"unfinished.yaml:1:1: error: accelerator: missing"});
  CHECK(run({"topology", file}).err.find("unknown key") == std::string::npos);
  const std::string next =
      write_file("next.yaml", "version: 1\nname: mine\nnodes: 4\ngpus_per_node: 8\naccelerator: h100-sxm5-80gb\n");
  refused({"topology", next}, {"error: levels: no network (give either intra and inter, or levels)"});
}
