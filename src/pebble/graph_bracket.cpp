#include "cairn/pebble/graph_bracket.h"

#include <algorithm>

#include "cairn/pebble/partition.h"
#include "cairn/pebble/schedule.h"
#include "cairn/pebble/wavefront.h"

namespace cairn::pebble {

namespace {

// A cut is a maximum flow over the whole graph: so many edges are looked at in all, some seconds.
constexpr std::size_t k_cut_edges = 20'000'000;
constexpr std::size_t k_stretches[] = {2, 4, 8, 16};

std::size_t affordable_samples(const Cdag& graph) {
  const std::size_t each = graph.size() + graph.edge_count();
  const std::size_t samples = std::max<std::size_t>(1, k_cut_edges / std::max<std::size_t>(each, 1));
  return samples >= graph.size() ? k_every_vertex : samples;
}

}  // namespace

std::vector<LowerBound> lower_bounds(const Cdag& graph, Words fast, Game game) {
  require_playable(graph, game, fast);
  std::vector<LowerBound> all{compulsory_bound(graph, game.rules)};
  if (game.rules == Rules::hong_kung) return all;
  const std::size_t samples = affordable_samples(graph);
  all.push_back(wavefront_bound(graph, fast, samples));
  for (std::size_t stretches : k_stretches) {
    if (stretches > graph.size()) break;
    const std::size_t each = samples == k_every_vertex ? samples : std::max<std::size_t>(1, samples / stretches);
    all.push_back(wavefront_bound_by_stretches(graph, fast, stretches, each));
  }
  const std::size_t computed = graph.size() - graph.input_count();
  if (graph.has_unit_weights() && computed <= k_partition_max_computed) all.push_back(partition_bound(graph, fast));
  return all;
}

Bracket bracket(const Cdag& graph, Words fast, Game game) {
  Bracket result{.lower = best_for(lower_bounds(graph, fast, game), game), .upper = {}};
  result.upper = best_ordered_play(graph, game.sliding, fast);
  return result;
}

}  // namespace cairn::pebble
