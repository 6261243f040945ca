// A table of flows run over a network: each takes its route; rates and instants as in cairn/sim/flows.h.
#pragma once

#include <cstdint>
#include <vector>

#include "cairn/core/time.h"
#include "cairn/sim/flows.h"
#include "cairn/topology/composite.h"
#include "cairn/topology/topology.h"
#include "cairn/traffic/flow_file.h"

namespace cairn::traffic {

struct FlowRun {
  std::vector<core::Picoseconds> end = {};  // by row
  core::Picoseconds makespan = 0;
  core::Picoseconds first = 0;
  double mean_s = 0.0;
};

// What a graph calls its endpoints; empty for networks that number them.
EndpointNames endpoint_names(const topology::Composite& network);

// Links, routes and flows with the numbers sim counts by: links in the order in which flows first cross them, pairs of
// endpoints that several flows share routed once. Throws core::ConfigurationError: an endpoint that does not exist
// (with the file's line).
sim::FlowProblem problem(const topology::Topology& network, const FlowFile& flows, sim::Sharing sharing);

// Throws core::ConfigurationError, also for what sim::run_flows refuses. At least one row.
FlowRun run(const topology::Topology& network, const FlowFile& flows, sim::Sharing sharing = sim::Sharing::max_min,
            sim::FlowObserver* observer = nullptr);

}  // namespace cairn::traffic
