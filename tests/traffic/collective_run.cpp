// Collectives message by message over networks, against times by hand.
#include <algorithm>
#include <cmath>
#include <string>

#include "cairn/collective/folds.h"
#include "cairn/config/loader.h"
#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "cairn/hardware/network_files.h"
#include "cairn/traffic/collective_run.h"
#include "catch.h"
#include "support/source_dir.h"

using namespace cairn;
using collective::Collective;

namespace {

constexpr double k_bandwidth = 10e9;
constexpr double k_latency_s = 2e-6;  // of a route over the star: two links
constexpr double k_bytes = 48e6;

topology::Network network(const std::string& keys) {
  core::Diagnostics diagnostics;
  const config::Node node =
      config::parse_text("{name: small, " + keys + "}", config::Syntax::yaml, "small.yaml", diagnostics);
  diagnostics.raise_if_errors();
  topology::Network result = hardware::read_network(config::Loader{}, node, diagnostics);
  diagnostics.raise_if_errors();
  return result;
}

config::Loader loader() { return config::Loader({cairn::testing::source_dir() + "/configs"}); }

topology::Network star(std::int64_t endpoints) {
  return network("kind: star, bandwidth: 10 GB/s, hop_latency: 1 us, size: " + std::to_string(endpoints));
}

double time_of(const topology::Network& net, std::string algorithm, Collective collective, collective::Group group) {
  const traffic::CollectiveRuns runs = traffic::run_collective(
      *net.topology, {.collective = collective, .bytes = k_bytes, .group = group, .algorithm = std::move(algorithm)});
  REQUIRE(runs.runs.size() == 1);
  return runs.runs.front().time_s;
}

// Each message ends at a whole picosecond.
auto about(double seconds) { return Approx(seconds).epsilon(0.0).margin(1e-10); }

}  // namespace

TEST_CASE("Collectives over a crossbar take what the textbook says", "[traffic]") {
  const double wire_s = k_bytes / k_bandwidth;
  for (const std::int64_t ranks : {2, 4, 8, 16}) {
    CAPTURE(ranks);
    const topology::Network net = star(ranks);
    const double n = static_cast<double>(ranks);
    const double turns = std::log2(n);
    const collective::Group group{.ranks = ranks};
    CHECK(time_of(net, "ring", Collective::all_reduce, group) == about(2.0 * (n - 1.0) * (k_latency_s + wire_s / n)));
    CHECK(time_of(net, "ring", Collective::all_gather, group) == about((n - 1.0) * (k_latency_s + wire_s / n)));
    CHECK(time_of(net, "direct", Collective::all_to_all, group) == about((n - 1.0) * (k_latency_s + wire_s / n)));
    CHECK(time_of(net, "binomial-tree", Collective::broadcast, group) == about(turns * (k_latency_s + wire_s)));
    CHECK(time_of(net, "recursive-doubling", Collective::all_reduce, group) == about(turns * (k_latency_s + wire_s)));
    CHECK(time_of(net, "recursive-halving", Collective::all_reduce, group) ==
          about(2.0 * turns * k_latency_s + 2.0 * (n - 1.0) / n * wire_s));
  }
}

TEST_CASE("A chain passes pieces on while others arrive", "[traffic]") {
  const topology::Network net = star(5);
  // The last of k pieces leaves rank 0 after k turns and makes 3 more to rank 4.
  for (const std::int64_t pieces : {1, 2, 12})
    CHECK(time_of(net, "ring", Collective::broadcast, {.ranks = 5, .pieces = pieces}) ==
          about(static_cast<double>(pieces + 3) * (k_latency_s + k_bytes / k_bandwidth / static_cast<double>(pieces))));
}

TEST_CASE("Two rings on the same links get half of them each", "[traffic]") {
  const topology::Network net = star(4);
  const traffic::FlowFile one =
      traffic::flows_of(collective::list_of("ring", Collective::all_reduce, {.ranks = 4}), k_bytes);
  traffic::FlowFile both = one;
  const auto offset = static_cast<std::uint32_t>(one.rows.size());
  for (std::size_t row = 0; row < one.rows.size(); ++row) {
    std::vector<std::uint32_t> after(one.after_of(row).begin(), one.after_of(row).end());
    for (std::uint32_t& each : after) each += offset;
    both.add(one.rows[row], after);
  }
  const traffic::FlowRun run = traffic::run(*net.topology, both);
  CHECK(core::to_seconds(run.makespan) == about(6.0 * (k_latency_s + 2.0 * k_bytes / 4.0 / k_bandwidth)));
}

TEST_CASE("Two levels use the links between nodes for a share of the bytes alone", "[traffic]") {
  // 2 nodes of 8 ranks. The 8 reduce an eighth each for one another, exchange it with their like over a port of their
  // own, and gather: by one and the other of two messages at a time, behind the latency of each step.
  const topology::Network net = hardware::load_network(loader(), "dgx-h100", {"nodes=2"});
  const double inside_s = 2.0 * 7.0 / 8.0 * k_bytes / 450e9;
  const double across_s = 2.0 * 1.0 / 2.0 * k_bytes / 8.0 / 50e9;
  const double time_s = time_of(net, "two-level", Collective::all_reduce, {.ranks = 16, .domain = 8});
  CHECK(time_s > inside_s + across_s);
  // 14 steps inside and 2 across, none with more latency than 10 us.
  CHECK(time_s < inside_s + across_s + 16 * 10e-6);
}

TEST_CASE("No algorithm beats what must be moved, and flows carry the bytes of the list", "[traffic]") {
  core::Random random(7);
  const std::vector<std::string> networks{
      "kind: star, bandwidth: 10 GB/s, hop_latency: 1 us, size: 24",
      "kind: torus, bandwidth: 10 GB/s, hop_latency: 100 ns, dims: [4, 6]",
      "kind: fat-tree, leaf: 4, oversubscription: 2, bandwidth: 10 GB/s, hop_latency: 100 ns, size: 24",
      "kind: hyperx, bandwidth: 10 GB/s, hop_latency: 100 ns, dims: [4, 6]",
      "dgx-a100",
      "dgx-h100"};
  for (const std::string& keys : networks) {
    CAPTURE(keys);
    const topology::Network net =
        keys.starts_with("kind") ? network(keys) : hardware::load_network(loader(), keys, {"nodes=3"});
    for (const Collective collective : collective::k_collectives) {
      const collective::Group group{.ranks = 2 + static_cast<std::int64_t>(random.below(23)), .pieces = 3};
      CAPTURE(collective::name(collective), group.ranks);
      const traffic::CollectiveRuns runs =
          traffic::run_collective(*net.topology, {.collective = collective, .bytes = k_bytes, .group = group});
      CHECK(runs.runs.size() == collective::algorithms().size());
      CHECK(runs.runs.front().missing.empty());
      for (const traffic::CollectiveRun& run : runs.runs) {
        CAPTURE(run.algorithm);
        if (!run.missing.empty()) continue;
        CHECK(run.time_s >= runs.least_s);
        const collective::MessageList list = collective::list_of(run.algorithm, collective, group);
        std::vector<double> sent(static_cast<std::size_t>(group.ranks), 0.0);
        for (const traffic::FlowRow& row : traffic::flows_of(list, k_bytes).rows)
          sent[static_cast<std::size_t>(row.from)] += row.bytes;
        for (std::int64_t rank = 0; rank < group.ranks; ++rank)
          CHECK(sent[static_cast<std::size_t>(rank)] == Approx(collective::sent(list, rank).bytes(k_bytes)));
      }
    }
  }
}

TEST_CASE("Collectives that cannot be run are refused in words", "[traffic]") {
  const topology::Network net = star(8);
  const auto refused = [&](const traffic::CollectiveRequest& request) {
    try {
      traffic::run_collective(*net.topology, request);
    } catch (const core::ConfigurationError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  using Catch::Matchers::Contains;
  CHECK_THAT(refused({.bytes = 1.0, .group = {.ranks = 9}}), Contains("9 ranks on a network of 8 endpoints"));
  CHECK_THAT(refused({.bytes = 1.0, .group = {.ranks = 1}}), Contains("two ranks"));
  CHECK_THAT(refused({.bytes = 1.0, .group = {.ranks = 8}, .algorithm = "rign"}), Contains("unknown algorithm"));
  CHECK_THAT(refused({.bytes = 1.0, .group = {.ranks = 8}, .algorithm = "in-switch"}), Contains("adds in a switch"));
  CHECK_THAT(refused({.bytes = 1.0, .group = {.ranks = 7}, .algorithm = "hypercube"}), Contains("hypercube"));
}
