// Makespans, first and mean finishes of other simulators (network_golden.csv), through topologies and flows. Skipped
// where CAIRN_DATA does not say where the table is.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cairn/config/loader.h"
#include "cairn/hardware/network_files.h"
#include "cairn/traffic/run.h"
#include "catch.h"

using namespace cairn;
using traffic::FlowFile;

namespace {

// Finaliser of splitmix64 with the increment added first.
std::uint64_t mix(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

std::string seconds(double value) { return std::to_string(std::llround(value * 1e12)) + " ps"; }

// star: latency / 2 a link; ft-16-4: the same, 2 or 4 links; torus: latency a link, six ports of 12.5 GB/s.
topology::Network platform(const std::string& name, std::int64_t p, double latency) {
  std::string keys = "name: golden, hop_latency: " + seconds(name.starts_with("torus") ? latency : latency / 2.0);
  if (name == "star")
    keys += ", kind: star, bandwidth: 12.5 GB/s, size: " + std::to_string(p);
  else if (name == "ft-16-4")
    keys += ", kind: fat-tree, leaf: 16, oversubscription: 4, bandwidth: 12.5 GB/s, size: " + std::to_string(p);
  else
    keys += std::string(", kind: torus, bandwidth: 75 GB/s, dims: ") + (p == 64 ? "[4, 4, 4]" : "[8, 8, 4]");
  core::Diagnostics diagnostics;
  const config::Node node = config::parse_text("{" + keys + "}", config::Syntax::yaml, "golden.yaml", diagnostics);
  diagnostics.raise_if_errors();
  topology::Network network = hardware::read_network(config::Loader{}, node, diagnostics);
  diagnostics.raise_if_errors();
  return network;
}

FlowFile pattern(const std::string& name, std::int64_t p, std::uint64_t bytes) {
  FlowFile file;
  const auto add = [&file](std::int64_t from, std::int64_t to, double amount, std::vector<std::uint32_t> after = {}) {
    file.add({.from = from, .to = to, .bytes = amount}, after);
  };
  const auto varied = [&](std::int64_t i, std::int64_t j) {
    return static_cast<double>(bytes + mix(static_cast<std::uint64_t>(i * p + j)) % (bytes + 3));
  };
  if (name == "ring") {
    for (std::int64_t step = 0; step < 2 * (p - 1); ++step)
      for (std::int64_t rank = 0; rank < p; ++rank) {
        const double chunk = static_cast<double>(bytes) / static_cast<double>(p);
        const auto before = static_cast<std::uint32_t>((step - 1) * p);
        if (step == 0)
          add(rank, (rank + 1) % p, chunk);
        else
          add(rank, (rank + 1) % p, chunk,
              {before + static_cast<std::uint32_t>(rank), before + static_cast<std::uint32_t>((rank + p - 1) % p)});
      }
  } else if (name == "perm") {
    std::vector<std::int64_t> to(static_cast<std::size_t>(p));
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<std::int64_t>(i);
    for (std::size_t i = to.size() - 1; i > 0; --i) std::swap(to[i], to[mix(i) % (i + 1)]);
    for (std::int64_t i = 0; i < p; ++i)
      if (const std::int64_t j = to[static_cast<std::size_t>(i)]; j != i) add(i, j, varied(i, j));
  } else {
    for (std::int64_t i = 0; i < p; ++i)
      for (std::int64_t j = 0; j < p; ++j)
        if (i != j) add(i, j, name == "a2aeq" ? static_cast<double>(bytes) : varied(i, j));
  }
  return file;
}

}  // namespace

TEST_CASE("Flows over topologies end when SimGrid says", "[traffic]") {
  const char* data = std::getenv("CAIRN_DATA");
  if (data == nullptr) return;
  std::ifstream table(std::filesystem::path(data) / "network_golden.csv");
  REQUIRE(table.good());
  int rows = 0;
  for (std::string line; std::getline(table, line);) {
    std::vector<std::string> f;
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, ',');) f.push_back(field);
    if (!f[0].starts_with("simgrid")) continue;
    const std::int64_t p = std::stoll(f[4]);
    if (f[2] == "ring" && p > 512) continue;  // 2 million flows: the kernel's own tests
    const double latency = std::stod(f[6]);
    INFO(f[1] << " " << f[2] << " " << p << " latency " << latency);
    const topology::Network network = platform(f[1], p, latency);
    const bool weighted = f[1] == "ft-16-4" && f[2] == "a2a" && latency > 0.0;
    const traffic::FlowRun run = traffic::run(*network.topology, pattern(f[2], p, std::stoull(f[5])),
                                              weighted ? sim::Sharing::rtt_weighted : sim::Sharing::max_min);
    const auto near = [](double ours, const std::string& theirs) {
      // The table has 12 digits.
      const double expected = std::stod(theirs);
      INFO(ours << " for " << expected);
      CHECK(std::abs(ours - expected) <= std::max(1e-9 * expected, 2e-12));
    };
    near(core::to_seconds(run.makespan), f[8]);
    if (!f[9].empty()) near(core::to_seconds(run.first), f[9]);
    if (!f[10].empty()) near(run.mean_s, f[10]);
    ++rows;
  }
  CHECK(rows >= 35);
}
