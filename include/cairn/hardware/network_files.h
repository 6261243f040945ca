// From a file to the network of links that it describes, of which three forms are understood:
//   a cluster         configs/clusters/<name>.yaml: intra and inter, or levels
//   a network         configs/topologies/<name>.yaml: one level's keys beside name and version, no accelerator
//   a graph           the keys of cairn/topology/graph.h
//
//   version: 1
//   name: 3-D torus of 64
//   kind: torus
//   dims: [4, 4, 4]
//   bandwidth: 75 GB/s       # of an endpoint: six ports
//   hop_latency: 1 us
// `size`, the endpoints, may be left out where the shape says it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/config/loader.h"
#include "cairn/config/node.h"
#include "cairn/core/diagnostics.h"
#include "cairn/hardware/cluster.h"
#include "cairn/topology/composite.h"

namespace cairn::hardware {

inline constexpr std::int64_t k_most_endpoints = std::int64_t{1} << 31;

// A network of one level, as a file of its own describes it.
struct NetworkFile {
  std::string name = {};
  LevelSpec level = {};
};
void describe(config::Fields& fields, NetworkFile& file);

// `name`: a file, or a name among topologies, then clusters. `overrides` as for experiments: dims=[8, 8], nodes=64; a
// network with any is called "torus-1024 with dims=[8, 8]", unless one of them names it.
// Throws core::ConfigurationError with everything wrong, at its place.
topology::Network load_network(const config::Loader& loader, std::string_view name,
                               const std::vector<std::string>& overrides = {});
// Of a tree that was read already.
topology::Network read_network(const config::Loader& loader, const config::Node& node, core::Diagnostics& diagnostics);

// The levels of a cluster that is already checked. Throws core::ConfigurationError (key paths below the cluster).
// A file that a level names is looked up relative to `place`.
std::unique_ptr<topology::Composite> build(const config::Loader& loader, const Network& network,
                                           const config::Place& place);

}  // namespace cairn::hardware
