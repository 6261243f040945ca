// The kinds of networks, one file each. A new kind is its file, a line here, and a line in kinds.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cairn/hardware/cluster.h"
#include "cairn/topology/topology.h"

namespace cairn::topology {

// Of so many places each, how many hold `count`.
inline std::int64_t ceil_div(std::int64_t count, std::int64_t places) { return (count + places - 1) / places; }

// One level of a machine, ready to be built.
struct LevelInput {
  const hardware::LevelSpec& spec;
  std::string key_path;    // where the file describes it
  std::int64_t size = 1;   // units that it joins
  std::int64_t ports = 1;  // endpoints of each unit, numbered unit by unit: 1 where a unit enters as a whole
  double bandwidth = 0.0;  // [byte/s] of one endpoint
  // [s]; of a route between endpoints, or of each of its links.
  double latency = 0.0;
  std::optional<double> hop_latency = {};

  std::int64_t endpoints() const { return size * ports; }
  // Networks with links of endpoints alone at either end carry the latency there, half each.
  double end_latency() const { return hop_latency ? *hop_latency : latency / 2.0; }
  double inner_latency() const { return hop_latency.value_or(0.0); }
  // Direct networks share it among the links of their longest route.
  double link_latency(std::int64_t longest_route) const {
    return hop_latency ? *hop_latency : latency / static_cast<double>(longest_route > 0 ? longest_route : 1);
  }
  std::int64_t planes() const { return spec.planes.value_or(1); }
  std::uint64_t seed() const { return static_cast<std::uint64_t>(spec.seed.value_or(0)); }
};

// Raises core::ConfigurationError at a key of the level.
[[noreturn]] void refuse(const LevelInput& level, const std::string& key, std::string message, std::string hint);

// A number that looks random and is the same for the same pair, level and seed: picks among equal routes.
std::uint64_t route_hash(std::uint64_t seed, NodeId from, NodeId to, std::int64_t level);

// The first two dimensions across and down; further ones as copies beside that, dimension by dimension.
std::array<double, 2> lattice_place(NodeId node, const std::vector<std::int64_t>& dims);

// Of endpoints with one link each to and from switches that never limit.
Limits switch_limits(std::int64_t endpoints, std::int64_t group, double bandwidth);

using Kind = std::unique_ptr<Topology> (*)(const LevelInput&);

std::unique_ptr<Topology> make_crossbar(const LevelInput& level);
std::unique_ptr<Topology> make_pcie_tree(const LevelInput& level);
std::unique_ptr<Topology> make_hybrid_cube_mesh(const LevelInput& level);
std::unique_ptr<Topology> make_fat_tree(const LevelInput& level);
std::unique_ptr<Topology> make_rail_optimized(const LevelInput& level);
std::unique_ptr<Topology> make_rail_only(const LevelInput& level);
std::unique_ptr<Topology> make_dragonfly(const LevelInput& level);
std::unique_ptr<Topology> make_torus(const LevelInput& level);
std::unique_ptr<Topology> make_mesh(const LevelInput& level);
std::unique_ptr<Topology> make_hyperx(const LevelInput& level);
std::unique_ptr<Topology> make_hammingmesh(const LevelInput& level);

Kind kind(hardware::LevelKind kind);  // null: graph, which is read from a file

}  // namespace cairn::topology
