#include "cairn/pebble/horizontal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include <boost/pending/disjoint_sets.hpp>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "cairn/pebble/partition.h"
#include "cairn/pebble/schedule.h"

namespace cairn::pebble {

namespace {

constexpr std::size_t k_exhaustive_vertices = 12;
constexpr double k_exhaustive_maps = 2e6;
constexpr std::size_t k_exchange_vertices = 400;  // up to here pairs of values are exchanged, too
constexpr double k_path_edges = 3e7;              // that flow is followed over, under a second
constexpr int k_rounds = 8;                       // of moves and exchanges

std::size_t computed(const Cdag& graph) { return graph.size() - graph.input_count(); }

std::size_t share(const Cdag& graph, std::uint32_t nodes) { return (computed(graph) + nodes - 1) / nodes; }

void check(std::uint32_t nodes) {
  if (nodes < 1) throw core::ConfigurationError("nodes", "0 nodes", "give at least 1");
}

void check(const Cdag& graph, std::uint32_t nodes, Words fast) {
  check(nodes);
  require_playable(graph, {Rules::red_blue_white, Sliding::forbidden}, fast);
}

LowerBound bound_of(Words words, std::string method, std::string what, std::string assumption) {
  LowerBound bound;
  bound.words = words;
  bound.games = GameSet::with_rules(Rules::red_blue_white);
  bound.method = std::move(method);
  bound.assumptions = {std::move(assumption)};
  bound.parts = {{.what = std::move(what), .words = words}};
  return bound;
}

Words fan_out_words(const Cdag& graph, std::size_t most) {
  Words words = 0;
  for (Vertex v = 0; v < graph.size(); ++v) {
    const std::size_t readers = graph.successors(v).size();
    if (readers > most) words += graph.weight(v) * static_cast<Words>((readers + most - 1) / most - 1);
  }
  return words;
}

Words component_words(const Cdag& graph, std::size_t most) {
  std::vector<Vertex> rank(graph.size()), parent(graph.size());
  boost::disjoint_sets components(rank.data(), parent.data());
  for (Vertex v = 0; v < graph.size(); ++v) components.make_set(v);
  Words lightest = std::numeric_limits<Words>::max();
  for (Vertex v = 0; v < graph.size(); ++v) {
    lightest = std::min(lightest, graph.weight(v));
    for (Vertex p : graph.predecessors(v)) components.union_set(p, v);
  }
  std::vector<std::size_t> size(graph.size(), 0);
  for (Vertex v = 0; v < graph.size(); ++v)
    if (!graph.is_input(v)) ++size[components.find_set(v)];
  Words joins = 0;
  for (const std::size_t each : size)
    if (each > 0) joins += static_cast<Words>((each + most - 1) / most) - 1;
  return joins * lightest;
}

// Flow from single values to all others, and what of it passes the edges of each value.
class Flow {
 public:
  explicit Flow(const Cdag& graph)
      : graph_(graph), through_(graph.size(), 0.0), ways_(graph.size()), flow_(graph.size()), distance_(graph.size()) {}

  // Returns the computed values reached, the source with them.
  std::size_t add(Vertex source) {
    std::fill(ways_.begin(), ways_.end(), 0.0);
    std::fill(distance_.begin(), distance_.end(), k_unseen);
    std::vector<Vertex> seen{source};
    distance_[source] = 0;
    ways_[source] = 1.0;
    for (std::size_t at = 0; at < seen.size(); ++at) {
      const Vertex v = seen[at];
      for_neighbours(v, [&](Vertex u, Vertex) {
        if (distance_[u] == k_unseen) {
          distance_[u] = distance_[v] + 1;
          seen.push_back(u);
        }
        if (distance_[u] == distance_[v] + 1) ways_[u] += ways_[v];
      });
    }
    std::size_t reached = 0;
    for (const Vertex v : seen) {
      flow_[v] = graph_.is_input(v) ? 0.0 : 1.0;
      reached += graph_.is_input(v) ? 0 : 1;
    }
    for (std::size_t at = seen.size(); at-- > 0;) {
      const Vertex v = seen[at];
      for_neighbours(v, [&](Vertex u, Vertex maker) {
        if (distance_[u] + 1 != distance_[v]) return;
        const double part = flow_[v] * ways_[u] / ways_[v];
        through_[maker] += part;
        flow_[u] += part;
      });
    }
    return reached;
  }

  // Fewest words of values through which `units` pass.
  Words fewest_words(double units) const {
    std::vector<Vertex> order(graph_.size());
    std::iota(order.begin(), order.end(), Vertex{0});
    const auto gain = [&](Vertex v) { return through_[v] / static_cast<double>(graph_.weight(v)); };
    std::sort(order.begin(), order.end(), [&](Vertex a, Vertex b) { return gain(a) > gain(b); });
    double words = 0.0;
    for (const Vertex v : order) {
      if (units <= 0.0 || through_[v] <= 0.0) break;
      words += static_cast<double>(graph_.weight(v)) * std::min(1.0, units / through_[v]);
      units -= through_[v];
    }
    return static_cast<Words>(std::ceil(words * (1.0 - k_rounding) - k_rounding));
  }

 private:
  static constexpr std::uint32_t k_unseen = std::numeric_limits<std::uint32_t>::max();
  static constexpr double k_rounding = 1e-6;

  // Calls visit(neighbour, the one of the two that the edge comes from).
  template <class Visit>
  void for_neighbours(Vertex v, const Visit& visit) const {
    for (const Vertex s : graph_.successors(v)) visit(s, v);
    for (const Vertex p : graph_.predecessors(v)) visit(p, p);
  }

  const Cdag& graph_;
  std::vector<double> through_, ways_, flow_;
  std::vector<std::uint32_t> distance_;
};

Words path_words(const Cdag& graph, std::size_t most) {
  const double each = static_cast<double>(graph.size() + graph.edge_count());
  const auto sources = static_cast<std::size_t>(std::max(1.0, k_path_edges / each));
  const std::size_t step = std::max<std::size_t>(1, computed(graph) / sources);
  Flow flow(graph);
  double units = 0.0;
  std::size_t at = 0;
  for (const Vertex v : graph.order()) {
    if (graph.is_input(v) || at++ % step != 0) continue;
    const std::size_t reached = flow.add(v);
    if (reached > most) units += static_cast<double>(reached - most);
  }
  return std::max<Words>(0, flow.fewest_words(units));
}

bool exhaustible(const Cdag& graph, std::uint32_t nodes) {
  double maps = 1.0;
  for (std::size_t v = 0; v < graph.size(); ++v) maps *= nodes;
  return graph.size() <= k_exhaustive_vertices && maps <= k_exhaustive_maps;
}

// A balanced owner map, made better value by value.
class OwnerMap {
 public:
  OwnerMap(const Cdag& graph, std::uint32_t nodes)
      : graph_(graph), nodes_(nodes), most_(share(graph, nodes)), owner_(graph.size(), 0), load_(nodes, 0) {
    Words fewest = -1;
    std::vector<Vertex> best;
    for (const std::vector<Vertex>& order : {graph.order(), by_place(), depth_first_order(graph)}) {
      fill(order);
      const Words words = all_words();
      if (fewest >= 0 && words >= fewest) continue;
      fewest = words;
      best = order;
    }
    fill(best);
    for (int round = 0; round < k_rounds && improve(); ++round) {
    }
    for (Vertex v = 0; v < graph.size(); ++v)
      if (graph.is_input(v) && !graph.successors(v).empty()) owner_[v] = owner_[graph.successors(v).front()];
  }

  std::vector<std::uint32_t> take() { return std::move(owner_); }

 private:
  // Stretches of equal length.
  void fill(std::span<const Vertex> order) {
    std::fill(load_.begin(), load_.end(), std::size_t{0});
    std::uint32_t node = 0;
    for (Vertex v : order) {
      if (graph_.is_input(v)) continue;
      if (load_[node] == most_) ++node;
      owner_[v] = node;
      ++load_[node];
    }
  }
  // By the mean place of the sources that a value is made of: strips of a grid through all its steps.
  std::vector<Vertex> by_place() const {
    std::vector<double> place(graph_.size(), 0.0);
    double next = 0.0;
    for (Vertex v : graph_.order()) {
      const auto operands = graph_.predecessors(v);
      if (operands.empty()) place[v] = next++;
      for (Vertex p : operands) place[v] += place[p] / static_cast<double>(operands.size());
    }
    std::vector<Vertex> order = graph_.order();
    std::stable_sort(order.begin(), order.end(), [&](Vertex a, Vertex b) { return place[a] < place[b]; });
    return order;
  }
  Words all_words() const {
    Words words = 0;
    for (Vertex v = 0; v < graph_.size(); ++v) words += words_of(v);
    return words;
  }

  // Words received of one value; an input starts with one of its readers.
  Words words_of(Vertex v) const {
    std::set<std::uint32_t> nodes;
    if (!graph_.is_input(v)) nodes.insert(owner_[v]);
    for (Vertex s : graph_.successors(v)) nodes.insert(owner_[s]);
    return nodes.empty() ? 0 : graph_.weight(v) * static_cast<Words>(nodes.size() - 1);
  }
  Words words_near(std::initializer_list<Vertex> changed) const {
    std::set<Vertex> values(changed);
    for (Vertex v : changed) values.insert(graph_.predecessors(v).begin(), graph_.predecessors(v).end());
    Words words = 0;
    for (Vertex v : values) words += words_of(v);
    return words;
  }

  bool improve() {
    bool better = false;
    for (Vertex v : graph_.order()) {
      if (graph_.is_input(v)) continue;
      better = move(v) || better;
      if (graph_.size() > k_exchange_vertices) continue;
      for (Vertex u = 0; u < v; ++u) better = (!graph_.is_input(u) && exchange(u, v)) || better;
    }
    return better;
  }
  bool move(Vertex v) {
    const std::uint32_t from = owner_[v];
    const Words before = words_near({v});
    for (std::uint32_t to = 0; to < nodes_; ++to) {
      if (to == from || load_[to] == most_) continue;
      owner_[v] = to;
      if (words_near({v}) < before) {
        --load_[from];
        ++load_[to];
        return true;
      }
      owner_[v] = from;
    }
    return false;
  }
  bool exchange(Vertex u, Vertex v) {
    if (owner_[u] == owner_[v]) return false;
    const Words before = words_near({u, v});
    std::swap(owner_[u], owner_[v]);
    if (words_near({u, v}) < before) return true;
    std::swap(owner_[u], owner_[v]);
    return false;
  }

  const Cdag& graph_;
  std::uint32_t nodes_;
  std::size_t most_;
  std::vector<std::uint32_t> owner_;
  std::vector<std::size_t> load_;
};

// Plays an owner map in execution order.
class NodePlay {
 public:
  NodePlay(const Cdag& graph, std::span<const std::uint32_t> owner, std::uint32_t nodes, Words fast)
      : graph_(graph), owner_(owner), fast_(fast), held_(nodes), words_(nodes, 0), blue_(graph.size(), 0) {
    uses_.resize(nodes);
    std::size_t at = 0;
    for (Vertex v : graph.order()) {
      if (graph.is_input(v)) continue;
      for (Vertex p : graph.predecessors(v)) uses_[owner[v]][p].push_back(at);
      ++at;
    }
  }

  ParallelPlay run() {
    for (Vertex v = 0; v < graph_.size(); ++v) blue_[v] = graph_.is_input(v) ? 1 : 0;
    for (Vertex v : graph_.order())
      if (!graph_.is_input(v)) compute(v);
    // An input that nothing read is taken in, too: the game ends when everything was seen.
    for (Vertex v = 0; v < graph_.size(); ++v)
      if (graph_.is_input(v) && graph_.successors(v).empty()) add(ParallelMoveKind::input, owner_[v], v, {v});
    return std::move(play_);
  }

 private:
  void compute(Vertex v) {
    const std::uint32_t node = owner_[v];
    std::set<Vertex> needed(graph_.predecessors(v).begin(), graph_.predecessors(v).end());
    needed.insert(v);
    for (Vertex p : graph_.predecessors(v)) fetch(node, p, needed);
    add(ParallelMoveKind::compute, node, v, needed);
    if (graph_.is_output(v)) store(node, v);
    ++now_;
    for (Vertex each : needed) drop_if_done(node, each);
  }

  // From a node that holds it; an input goes to the node where it starts first.
  void fetch(std::uint32_t node, Vertex p, const std::set<Vertex>& needed) {
    if (held_[node].contains(p)) return;
    std::optional<std::uint32_t> holder = holder_of(p);
    if (!holder && graph_.is_input(p) && owner_[p] != node && !seen_.contains(p)) {
      add(ParallelMoveKind::input, owner_[p], p, {p});
      holder = owner_[p];
    }
    seen_.insert(p);
    add(holder ? ParallelMoveKind::get : ParallelMoveKind::input, node, p, needed, holder.value_or(0));
    if (holder) drop_if_done(*holder, p);
  }

  std::optional<std::uint32_t> holder_of(Vertex v) const {
    for (std::uint32_t node = 0; node < held_.size(); ++node)
      if (held_[node].contains(v)) return node;
    return {};
  }

  // Puts a copy of v into the node's memory after room has been made.
  void add(ParallelMoveKind kind, std::uint32_t node, Vertex v, const std::set<Vertex>& kept, std::uint32_t from = 0) {
    while (words_[node] + graph_.weight(v) > fast_) evict(node, kept);
    play_.push_back({.kind = kind, .vertex = v, .unit = node, .from = from});
    held_[node].insert(v);
    words_[node] += graph_.weight(v);
  }

  std::size_t next_use(std::uint32_t node, Vertex v) const {
    const auto found = uses_[node].find(v);
    if (found == uses_[node].end()) return std::numeric_limits<std::size_t>::max();
    const auto at = std::lower_bound(found->second.begin(), found->second.end(), now_);
    return at == found->second.end() ? std::numeric_limits<std::size_t>::max() : *at;
  }
  bool used_later(Vertex v) const {
    for (std::uint32_t node = 0; node < held_.size(); ++node)
      if (next_use(node, v) != std::numeric_limits<std::size_t>::max()) return true;
    return false;
  }

  void evict(std::uint32_t node, const std::set<Vertex>& kept) {
    std::optional<Vertex> victim;
    for (Vertex v : held_[node])
      if (!kept.contains(v) && (!victim || next_use(node, v) > next_use(node, *victim))) victim = v;
    CAIRN_ASSERT(victim.has_value() && "a value and its operands fit");
    const bool elsewhere = std::any_of(held_.begin(), held_.end(), [&](const auto& other) {
      return &other != &held_[node] && other.contains(*victim);
    });
    if (blue_[*victim] == 0 && !elsewhere && used_later(*victim)) store(node, *victim);
    erase(node, *victim);
  }
  void store(std::uint32_t node, Vertex v) {
    play_.push_back({.kind = ParallelMoveKind::output, .vertex = v, .unit = node});
    blue_[v] = 1;
  }
  void erase(std::uint32_t node, Vertex v) {
    play_.push_back({.kind = ParallelMoveKind::erase, .vertex = v, .unit = node, .level = 0});
    held_[node].erase(v);
    words_[node] -= graph_.weight(v);
  }
  void drop_if_done(std::uint32_t node, Vertex v) {
    if (!held_[node].contains(v) || used_later(v)) return;
    erase(node, v);
  }

  const Cdag& graph_;
  std::span<const std::uint32_t> owner_;
  Words fast_;
  std::vector<std::set<Vertex>> held_;
  std::vector<Words> words_;
  std::vector<char> blue_;
  std::set<Vertex> seen_;
  std::vector<std::map<Vertex, std::vector<std::size_t>>> uses_;  // positions in the order at which a node reads it
  std::size_t now_ = 0;
  ParallelPlay play_;
};

}  // namespace

std::vector<LowerBound> received_lower_bounds(const Cdag& graph, std::uint32_t nodes) {
  check(nodes);
  const std::size_t most = std::max<std::size_t>(share(graph, nodes), 1);
  const std::string rule = "no node computes more than " + std::to_string(most) + " of " +
                           std::to_string(computed(graph)) + " values, each once; inputs start where one wants";
  std::vector<LowerBound> bounds{
      bound_of(fan_out_words(graph, most), "fan-out", "values that one node's share cannot use up", rule),
      bound_of(component_words(graph, most), "components", "words that join the nodes of a component", rule),
      bound_of(path_words(graph, most), "paths", "values that flow between nodes passes", rule)};
  if (exhaustible(graph, nodes))
    bounds.push_back(
        bound_of(least_horizontal_words(graph, nodes), std::string(k_every_placement), "connectivity less one", rule));
  return bounds;
}

std::vector<LowerBound> busiest_lower_bounds(const Cdag& graph, std::uint32_t nodes, Words fast) {
  check(graph, nodes, fast);
  const Words moved = graph.input_words() + graph.stored_output_words();
  const std::string rule = "every value computed once, words in and out, slow memory counts as outside";
  std::vector<LowerBound> bounds{
      bound_of((moved + nodes - 1) / nodes, "compulsory, shared", "a share of inputs and outputs", rule)};
  if (graph.has_unit_weights() && computed(graph) <= k_partition_max_computed && computed(graph) > 0) {
    bounds.push_back(partition_bound_of_share(graph, fast, static_cast<Words>(share(graph, nodes))));
    bounds.back().assumptions.push_back(rule);
  }
  return bounds;
}

Words Distribution::busiest() const {
  Words most = 0;
  for (std::size_t node = 0; node < cost.horizontal.size(); ++node)
    most = std::max(most, cost.horizontal[node] + cost.sent[node] + cost.blue[node]);
  return most;
}

Distribution distribute(const Cdag& graph, std::uint32_t nodes, std::optional<Words> fast) {
  check(nodes);
  if (fast) check(graph, nodes, *fast);
  Words everything = 0;
  for (Vertex v = 0; v < graph.size(); ++v) everything += graph.weight(v);
  const Words capacity = fast.value_or(everything);
  Distribution result{.owner = OwnerMap(graph, nodes).take(), .play = {}, .cost = {}};
  result.play = NodePlay(graph, result.owner, nodes, capacity).run();
  const Machine machine{.levels = {{.units = nodes, .capacity = capacity}}};
  ParallelVerdict verdict = verify(graph, machine, result.play);
  CAIRN_ASSERT(verdict.cost.has_value() && "the play is legal");
  result.cost = std::move(*verdict.cost);
  return result;
}

}  // namespace cairn::pebble
