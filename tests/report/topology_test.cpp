#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cairn/report/schema.h"
#include "cairn/report/topology.h"
#include "catch.h"
#include "report/conforms.h"
#include "report/small_run.h"

using namespace cairn;
using nlohmann::json;
using report_tests::columns;
using report_tests::conforms;
using report_tests::k_tool;
using report_tests::loader;

namespace {

report::TopologyAnswer answer(const std::string& name, const std::vector<std::string>& overrides = {}) {
  return report::describe(hardware::load_network(loader(), name, overrides),
                          topology::load_prices(loader(), "hammingmesh-2022"));
}

std::vector<report::TopologyAnswer> answers() {
  std::vector<report::TopologyAnswer> all;
  all.push_back(answer("hx2mesh-1024"));
  all.push_back(answer("dgx-h100", {"nodes=64"}));                      // several levels, one not paid for
  all.push_back(answer("star-8", {"size=100"}));                        // nothing on the price list
  all.push_back(answer("fat-tree-16384", {"routing=ecmp", "seed=3"}));  // too large to count routes
  all.front().flows =
      report::summary(*all.front().network.topology, traffic::parse_flows("src,dst,bytes\n0,1,1\n1,2,1\n", "f.csv"),
                      {.end = {1'000'000, 3'000'000}, .makespan = 3'000'000, .first = 1'000'000, .mean_s = 2e-6},
                      sim::Sharing::rtt_weighted);
  const report::TopologyAnswer small = answer("star-8");
  all.push_back(answer("star-8"));
  all.back().collective = traffic::run_collective(*small.network.topology, {.bytes = 8e6, .group = {.ranks = 8}});
  return all;
}

}  // namespace

TEST_CASE("A network as JSON is what its schema says") {
  const std::vector<report::TopologyAnswer> all = answers();
  for (const report::TopologyAnswer& each : all)
    conforms(json::parse(report::topology_schema()), json::parse(report::json(each, k_tool)), "");
  conforms(json::parse(report::topology_comparison_schema()), json::parse(report::json(all, k_tool)), "");
  const json first = json::parse(report::json(all.front(), k_tool));
  CHECK(first["flows"]["makespan_s"] == 3e-6);
  CHECK(first["flows"]["sharing"] == "rtt-weighted");
  CHECK(json::parse(report::json(all[2], k_tool))["cost_usd"].is_null());
  CHECK(json::parse(report::json(all[3], k_tool))["routed"].is_null());
  CHECK(json::parse(report::json(all[3], k_tool))["levels"][0]["seed"] == 3);
}

TEST_CASE("A network as text fits a terminal") {
  const std::vector<report::TopologyAnswer> all = answers();
  std::vector<std::string> texts{report::text(all)};
  for (const report::TopologyAnswer& each : all) texts.push_back(report::text(each));
  for (const std::string& text : texts) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      INFO(line);
      CHECK(columns(line) <= 100);
      CHECK((line.empty() || line.back() != ' '));
    }
  }
  CHECK(texts[1].find("5.41 M USD") != std::string::npos);
  CHECK(texts[1].find("2 flows, sharing rtt-weighted") != std::string::npos);
  // What the cost is made of stands below it, before the flows.
  CHECK(texts[1].find("cables; prices") < texts[1].find("2 flows"));
  CHECK(texts[3].find("unknown") != std::string::npos);
}

TEST_CASE("Pictures hold every node and cable once") {
  const topology::Network torus = hardware::load_network(loader(), "torus-1024", {"dims=[4, 3]"});
  const std::string svg = report::svg(torus);
  const auto count = [](const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
  };
  CHECK(count(svg, "<circle") == 12 + 1);  // of the legend
  CHECK(count(svg, "<path") == 24);        // two for each of 12
  const std::string dot = report::graphviz(torus);
  CHECK(count(dot, "shape=circle") == 12);
  CHECK(count(dot, " -> ") == 24);
}
