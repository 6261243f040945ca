// Every row of the published comparison that was made with SimGrid 3.32 (model CM02, all corrections off).
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "catch.h"
#include "support/networks.h"

using namespace cairn;

namespace {

struct Row {
  std::string platform, pattern;
  std::uint32_t hosts = 0;
  double bytes = 0.0, latency = 0.0;
  std::string makespan, first, mean;
};

std::vector<Row> simgrid_rows(const std::string& path) {
  std::ifstream file(path);
  REQUIRE(file);
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("simgrid", 0) != 0) continue;
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
    rows.push_back({.platform = cells[1],
                    .pattern = cells[2],
                    .hosts = static_cast<std::uint32_t>(std::stoul(cells[4])),
                    .bytes = std::stod(cells[5]),
                    .latency = std::stod(cells[6]),
                    .makespan = cells[8],
                    .first = cells[9],
                    .mean = cells[10]});
  }
  return rows;
}

std::unique_ptr<support::Network> network_of(const Row& row) {
  if (row.platform == "star") return std::make_unique<support::Star>(row.hosts);
  if (row.platform == "ft-16-4") return std::make_unique<support::FatTree2>(row.hosts, 16, 4);
  if (row.platform == "torus-4x4x4") return std::make_unique<support::Torus3>(std::array<std::uint32_t, 3>{4, 4, 4});
  REQUIRE(row.platform == "torus-8x8x4");
  return std::make_unique<support::Torus3>(std::array<std::uint32_t, 3>{8, 8, 4});
}

// The latency of a row is end to end on a star and inside a leaf, and per hop on a torus.
sim::FlowProblem problem_of(const Row& row, const support::Network& network) {
  const bool per_hop = row.platform.rfind("torus", 0) == 0;
  const core::Picoseconds latency = core::to_picoseconds(per_hop ? row.latency : row.latency / 2);
  if (row.pattern == "ring") return support::ring(network, latency, row.bytes / row.hosts);
  if (row.pattern == "perm") return support::permutation(network, latency, row.bytes);
  REQUIRE((row.pattern == "a2a" || row.pattern == "a2aeq"));
  return support::all_to_all(network, latency, row.bytes, row.pattern == "a2aeq");
}

void check_close(double seconds, const std::string& expected) {
  if (expected.empty()) return;
  const double e = std::stod(expected);
  INFO("expected " << expected << ", is " << seconds << ", error " << seconds - e);
  CHECK(std::abs(seconds - e) <= std::max(1e-9 * e, 2e-12));
}

}  // namespace

TEST_CASE("flows over links end when SimGrid says") {
  const char* folder = std::getenv("CAIRN_DATA");
  if (folder == nullptr) {
    WARN("CAIRN_DATA is not set: skipped");
    return;
  }
  const std::vector<Row> rows = simgrid_rows(folder + std::string("/network_golden.csv"));
  CHECK(rows.size() == 37);
  for (const Row& row : rows) {
    INFO(row.platform << " " << row.pattern << " of " << row.hosts << ", latency " << row.latency);
    const auto network = network_of(row);
    sim::FlowProblem problem = problem_of(row, *network);
    // CM02 shares by 1/latency; of equal latencies that is max-min.
    if (row.platform == "ft-16-4" && row.latency > 0) problem.sharing = sim::Sharing::rtt_weighted;
    const sim::FlowTimes times = sim::run_flows(problem);
    check_close(core::to_seconds(times.makespan), row.makespan);
    check_close(core::to_seconds(*std::min_element(times.end.begin(), times.end.end())), row.first);
    const double sum = std::accumulate(times.end.begin(), times.end.end(), 0.0);
    check_close(sum / core::k_picoseconds_per_second / static_cast<double>(times.end.size()), row.mean);
  }
}
