#include "topology_drawing.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>

#include "cairn/core/diagnostics.h"
#include "cairn/report/topology.h"

namespace cairn::report {
namespace {

using topology::NodeId;
using topology::Topology;
using Places = std::vector<std::array<double, 2>>;

Places circle(std::size_t nodes) {
  Places places(nodes);
  const double radius = std::max(1.0, static_cast<double>(nodes) / (2.0 * std::numbers::pi));
  for (std::size_t i = 0; i < nodes; ++i) {
    const double angle = 2.0 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(nodes);
    places[i] = {radius * (1.0 + std::sin(angle)), radius * (1.0 - std::cos(angle))};
  }
  return places;
}

// Links from the nearest endpoint, above the levels inside.
std::vector<std::size_t> ranks(const Topology& network, const std::vector<Cable>& cables) {
  const auto nodes = static_cast<std::size_t>(network.nodes());
  std::vector<std::size_t> rank(nodes, nodes);
  std::fill(rank.begin(), rank.begin() + network.endpoints(), 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (const Cable& cable : cables) {
      const auto a = static_cast<std::size_t>(cable.from), b = static_cast<std::size_t>(cable.to);
      for (const auto& [near, far] : {std::pair{a, b}, std::pair{b, a}}) {
        if (rank[near] >= nodes || rank[far] <= rank[near] + 1) continue;
        rank[far] = rank[near] + 1;
        changed = true;
      }
    }
  }
  std::size_t below = 0;
  for (std::size_t tier = 0, reached = 0; tier < nodes; ++tier, below = reached) {
    bool any = false;
    for (std::size_t i = static_cast<std::size_t>(network.endpoints()); i < nodes; ++i) {
      if (network.tier(static_cast<NodeId>(i)) != tier) continue;
      any = true;
      rank[i] = (rank[i] >= nodes ? 1 : rank[i]) + below;
      reached = std::max(reached, rank[i]);
    }
    if (!any && tier > 0) break;
  }
  return rank;
}

Places layered(const Topology& network, const std::vector<Cable>& cables) {
  constexpr double k_row_height = 2.5;
  const auto nodes = static_cast<std::size_t>(network.nodes());
  const std::vector<std::size_t> rank = ranks(network, cables);
  const std::size_t top = *std::max_element(rank.begin(), rank.end());
  std::vector<double> across(nodes, 0.0);
  double widest = 0.0;
  for (std::size_t row = 0; row <= top; ++row) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < nodes; ++i)
      if (rank[i] == row) order.push_back(i);
    // Over the mean of what lies below.
    for (const std::size_t i : order) {
      double sum = 0.0, count = 0.0;
      for (const Cable& cable : cables) {
        const auto a = static_cast<std::size_t>(cable.from), b = static_cast<std::size_t>(cable.to);
        const std::size_t other = a == i ? b : b == i ? a : nodes;
        if (other == nodes || rank[other] >= row) continue;
        sum += across[other];
        count += 1.0;
      }
      across[i] = row == 0 ? static_cast<double>(i) : count > 0.0 ? sum / count : 0.0;
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return across[a] < across[b]; });
    // At least one apart, and as a row still over the same mean.
    double shift = 0.0;
    const std::vector<double> wanted = across;
    for (std::size_t k = 1; k < order.size(); ++k)
      across[order[k]] = std::max(across[order[k]], across[order[k - 1]] + 1.0);
    for (const std::size_t i : order) shift += (wanted[i] - across[i]) / static_cast<double>(order.size());
    for (const std::size_t i : order) across[i] += shift;
  }
  const double least = *std::min_element(across.begin(), across.end());
  widest = *std::max_element(across.begin(), across.end()) - least;
  const double height = std::max(k_row_height, widest / 6.0);
  Places places(nodes);
  for (std::size_t i = 0; i < nodes; ++i) places[i] = {across[i] - least, height * static_cast<double>(top - rank[i])};
  return places;
}

}  // namespace

std::vector<Cable> cables(const Topology& network) {
  if (network.nodes() > k_drawn_nodes)
    throw core::ConfigurationError("picture",
                                   std::to_string(network.nodes()) + " nodes cannot be drawn so that one sees them",
                                   "draw a network of at most " + std::to_string(k_drawn_nodes) + ", with --set");
  std::map<std::pair<NodeId, NodeId>, double> links;
  for (topology::LinkId id = 0; id < network.links(); ++id)
    if (const topology::Link link = network.link(id); link.bandwidth > 0.0)
      links[{link.from, link.to}] += link.bandwidth;
  std::vector<Cable> cables;
  for (const auto& [ends, bandwidth] : links) {
    const bool has_back = links.contains({ends.second, ends.first});
    if (has_back && ends.first > ends.second) continue;
    cables.push_back({.from = ends.first, .to = ends.second, .bandwidth = bandwidth, .one_way = !has_back});
  }
  return cables;
}

Places layout(const Topology& network, const std::vector<Cable>& cables) {
  const auto nodes = static_cast<std::size_t>(network.nodes());
  Places places(nodes);
  bool lattice = true;
  for (std::size_t i = 0; i < nodes && lattice; ++i) {
    const auto place = network.place(static_cast<NodeId>(i));
    lattice = place.has_value();
    if (lattice) places[i] = *place;
  }
  if (lattice) return places;
  return network.nodes() == network.endpoints() ? circle(nodes) : layered(network, cables);
}

}  // namespace cairn::report
