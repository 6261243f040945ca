// A network laid out: where its nodes lie, and its cables.
//
// Lattices as they are. Others in rows by distance from the endpoints, endpoints at the bottom, every node over the
// mean of those below it; networks of endpoints alone on a circle.
#pragma once

#include <array>
#include <vector>

#include "cairn/topology/topology.h"

namespace cairn::report {

struct Cable {
  topology::NodeId from = 0;
  topology::NodeId to = 0;
  double bandwidth = 0.0;  // [byte/s] of all cables between the two, one direction
  bool one_way = false;
};

// Throws core::ConfigurationError for more than k_drawn_nodes nodes.
std::vector<Cable> cables(const topology::Topology& network);

// Neighbours at least one apart.
std::vector<std::array<double, 2>> layout(const topology::Topology& network, const std::vector<Cable>& cables);

}  // namespace cairn::report
