// Permutations over tapered fat trees: thousands of flows that end one by one while most of their neighbours go on.
#include <algorithm>
#include <numeric>

#include "cairn/config/loader.h"
#include "cairn/core/random.h"
#include "cairn/hardware/network_files.h"
#include "cairn/traffic/run.h"
#include "catch.h"

using namespace cairn;

TEST_CASE("Every flow of a large permutation ends, no link carries more than it can", "[traffic]") {
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text(
      "{name: tapered, kind: fat-tree, radix: 64, size: 4096, oversubscription: 3.92308, bandwidth: 800 GB/s, "
      "hop_latency: 80 ns}",
      config::Syntax::yaml, "tapered.yaml", diagnostics);
  const topology::Network network = hardware::read_network(config::Loader{}, node, diagnostics);
  diagnostics.raise_if_errors();
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    core::Random random(seed);
    std::vector<std::int64_t> to(4096);
    std::iota(to.begin(), to.end(), 0);
    for (std::size_t i = to.size() - 1; i > 0; --i) std::swap(to[i], to[random.below(i + 1)]);
    traffic::FlowFile flows;
    for (std::size_t i = 0; i < to.size(); ++i)
      if (const auto from = static_cast<std::int64_t>(i); to[i] != from)
        flows.add({.from = from, .to = to[i], .bytes = 1e6 + static_cast<double>(random.below(1'000'003))});
    const traffic::FlowRun run = traffic::run(*network.topology, flows);
    // Not before its latency and its bytes at full speed, all of them; not before the bytes of the busiest link.
    std::vector<double> bytes(static_cast<std::size_t>(network.topology->links()), 0.0);
    std::vector<topology::LinkId> route;
    bool possible = true;
    for (std::size_t i = 0; i < flows.rows.size(); ++i) {
      const traffic::FlowRow& row = flows.rows[i];
      route.clear();
      network.topology->route(row.from, row.to, route);
      for (const topology::LinkId id : route) bytes[static_cast<std::size_t>(id)] += row.bytes;
      const double least = 80e-9 * static_cast<double>(route.size()) + row.bytes / 800e9;
      possible = possible && core::to_seconds(run.end[i]) >= least - 1e-12;
    }
    CHECK(possible);
    CHECK(core::to_seconds(run.makespan) >= *std::max_element(bytes.begin(), bytes.end()) / 800e9);
  }
}
