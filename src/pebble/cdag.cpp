#include "cairn/pebble/cdag.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <string>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"

namespace cairn::pebble {

namespace {

constexpr Words k_max_total_words = Words{1} << 62;
constexpr std::size_t k_named_in_cycle = 8;

[[noreturn]] void refuse(std::string message, std::string hint) {
  throw core::ConfigurationError("cdag", std::move(message), std::move(hint));
}

std::string name_of(Vertex v, std::span<const std::string> names) {
  return names.empty() ? std::to_string(v) : names[v];
}

// Walks backwards among the vertices that never became ready until one repeats.
std::string describe_cycle(const Cdag& graph, const std::vector<std::size_t>& waiting,
                           std::span<const std::string> names) {
  Vertex at = 0;
  while (waiting[at] == 0) ++at;
  std::vector<Vertex> walk;
  while (std::find(walk.begin(), walk.end(), at) == walk.end()) {
    walk.push_back(at);
    for (Vertex p : graph.predecessors(at)) {
      if (waiting[p] > 0) {
        at = p;
        break;
      }
    }
  }
  std::vector<Vertex> cycle(std::find(walk.begin(), walk.end(), at), walk.end());
  std::reverse(cycle.begin(), cycle.end());
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  std::string text;
  for (std::size_t i = 0; i < std::min(cycle.size(), k_named_in_cycle); ++i) text += name_of(cycle[i], names) + " -> ";
  return text + (cycle.size() > k_named_in_cycle ? "..." : name_of(cycle.front(), names));
}

}  // namespace

std::size_t Cdag::max_in_degree() const {
  std::size_t most = 0;
  for (Vertex v = 0; v < size(); ++v) most = std::max(most, predecessors(v).size());
  return most;
}

Vertex CdagBuilder::vertex(Words weight) {
  labels_.push_back(0);
  weights_.push_back(weight);
  return static_cast<Vertex>(weights_.size() - 1);
}

Vertex CdagBuilder::input(Words weight) {
  const Vertex v = vertex(weight);
  label_input(v);
  return v;
}

Vertex CdagBuilder::compute(std::span<const Vertex> predecessors, Words weight) {
  const Vertex v = vertex(weight);
  for (Vertex p : predecessors) edge(p, v);
  return v;
}

void CdagBuilder::edge(Vertex from, Vertex to) {
  CAIRN_ASSERT(from < size() && to < size());
  edges_.push_back({.from = from, .to = to});
}

void CdagBuilder::label_input(Vertex v) {
  CAIRN_ASSERT(v < size());
  labels_[v] |= Cdag::k_input;
}

void CdagBuilder::label_output(Vertex v) {
  CAIRN_ASSERT(v < size());
  labels_[v] |= Cdag::k_output;
}

void CdagBuilder::check_labels_and_weights(std::span<const std::string> names) const {
  if (size() == 0) refuse("the graph has no vertices", "declare at least one vertex");
  for (const Edge& edge : edges_) {
    if (is_labelled_input(edge.to))
      refuse("input " + name_of(edge.to, names) + " has predecessors",
             "an input is a source; drop the label or the edges into it");
  }
  Words total = 0;
  for (Vertex v = 0; v < size(); ++v) {
    if (weights_[v] < 1)
      refuse("vertex " + name_of(v, names) + " weighs less than one word", "weights are counts of words, at least 1");
    if (weights_[v] > k_max_total_words - total)
      refuse("the vertices weigh more than 2^62 words together", "use smaller weights");
    total += weights_[v];
  }
}

// Predecessors by target in the order given, each once; successors by source, increasing.
void CdagBuilder::connect(Cdag& graph) const {
  const auto sum_up = [](std::vector<std::size_t>& counts) {
    for (std::size_t v = 1; v < counts.size(); ++v) counts[v] += counts[v - 1];
  };
  std::vector<std::size_t> begin(size() + 1, 0);
  for (const Edge& edge : edges_) ++begin[edge.to + 1];
  sum_up(begin);
  std::vector<Vertex> by_target(edges_.size());
  std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
  for (const Edge& edge : edges_) by_target[next[edge.to]++] = edge.from;

  std::vector<Vertex> last_target(size(), static_cast<Vertex>(size()));
  graph.predecessor_begin_.assign(1, 0);
  graph.successor_begin_.assign(size() + 1, 0);
  graph.predecessors_.reserve(edges_.size());
  for (Vertex v = 0; v < size(); ++v) {
    for (std::size_t i = begin[v]; i < begin[v + 1]; ++i) {
      const Vertex from = by_target[i];
      if (last_target[from] == v) continue;
      last_target[from] = v;
      graph.predecessors_.push_back(from);
      ++graph.successor_begin_[from + 1];
    }
    graph.predecessor_begin_.push_back(graph.predecessors_.size());
  }
  sum_up(graph.successor_begin_);
  graph.successors_.resize(graph.predecessors_.size());
  next.assign(graph.successor_begin_.begin(), graph.successor_begin_.end() - 1);
  for (Vertex v = 0; v < size(); ++v) {
    for (Vertex p : graph.predecessors(v)) graph.successors_[next[p]++] = v;
  }
}

void CdagBuilder::sort_topologically(Cdag& graph, std::span<const std::string> names) const {
  graph.order_.reserve(size());
  if (std::all_of(edges_.begin(), edges_.end(), [](const Edge& edge) { return edge.from < edge.to; })) {
    for (Vertex v = 0; v < size(); ++v) graph.order_.push_back(v);
    return;
  }
  std::vector<std::size_t> waiting(size());
  std::priority_queue<Vertex, std::vector<Vertex>, std::greater<>> ready;
  for (Vertex v = 0; v < size(); ++v) {
    waiting[v] = graph.predecessors(v).size();
    if (waiting[v] == 0) ready.push(v);
  }
  while (!ready.empty()) {
    const Vertex v = ready.top();
    ready.pop();
    graph.order_.push_back(v);
    for (Vertex s : graph.successors(v)) {
      if (--waiting[s] == 0) ready.push(s);
    }
  }
  if (graph.order_.size() != size()) {
    refuse("the graph has a cycle: " + describe_cycle(graph, waiting, names),
           "a value cannot depend on itself; give each new value its own vertex");
  }
}

Cdag CdagBuilder::build(std::span<const std::string> names) const {
  check_labels_and_weights(names);
  Cdag graph;
  graph.labels_ = labels_;
  graph.weights_ = weights_;
  graph.unit_weights_ = std::all_of(weights_.begin(), weights_.end(), [](Words w) { return w == 1; });

  connect(graph);
  sort_topologically(graph, names);
  for (Vertex v = 0; v < size(); ++v) {
    graph.input_count_ += graph.is_input(v) ? 1 : 0;
    graph.output_count_ += graph.is_output(v) ? 1 : 0;
    if (graph.is_input(v)) graph.input_words_ += weights_[v];
    if (graph.is_output(v) && !graph.is_input(v)) graph.stored_output_words_ += weights_[v];
  }
  return graph;
}

Cdag induced_part(const Cdag& graph, std::span<const Vertex> vertices) {
  CAIRN_ASSERT(std::is_sorted(vertices.begin(), vertices.end()));
  const auto position = [&](Vertex v) {
    const auto at = std::lower_bound(vertices.begin(), vertices.end(), v);
    return at != vertices.end() && *at == v ? static_cast<std::size_t>(at - vertices.begin()) : vertices.size();
  };
  CdagBuilder builder;
  for (Vertex v : vertices) {
    const Vertex mine = builder.vertex(graph.weight(v));
    if (graph.is_input(v)) builder.label_input(mine);
    if (graph.is_output(v)) builder.label_output(mine);
  }
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    for (Vertex p : graph.predecessors(vertices[i])) {
      const std::size_t from = position(p);
      if (from < vertices.size()) builder.edge(static_cast<Vertex>(from), static_cast<Vertex>(i));
    }
  }
  return builder.build();
}

Cdag relabelled(const Cdag& graph, const Relabelling& change) {
  std::vector<char> input(graph.size()), output(graph.size());
  for (Vertex v = 0; v < graph.size(); ++v) {
    input[v] = graph.is_input(v) ? 1 : 0;
    output[v] = graph.is_output(v) ? 1 : 0;
  }
  for (Vertex v : change.add_inputs) input[v] = 1;
  for (Vertex v : change.remove_inputs) input[v] = 0;
  for (Vertex v : change.add_outputs) output[v] = 1;
  for (Vertex v : change.remove_outputs) output[v] = 0;
  CdagBuilder builder;
  for (Vertex v = 0; v < graph.size(); ++v) {
    builder.vertex(graph.weight(v));
    if (input[v] != 0) builder.label_input(v);
    if (output[v] != 0) builder.label_output(v);
  }
  for (Vertex v = 0; v < graph.size(); ++v) {
    for (Vertex p : graph.predecessors(v)) builder.edge(p, v);
  }
  return builder.build();
}

Cdag renumbered(const Cdag& graph, std::span<const Vertex> names) {
  CAIRN_ASSERT(names.size() == graph.size());
  std::vector<Vertex> old_of(graph.size());
  for (Vertex v = 0; v < graph.size(); ++v) old_of[names[v]] = v;
  CdagBuilder builder;
  for (Vertex v : old_of) {
    const Vertex mine = builder.vertex(graph.weight(v));
    if (graph.is_input(v)) builder.label_input(mine);
    if (graph.is_output(v)) builder.label_output(mine);
  }
  for (Vertex v = 0; v < graph.size(); ++v) {
    for (Vertex p : graph.predecessors(v)) builder.edge(names[p], names[v]);
  }
  return builder.build();
}

}  // namespace cairn::pebble
