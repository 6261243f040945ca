// A network given link by link: the YAML of `kind: graph`, written by hand or by `cairn import`.
//
//   version: 1
//   name: two GPUs behind a switch
//   endpoints: [gpu0, gpu1]
//   switches: [pcie]
//   links:
//     - {from: gpu0, to: pcie, bandwidth: 25 GB/s, latency: 1 us}      # both ways unless one_way: true
//     - {from: gpu1, to: pcie, bandwidth: 25 GB/s, latency: 1 us}
//
// Endpoints may pass traffic on. Routes have the fewest links; at every node, of the links that come nearer the widest
// are taken, of n equally wide ones number destination mod n. What an endpoint injects is the bandwidth of all links
// out of it. Limits are computed from the graph:
//   diameter, all-to-all   over all pairs, each spread evenly at every node over those links
//   bisection              least maximum flow between two halves: over every halving of up to 12 endpoints, else the
//                          best of halves grown around endpoints, which may miss a narrower one
//   narrowest cut          least maximum flow between the first endpoint and another, either way
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cairn/config/fields.h"
#include "cairn/config/loader.h"
#include "cairn/core/quantity.h"
#include "cairn/topology/composite.h"
#include "cairn/topology/topology.h"

namespace cairn::topology {

struct GraphLink {
  std::string from = {};
  std::string to = {};
  core::BytesPerSecond bandwidth = {};
  core::Seconds latency = {};
  bool one_way = false;
};
struct GraphFile {
  std::string name = {};
  std::vector<std::string> endpoints = {};
  std::vector<std::string> switches = {};
  std::vector<GraphLink> links = {};
};
void describe(config::Fields& fields, GraphLink& link);
void describe(config::Fields& fields, GraphFile& graph);

// Throws core::ConfigurationError (key paths of the file): fewer than two endpoints, names used twice or not declared,
// links from a node to itself, endpoints that cannot reach each other (both are named).
std::unique_ptr<Topology> make_graph(const GraphFile& graph);

// The same as a machine of one level.
std::unique_ptr<Composite> make_machine(const GraphFile& file);

// Endpoints above which the limits of a graph, which need all pairs, are refused.
inline constexpr std::int64_t k_graph_limit = 1024;

}  // namespace cairn::topology
