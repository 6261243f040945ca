#include "cairn/pebble/wavefront.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/property_map/property_map.hpp>

#include "cairn/core/assert.h"

namespace cairn::pebble {

namespace {

constexpr Words k_infinite = std::numeric_limits<Words>::max() / 4;

using Network = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property,
                                                   boost::no_property, std::uint32_t, std::uint32_t>;
using NetworkEdge = boost::graph_traits<Network>::edge_descriptor;
using ArcId = std::uint32_t;

class WavefrontNetwork {
 public:
  explicit WavefrontNetwork(const Cdag& graph)
      : graph_(graph),
        sink_(static_cast<std::uint32_t>(2 * graph.size())),
        through_(graph.size()),
        to_sink_(graph.size()) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> arcs;
    const auto connect = [&](std::uint32_t from, std::uint32_t to) {
      arcs.emplace_back(from, to);
      arcs.emplace_back(to, from);
    };
    for (Vertex v = 0; v < graph.size(); ++v) {
      connect(in(v), out(v));
      connect(in(v), sink_);
    }
    for (Vertex c = 0; c < graph.size(); ++c) {
      for (Vertex v : graph.predecessors(c)) {
        connect(out(v), in(c));
        connect(in(c), in(v));
      }
    }
    // Arc 2i+1 is the reverse of arc 2i; the graph stores arcs by source, so remember where each went.
    std::vector<ArcId> by_source(arcs.size());
    std::iota(by_source.begin(), by_source.end(), ArcId{0});
    std::stable_sort(by_source.begin(), by_source.end(),
                     [&](ArcId a, ArcId b) { return arcs[a].first < arcs[b].first; });
    std::vector<std::pair<std::uint32_t, std::uint32_t>> sorted;
    sorted.reserve(arcs.size());
    for (ArcId arc : by_source) sorted.push_back(arcs[arc]);
    network_ = Network(boost::edges_are_sorted, sorted.begin(), sorted.end(), sink_ + 1);
    std::vector<ArcId> place(arcs.size());
    for (ArcId at = 0; at < by_source.size(); ++at) place[by_source[at]] = at;
    std::vector<NetworkEdge> edges(boost::edges(network_).first, boost::edges(network_).second);
    reverse_.resize(arcs.size());
    capacity_.assign(arcs.size(), 0);
    for (ArcId arc = 0; arc < arcs.size(); ++arc) {
      reverse_[place[arc]] = edges[place[arc ^ 1]];
      if (arc % 2 == 0 && arc >= 4 * graph.size()) capacity_[place[arc]] = k_infinite;
    }
    for (Vertex v = 0; v < graph.size(); ++v) {
      through_[v] = place[4 * v];
      to_sink_[v] = place[4 * v + 2];
    }
    residual_.resize(arcs.size());
    predecessor_.resize(sink_ + 1);
    color_.resize(sink_ + 1);
    distance_.resize(sink_ + 1);
  }

  Words cut(Vertex x, Words interior_capacity) {
    for (Vertex v = 0; v < graph_.size(); ++v) {
      const bool paid = graph_.is_input(v) || graph_.is_output(v);
      capacity_[through_[v]] = graph_.weight(v) * (paid ? 1 : interior_capacity);
      capacity_[to_sink_[v]] = 0;
    }
    if (!mark_descendants(x)) return 0;
    const auto arc_index = boost::get(boost::edge_index, network_);
    const auto node_index = boost::get(boost::vertex_index, network_);
    return boost::boykov_kolmogorov_max_flow(network_, boost::make_iterator_property_map(capacity_.begin(), arc_index),
                                             boost::make_iterator_property_map(residual_.begin(), arc_index),
                                             boost::make_iterator_property_map(reverse_.begin(), arc_index),
                                             boost::make_iterator_property_map(predecessor_.begin(), node_index),
                                             boost::make_iterator_property_map(color_.begin(), node_index),
                                             boost::make_iterator_property_map(distance_.begin(), node_index),
                                             node_index, in(x), sink_);
  }

  // After cut(x): the nodes that residual arcs reach from x are the done side.
  MinimumCut witness(Vertex x, Words capacity) const {
    MinimumCut cut{.capacity = capacity, .live = {}, .done = std::vector<char>(graph_.size(), 0)};
    std::vector<char> reached(boost::num_vertices(network_), 0);
    std::vector<std::uint32_t> stack{in(x)};
    reached[in(x)] = 1;
    while (!stack.empty()) {
      const std::uint32_t node = stack.back();
      stack.pop_back();
      for (auto [arc, end] = boost::out_edges(node, network_); arc != end; ++arc) {
        const auto next = boost::target(*arc, network_);
        if (residual_[boost::get(boost::edge_index, network_, *arc)] > 0 && reached[next] == 0) {
          reached[next] = 1;
          stack.push_back(next);
        }
      }
    }
    for (Vertex v = 0; v < graph_.size(); ++v) {
      cut.done[v] = reached[in(v)];
      if (reached[in(v)] != 0 && reached[out(v)] == 0) cut.live.push_back(v);
    }
    return cut;
  }

 private:
  static std::uint32_t in(Vertex v) { return 2 * v; }
  static std::uint32_t out(Vertex v) { return 2 * v + 1; }

  // False when x has none.
  bool mark_descendants(Vertex x) {
    std::vector<char> seen(graph_.size(), 0);
    std::vector<Vertex> stack{x};
    while (!stack.empty()) {
      const Vertex v = stack.back();
      stack.pop_back();
      for (Vertex s : graph_.successors(v)) {
        if (seen[s] != 0) continue;
        seen[s] = 1;
        capacity_[to_sink_[s]] = k_infinite;
        stack.push_back(s);
      }
    }
    return !graph_.successors(x).empty();
  }

  const Cdag& graph_;
  std::uint32_t sink_;
  Network network_;
  std::vector<ArcId> through_, to_sink_;
  std::vector<Words> capacity_, residual_;
  std::vector<NetworkEdge> reverse_, predecessor_;
  std::vector<boost::default_color_type> color_;
  std::vector<long> distance_;
};

// Words alive right after each vertex in the graph's own order: a convex cut, so at least the minimum cut there.
struct Liveness {
  std::vector<Words> plain;            // every word once
  std::vector<Words> double_interior;  // words that are neither input nor output twice
};

Liveness liveness_along_order(const Cdag& graph) {
  const std::size_t n = graph.size();
  std::vector<std::size_t> position(n);
  for (std::size_t i = 0; i < n; ++i) position[graph.order()[i]] = i;
  Liveness live{.plain = std::vector<Words>(n + 1, 0), .double_interior = std::vector<Words>(n + 1, 0)};
  for (Vertex v = 0; v < n; ++v) {
    std::size_t first_use = position[v], last_use = position[v];
    for (Vertex s : graph.successors(v)) last_use = std::max(last_use, position[s]);
    if (graph.is_input(v) && !graph.successors(v).empty()) {
      // An input is live only between its first and its last use.
      first_use = last_use;
      for (Vertex s : graph.successors(v)) first_use = std::min(first_use, position[s]);
      first_use = std::min(first_use, last_use);
    }
    const Words paid = graph.is_input(v) || graph.is_output(v) ? 1 : 2;
    live.plain[first_use] += graph.weight(v);
    live.plain[last_use] -= graph.weight(v);
    live.double_interior[first_use] += paid * graph.weight(v);
    live.double_interior[last_use] -= paid * graph.weight(v);
  }
  for (std::size_t i = 1; i <= n; ++i) {
    live.plain[i] += live.plain[i - 1];
    live.double_interior[i] += live.double_interior[i - 1];
  }
  return live;
}

struct Excess {
  Words words = 0;
  std::size_t cuts = 0;  // that were considered
  Vertex at = 0;
  Words interior_capacity = 1;
};

Excess best_excess(const Cdag& graph, Words fast, std::size_t samples) {
  const std::size_t n = graph.size();
  const Liveness live = liveness_along_order(graph);
  const auto ceiling = [&](std::size_t i) {
    return std::max(live.plain[i] - fast, live.double_interior[i] - 2 * fast);
  };
  std::vector<std::size_t> positions(std::min(samples, n));
  for (std::size_t k = 0; k < positions.size(); ++k) {
    const std::size_t begin = k * n / positions.size(), end = (k + 1) * n / positions.size();
    positions[k] = begin;
    for (std::size_t i = begin; i < end; ++i) {
      if (ceiling(i) >= ceiling(positions[k])) positions[k] = i;
    }
  }
  std::stable_sort(positions.begin(), positions.end(),
                   [&](std::size_t a, std::size_t b) { return ceiling(a) > ceiling(b); });
  Excess best{.cuts = positions.size()};
  if (positions.empty() || ceiling(positions.front()) <= 0) return best;
  WavefrontNetwork network(graph);
  for (std::size_t i : positions) {
    const Vertex x = graph.order()[i];
    for (Words interior : {Words{1}, Words{2}}) {
      const Words most = interior == 1 ? live.plain[i] - fast : live.double_interior[i] - 2 * fast;
      if (most <= best.words) continue;
      const Words excess = network.cut(x, interior) - interior * fast;
      if (excess > best.words) best = {.words = excess, .cuts = best.cuts, .at = x, .interior_capacity = interior};
    }
  }
  return best;
}

// Which of the graph's values had their cuts tried; nothing where all had.
void say_sample(LowerBound& bound, std::size_t tried, std::size_t values) {
  if (tried >= values) return;
  bound.method += ", cuts after " + std::to_string(tried) + " of " + std::to_string(values) + " values";
  bound.assumptions.push_back(
      "of a graph this large a sample of the values has its cuts tried: the bound holds, a larger one may exist");
}

LowerBound with_excess(const Cdag& graph, const Excess& excess) {
  LowerBound bound = compulsory_bound(graph, Rules::red_blue_white);
  bound.method = "wavefront";
  say_sample(bound, excess.cuts, graph.size());
  if (excess.words > 0) {
    bound.parts.push_back(
        {.what = "live values beyond fast memory after vertex " + std::to_string(excess.at), .words = excess.words});
    bound.words += excess.words;
  }
  return bound;
}

}  // namespace

MinimumCut wavefront_cut(const Cdag& graph, Vertex x, Words interior_capacity) {
  CAIRN_ASSERT(x < graph.size());
  WavefrontNetwork network(graph);
  const Words capacity = network.cut(x, interior_capacity);
  if (capacity == 0) return {.capacity = 0, .live = {}, .done = std::vector<char>(graph.size(), 1)};
  return network.witness(x, capacity);
}

LowerBound wavefront_bound(const Cdag& graph, Words fast, std::size_t samples) {
  return with_excess(graph, best_excess(graph, fast, samples));
}

LowerBound wavefront_bound_by_stretches(const Cdag& graph, Words fast, std::size_t stretches,
                                        std::size_t samples_each) {
  CAIRN_ASSERT(stretches >= 1);
  const std::size_t n = graph.size();
  LowerBound bound = compulsory_bound(graph, Rules::red_blue_white);
  bound.method = "wavefronts in " + std::to_string(stretches) + " stretches of the order";
  std::size_t tried = 0;
  for (std::size_t k = 0; k < stretches; ++k) {
    const auto begin = graph.order().begin();
    std::vector<Vertex> part(begin + static_cast<std::ptrdiff_t>(k * n / stretches),
                             begin + static_cast<std::ptrdiff_t>((k + 1) * n / stretches));
    if (part.empty()) continue;
    std::sort(part.begin(), part.end());
    const Excess excess = best_excess(induced_part(graph, part), fast, samples_each);
    tried += excess.cuts;
    if (excess.words == 0) continue;
    bound.parts.push_back(
        {.what = "live values beyond fast memory in stretch " + std::to_string(k), .words = excess.words});
    bound.words += excess.words;
  }
  say_sample(bound, tried, n);
  return bound;
}

}  // namespace cairn::pebble
