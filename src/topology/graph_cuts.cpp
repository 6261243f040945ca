#include "graph_cuts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>

namespace cairn::topology {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using Capacity = std::int64_t;
constexpr double k_most_together = 0x1p62;  // half of what a Capacity holds
using Network = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<boost::edge_capacity_t, Capacity,
                    boost::property<boost::edge_residual_capacity_t, Capacity,
                                    boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;

void add_edge(Network& network, std::int64_t from, std::int64_t to, Capacity capacity) {
  const auto there = boost::add_edge(static_cast<std::size_t>(from), static_cast<std::size_t>(to), network).first;
  const auto back = boost::add_edge(static_cast<std::size_t>(to), static_cast<std::size_t>(from), network).first;
  boost::put(boost::edge_capacity, network, there, capacity);
  boost::put(boost::edge_capacity, network, back, Capacity{0});
  boost::put(boost::edge_reverse, network, there, back);
  boost::put(boost::edge_reverse, network, back, there);
}

}  // namespace

double GraphCuts::flow(const std::vector<bool>& in_first, const std::vector<bool>& in_second) const {
  // Capacities are B/s, or as many as it takes for their sum to be counted.
  double unit = 0.0;
  for (const Link& link : links_) unit += link.bandwidth / k_most_together;
  unit = std::max(1.0, unit);
  Network network(static_cast<std::size_t>(nodes_) + 2);
  std::vector<Capacity> out(static_cast<std::size_t>(nodes_), 0), in = out;
  for (const Link& link : links_) {
    const auto capacity = static_cast<Capacity>(std::llround(link.bandwidth / unit));
    add_edge(network, link.from, link.to, capacity);
    out[static_cast<std::size_t>(link.from)] += capacity;
    in[static_cast<std::size_t>(link.to)] += capacity;
  }
  for (NodeId i = 0; i < endpoints_; ++i) {
    const auto endpoint = static_cast<std::size_t>(i);
    if (in_first[endpoint]) add_edge(network, nodes_, i, out[endpoint]);
    if (in_second[endpoint]) add_edge(network, i, nodes_ + 1, in[endpoint]);
  }
  return unit * static_cast<double>(boost::push_relabel_max_flow(network, static_cast<std::size_t>(nodes_),
                                                                 static_cast<std::size_t>(nodes_) + 1));
}

double GraphCuts::both_ways(const std::vector<bool>& half) const {
  std::vector<bool> other = half;
  other.flip();
  return std::min(flow(half, other), flow(other, half));
}

std::vector<bool> GraphCuts::half_around(NodeId seed) const {
  boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> graph(static_cast<std::size_t>(nodes_));
  for (const Link& link : links_)
    boost::add_edge(static_cast<std::size_t>(link.from), static_cast<std::size_t>(link.to), graph);
  std::vector<std::int64_t> distance(static_cast<std::size_t>(nodes_), nodes_);
  distance[static_cast<std::size_t>(seed)] = 0;
  boost::breadth_first_search(
      graph, static_cast<std::size_t>(seed),
      boost::visitor(boost::make_bfs_visitor(boost::record_distances(distance.data(), boost::on_tree_edge()))));
  std::vector<NodeId> order(static_cast<std::size_t>(endpoints_));
  for (NodeId i = 0; i < endpoints_; ++i) order[static_cast<std::size_t>(i)] = i;
  std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) {
    return distance[static_cast<std::size_t>(a)] < distance[static_cast<std::size_t>(b)];
  });
  std::vector<bool> half(static_cast<std::size_t>(endpoints_), false);
  for (NodeId i = 0; i < endpoints_ / 2; ++i) half[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = true;
  return half;
}

double GraphCuts::bisection() const {
  const auto p = static_cast<std::size_t>(endpoints_);
  std::vector<bool> half(p, false);
  std::fill(half.begin(), half.begin() + endpoints_ / 2, true);
  double least = both_ways(half);
  if (endpoints_ <= k_exact) {
    for (unsigned set = 0; set < (1U << p); ++set) {
      if (std::popcount(set) != static_cast<int>(p / 2)) continue;
      // Of the two halves of an even number one has endpoint 0.
      if (p % 2 == 0 && (set & 1U) == 0) continue;
      for (std::size_t i = 0; i < p; ++i) half[i] = (set >> i & 1U) != 0;
      least = std::min(least, both_ways(half));
    }
    return least;
  }
  const std::int64_t step = std::max<std::int64_t>(1, endpoints_ / k_seeds);
  for (NodeId seed = 0; seed < endpoints_; seed += step) least = std::min(least, both_ways(half_around(seed)));
  return least;
}

double GraphCuts::narrowest() const {
  const auto p = static_cast<std::size_t>(endpoints_);
  std::vector<bool> first(p, false), other(p, false);
  first[0] = true;
  double least = std::numeric_limits<double>::max();
  for (std::size_t i = 1; i < p; ++i) {
    other[i] = true;
    least = std::min({least, flow(first, other), flow(other, first)});
    other[i] = false;
  }
  return least;
}

}  // namespace cairn::topology
