// Tables of flows: what they mean, and everything that can be wrong with them.
#include "cairn/config/loader.h"
#include "cairn/core/diagnostics.h"
#include "cairn/hardware/network_files.h"
#include "cairn/traffic/run.h"
#include "catch.h"

using namespace cairn;

namespace {

topology::Network star() {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text("{name: star, kind: star, size: 4, bandwidth: 1 GB/s, latency: 2 us}",
                                               config::Syntax::yaml, "star.yaml", diagnostics);
  return hardware::read_network(config::Loader{}, node, diagnostics);
}

void refused(const std::string& text, const std::string& place, const std::string& words) {
  INFO(text);
  try {
    const topology::Network network = star();
    traffic::run(*network.topology, traffic::parse_flows(text, "flows.csv"));
    FAIL_CHECK("accepted");
  } catch (const core::ConfigurationError& error) {
    INFO(error.what());
    CHECK(std::string(error.what()).find(place) != std::string::npos);
    CHECK(std::string(error.what()).find(words) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("Flows share what they must, wait as told", "[traffic]") {
  const topology::Network network = star();
  // 1 MB at 1 GB/s is 1 ms, behind 2 us of latency. Two into one endpoint take 2 ms each; the third starts after the
  // first and has its links alone.
  const traffic::FlowRun run = traffic::run(
      *network.topology,
      traffic::parse_flows("src,dst,bytes,start_s,after\n0,2,1e6,0,\n1,2,1e6,,\n3,1,1e6,0.0005,1\n", "f.csv"));
  CHECK(run.end == std::vector<core::Picoseconds>{2'002'000'000, 2'002'000'000, 3'004'000'000});
  CHECK(run.makespan == 3'004'000'000);
  CHECK(run.first == 2'002'000'000);
  CHECK(run.mean_s == Approx((2.002e-3 * 2 + 3.004e-3) / 3.0));
}

TEST_CASE("Rows count from 1, or from 0 where row 0 is named", "[traffic]") {
  const traffic::FlowFile one = traffic::parse_flows("src,dst,bytes,after\n0,1,1,\n1,2,1,1\n2,3,1,1;2\n", "f.csv");
  CHECK_FALSE(one.counts_from_zero);
  CHECK(one.after == std::vector<std::uint32_t>{0, 0, 1});
  CHECK(one.after_of(2).size() == 2);
  const traffic::FlowFile zero = traffic::parse_flows("src,dst,bytes,after\n0,1,1,\n1,2,1,0\n2,3,1,0; 1\n", "f.csv");
  CHECK(zero.counts_from_zero);
  CHECK(zero.after == one.after);
}

TEST_CASE("Wrong tables are refused with their line", "[traffic]") {
  refused("", "flows.csv:1:", "no header");
  refused("src,dst,bytes\n", "flows.csv:1:", "no flows");
  refused("src,dst\n0,1\n", "flows.csv:1:", "no column bytes");
  refused("src,dst,bytes,strat_s\n0,1,1,0\n", "flows.csv:1:", "strat_s");
  refused("src,dst,bytes\n0,1\n", "flows.csv:2:", "2 fields where the header has 3");
  refused("src,dst,bytes\n0,1,5\n1,1,5\n", "flows.csv:3:", "from endpoint 1 to itself");
  refused("src,dst,bytes\n0,x,5\n", "flows.csv:2:3:", "expected a whole number");
  refused("src,dst,bytes\n0,-1,5\n", "flows.csv:2:", "expected a whole number");
  refused("src,dst,bytes\n0,1,-5\n", "flows.csv:2:5:", "expected a number >= 0");
  refused("src,dst,bytes\n0,1,nan\n", "flows.csv:2:", "expected a number >= 0");
  refused("src,dst,bytes\n0,1,1 MB/s\n", "flows.csv:2:5:", "as in 1e6 or 2GB");
  refused("src,dst,bytes,start_s\n0,1,1,5 m\n", "flows.csv:2:7:", "as in 0.5 or 5ms");
  refused("src,dst,bytes,start_s\n0,1,1,1e9\n", "flows.csv:2:", "later than simulated time reaches");
  refused("src,dst,bytes\n0,4,5\n", "flows.csv:2:", "no endpoint 4");
  refused("src,dst,bytes,after\n0,1,5,3\n", "flows.csv:2:", "no row 3");
  refused("src,dst,bytes,after\n0,1,5,1\n", "flows.csv:2:", "waits for itself");
  refused("src,dst,bytes,after\n2,3,5,\n0,1,5,3\n1,2,5,2\n", "flows.csv:3:", "2 after 3 after 2");
  refused("src,dst,bytes,after\n0,1,5,2\n1,2,5,0\n2,3,5,1\n", "flows.csv:2:", "0 after 2 after 1 after 0");
}

TEST_CASE("Amounts and instants may have units", "[traffic]") {
  const traffic::FlowFile file = traffic::parse_flows("src,dst,bytes,start_s\n0,1,2GB,5ms\n1,2,1 KiB,0.5\n", "f.csv");
  CHECK(file.rows[0].bytes == 2e9);
  CHECK(file.rows[0].start_s == 5e-3);
  CHECK(file.rows[1].bytes == 1024.0);
}

TEST_CASE("Endpoints of a graph go by their names", "[traffic]") {
  const traffic::EndpointNames names{"left", "right", "0"};
  const traffic::FlowFile file = traffic::parse_flows("src,dst,bytes\nleft,right,1\n1,left,1\n", "f.csv", names);
  CHECK(file.rows[0].from == 0);
  CHECK(file.rows[0].to == 1);
  CHECK(file.rows[1].from == 1);
  const auto wrong = [&](const std::string& text, const std::string& words) {
    try {
      traffic::parse_flows(text, "f.csv", names);
      FAIL_CHECK("accepted");
    } catch (const core::ConfigurationError& error) {
      INFO(error.what());
      CHECK(std::string(error.what()).find(words) != std::string::npos);
    }
  };
  wrong("src,dst,bytes\nleft,rigth,1\n", "did you mean 'right'");
  wrong("src,dst,bytes\n0,right,1\n", "the name of one endpoint and the number of another");
}
