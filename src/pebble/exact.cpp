#include "cairn/pebble/exact.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <string>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "cairn/pebble/schedule.h"

namespace cairn::pebble {

namespace {

using Mask = std::uint64_t;

constexpr Mask bit(Vertex v) { return Mask{1} << v; }
Vertex lowest(Mask mask) { return static_cast<Vertex>(std::countr_zero(mask)); }

// for (Vertex v : each(mask)) in increasing order
class Bits {
 public:
  explicit Bits(Mask mask) : mask_(mask) {}
  Vertex operator*() const { return lowest(mask_); }
  Bits& operator++() {
    mask_ &= mask_ - 1;
    return *this;
  }
  bool operator!=(std::nullptr_t) const { return mask_ != 0; }
  Bits begin() const { return *this; }
  std::nullptr_t end() const { return nullptr; }

 private:
  Mask mask_;
};
Bits each(Mask mask) { return Bits(mask); }

struct Cost {
  Words io = 0;
  Words stores = 0;
  friend auto operator<=>(const Cost&, const Cost&) = default;
  friend Cost operator+(Cost a, Cost b) { return {.io = a.io + b.io, .stores = a.stores + b.stores}; }
};
Cost load_of(Words words) { return {.io = words, .stores = 0}; }
Cost store_of(Words words) { return {.io = words, .stores = words}; }

struct State {
  Mask done = 0;  // computed (red_blue_white; inputs always); stays 0 under hong_kung
  Mask red = 0;
  Mask blue = 0;
  friend bool operator==(const State&, const State&) = default;
};

constexpr Words k_unknown_cost = std::numeric_limits<Words>::max() / 2;
constexpr std::uint32_t k_no_parent = std::numeric_limits<std::uint32_t>::max();

struct Node {
  State state;
  Cost cost;
  std::uint32_t parent = k_no_parent;
  std::uint8_t fired = 0;
  bool expanded = false;
};

// Open addressing over indices into a vector of nodes.
class StateTable {
 public:
  StateTable() : slots_(k_first_slots, k_empty) {}
  std::vector<Node>& nodes() { return nodes_; }
  const std::vector<Node>& nodes() const { return nodes_; }

  // The index of the state, and whether it is new.
  std::pair<std::uint32_t, bool> find_or_add(const State& state) {
    if ((nodes_.size() + 1) * 2 > slots_.size()) grow();
    std::size_t at = slot_of(state);
    while (slots_[at] != k_empty) {
      if (nodes_[slots_[at]].state == state) return {slots_[at], false};
      at = (at + 1) & (slots_.size() - 1);
    }
    slots_[at] = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({.state = state, .cost = {}, .parent = k_no_parent, .fired = 0, .expanded = false});
    return {slots_[at], true};
  }

 private:
  static constexpr std::size_t k_first_slots = 1024;
  static constexpr std::uint32_t k_empty = std::numeric_limits<std::uint32_t>::max();

  // Multiplicative hashing with the odd constants of SplitMix64 and of the golden ratio.
  std::size_t slot_of(const State& state) const {
    Mask x = state.done * 0x9E3779B97F4A7C15ULL ^ std::rotl(state.red * 0xBF58476D1CE4E5B9ULL, 21) ^
             std::rotl(state.blue * 0x94D049BB133111EBULL, 42);
    x = (x ^ (x >> 32)) * 0x9E3779B97F4A7C15ULL;
    return (x ^ (x >> 29)) & (slots_.size() - 1);
  }
  void grow() {
    slots_.assign(slots_.size() * 2, k_empty);
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      std::size_t at = slot_of(nodes_[i].state);
      while (slots_[at] != k_empty) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = i;
    }
  }

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> slots_;
};

class Search {
 public:
  // Only plays that cost less than `known` are looked for.
  Search(const Cdag& graph, Game game, Words fast, Cost known);
  // Without `cost` and with `lower` = the cost known when there is none.
  ExactResult run(std::size_t state_budget);

 private:
  bool recomputes() const { return game_.rules == Rules::hong_kung; }
  bool slides() const { return game_.sliding == Sliding::allowed; }
  Words words(Mask mask) const {
    if (unit_weights_) return std::popcount(mask);
    Words sum = 0;
    for (Vertex v : each(mask)) sum += weight_[v];
    return sum;
  }

  State start() const;
  Mask unstored_outputs(const State& state) const { return stored_at_end_ & ~(recomputes() ? state.blue : state.done); }
  // Vertices whose value some firing still to come may read.
  Mask alive(const State& state) const;
  Mask candidates(const State& state, Mask alive) const;
  Cost estimate(const State& state) const;
  bool finished(const State& state) const { return recomputes() ? unstored_outputs(state) == 0 : state.done == all_; }

  void reach(const State& state, Cost cost, std::uint32_t parent, Vertex fired);
  void expand(std::uint32_t index);
  bool fire_at_once(const State& state, Mask alive, Vertex v);
  void fire_with_evictions(const State& state, Mask alive, Vertex v);
  void choose_victims(Mask rest, Words deficit, Mask chosen);
  void settle(Mask victims);
  void finish_firing(const State& before, Mask alive_before, Vertex v, Mask dropped, Mask saved);
  void append_moves(const State& before, const State& after, Vertex v, Play& play) const;
  Play reconstruct(std::uint32_t index) const;

  const Cdag& graph_;
  Game game_;
  Words fast_;
  Cost known_;
  bool unit_weights_;
  Mask all_ = 0, inputs_ = 0, stored_at_end_ = 0, idle_inputs_ = 0;
  std::vector<Mask> reads_, readers_, ancestors_;
  std::vector<Words> weight_;
  StateTable table_;
  std::map<Cost, std::vector<std::uint32_t>> open_;

  // The firing being expanded.
  struct Firing {
    State state;
    Mask alive = 0;
    Vertex vertex = 0;
    Mask slid = 0;
  } firing_;
  std::uint32_t parent_ = k_no_parent;
};

Search::Search(const Cdag& graph, Game game, Words fast, Cost known)
    : graph_(graph),
      game_(game),
      fast_(fast),
      known_(known),
      unit_weights_(graph.has_unit_weights()),
      reads_(graph.size()),
      readers_(graph.size()),
      ancestors_(graph.size()),
      weight_(graph.size()) {
  for (Vertex v : graph.order()) {
    all_ |= bit(v);
    weight_[v] = graph.weight(v);
    if (graph.is_input(v)) inputs_ |= bit(v);
    if (graph.is_input(v) && graph.successors(v).empty()) idle_inputs_ |= bit(v);
    if (graph.is_output(v) && !graph.is_input(v)) stored_at_end_ |= bit(v);
    for (Vertex p : graph.predecessors(v)) {
      reads_[v] |= bit(p);
      ancestors_[v] |= bit(p) | ancestors_[p];
    }
    for (Vertex s : graph.successors(v)) readers_[v] |= bit(s);
  }
}

State Search::start() const {
  State state{.done = recomputes() ? 0 : inputs_, .red = 0, .blue = inputs_};
  state.blue &= alive(state);
  return state;
}

Mask Search::alive(const State& state) const {
  Mask living = 0;
  if (recomputes()) {
    for (Vertex o : each(unstored_outputs(state))) living |= ancestors_[o];
  } else {
    for (Vertex v : each(all_ & ~state.done)) living |= reads_[v];
  }
  return living;
}

Mask Search::candidates(const State& state, Mask living) const {
  return recomputes() ? (living | unstored_outputs(state)) & ~state.red & ~inputs_ : all_ & ~state.done;
}

Cost Search::estimate(const State& state) const {
  const Mask due = unstored_outputs(state);
  Cost left = store_of(words(due));
  if (!recomputes()) {
    // Blue is kept on living values only.
    return left + load_of(words(state.blue & ~state.red));
  }
  Mask wanted = 0, seen = due;
  for (Mask frontier = due; frontier != 0;) {
    const Vertex v = lowest(frontier);
    frontier &= frontier - 1;
    const Mask reads = reads_[v] & ~state.red & ~seen;
    wanted |= reads & inputs_;
    seen |= reads;
    frontier |= reads & ~state.blue;
  }
  return left + load_of(words(wanted));
}

void Search::reach(const State& state, Cost cost, std::uint32_t parent, Vertex fired) {
  if (cost + store_of(words(unstored_outputs(state))) >= known_) return;
  const auto [index, fresh] = table_.find_or_add(state);
  Node& node = table_.nodes()[index];
  if (!fresh && node.cost <= cost) return;
  node.cost = cost;
  node.parent = parent;
  node.fired = static_cast<std::uint8_t>(fired);
  node.expanded = false;
  const Cost bound = cost + estimate(state);
  if (bound < known_) open_[bound].push_back(index);
}

void Search::finish_firing(const State& before, Mask alive_before, Vertex v, Mask dropped, Mask saved) {
  const Mask loaded = reads_[v] & ~before.red;
  State after{.done = before.done, .red = ((before.red | loaded) & ~dropped) | bit(v), .blue = before.blue | saved};
  Cost cost = table_.nodes()[parent_].cost + load_of(words(loaded)) + store_of(words(saved));
  if (!recomputes()) after.done |= bit(v);
  const bool stored = (stored_at_end_ & bit(v) & ~before.blue) != 0;
  if (stored) {
    after.blue |= bit(v);
    cost = cost + store_of(weight_[v]);
  }
  // Under hong_kung only a store can end a life.
  const Mask living = recomputes() && !stored ? alive_before : alive(after);
  after.red &= living;
  after.blue &= recomputes() ? living | stored_at_end_ : living;
  reach(after, cost, parent_, v);
}

// Whether firing v now, without cost but its own store, is certainly best; then it is done.
bool Search::fire_at_once(const State& state, Mask living, Vertex v) {
  if ((reads_[v] & ~state.red) != 0) return false;
  const Words held = words(state.red);
  const bool has_room = held + weight_[v] <= fast_;
  const bool stored = (stored_at_end_ & bit(v)) != 0;
  const bool recomputed_output = stored && (state.blue & bit(v)) != 0;
  if (recomputed_output) return false;
  if (has_room && (living & bit(v)) == 0) {
    finish_firing(state, living, v, 0, 0);
    return true;
  }
  const Mask firable = recomputes() ? living | unstored_outputs(state) : all_ & ~state.done;
  for (Vertex u : each(reads_[v])) {
    const bool only_reader = (readers_[u] & firable) == bit(v);
    const bool fits = has_room || (slides() && held - weight_[u] + weight_[v] <= fast_);
    if (!only_reader || !fits || weight_[u] < weight_[v]) continue;
    if (!stored && (state.blue & bit(u)) != 0) continue;
    finish_firing(state, living, v, bit(u), 0);
    return true;
  }
  return false;
}

// Every way to give up `victims`: blue ones are dropped, others saved, or under hong_kung saved or dropped.
void Search::settle(Mask victims) {
  const Mask unsaved = victims & ~firing_.state.blue & ~(firing_.slid & ~firing_.alive);
  if (!recomputes()) return finish_firing(firing_.state, firing_.alive, firing_.vertex, victims, unsaved);
  Mask saved = unsaved;
  while (true) {
    finish_firing(firing_.state, firing_.alive, firing_.vertex, victims, saved);
    if (saved == 0) return;
    saved = (saved - 1) & unsaved;
  }
}

// Extends `chosen` from `rest` to every inclusion-minimal set of at least `deficit` words.
void Search::choose_victims(Mask rest, Words deficit, Mask chosen) {
  if (deficit <= 0) {
    for (Vertex u : each(unit_weights_ ? 0 : chosen)) {
      if (deficit + weight_[u] <= 0) return;
    }
    return settle(chosen | firing_.slid);
  }
  if (words(rest) < deficit) return;
  for (Vertex u : each(rest)) {
    rest &= ~bit(u);
    choose_victims(rest, deficit - weight_[u], chosen | bit(u));
  }
}

void Search::fire_with_evictions(const State& state, Mask living, Vertex v) {
  const Mask missing = reads_[v] & ~state.red;
  if ((missing & ~state.blue) != 0) return;
  const Words held = words(state.red | reads_[v]);
  const Mask others = state.red & ~reads_[v];
  const Words deficit = held + weight_[v] - fast_;
  // A predecessor that dies with this firing is slid for nothing, which no other choice can better.
  const Mask firable = recomputes() ? 0 : all_ & ~state.done;
  Mask dying = 0;
  if (slides() && deficit > 0) {
    for (Vertex u : each(reads_[v])) {
      if (!recomputes() && (readers_[u] & firable) == bit(v)) dying |= bit(u);
    }
  }
  firing_ = {.state = state, .alive = living & ~dying, .vertex = v, .slid = 0};
  if (dying == 0 || !unit_weights_) choose_victims(others, deficit, 0);
  if (!slides() || deficit <= 0) return;
  for (Vertex u : each(dying != 0 && unit_weights_ ? dying & (~dying + 1) : reads_[v])) {
    firing_.slid = bit(u);
    const Words before = held - fast_, after = deficit - weight_[u];
    choose_victims(others, std::max(before, after), 0);
  }
}

void Search::expand(std::uint32_t index) {
  parent_ = index;
  const State state = table_.nodes()[index].state;
  const Mask living = alive(state);
  const Mask choices = candidates(state, living);
  for (Vertex v : each(choices)) {
    if (fire_at_once(state, living, v)) return;
  }
  for (Vertex v : each(choices)) fire_with_evictions(state, living, v);
}

void Search::append_moves(const State& before, const State& after, Vertex v, Play& play) const {
  const Mask reads = reads_[v];
  const Mask gained_blue = after.blue & ~before.blue;
  const Mask stored_at_firing = stored_at_end_ & bit(v) & ~before.blue;
  Mask victims = before.red & ~after.red & ~reads;
  const Mask loaded = reads & ~before.red;
  Words held = words((before.red & ~victims) | reads);
  Mask slid = 0;
  if (held + weight_[v] > fast_) {
    for (Vertex u : each(reads & ~after.red)) {
      if (held - weight_[u] + weight_[v] <= fast_) slid = bit(u);
    }
  }
  for (Vertex u : each(gained_blue & ~stored_at_firing)) play.push_back({.kind = MoveKind::store, .vertex = u});
  for (Vertex u : each(victims)) play.push_back({.kind = MoveKind::erase, .vertex = u});
  for (Vertex u : each(loaded)) play.push_back({.kind = MoveKind::load, .vertex = u});
  if (slid != 0) {
    play.push_back({.kind = MoveKind::slide, .vertex = v, .from = lowest(slid)});
  } else {
    play.push_back({.kind = MoveKind::compute, .vertex = v});
  }
  if (stored_at_firing != 0) play.push_back({.kind = MoveKind::store, .vertex = v});
  for (Vertex u : each((reads | bit(v)) & ~after.red & ~slid)) play.push_back({.kind = MoveKind::erase, .vertex = u});
}

Play Search::reconstruct(std::uint32_t index) const {
  std::vector<std::uint32_t> path;
  const auto& nodes = table_.nodes();
  for (std::uint32_t at = index; nodes[at].parent != k_no_parent; at = nodes[at].parent) path.push_back(at);
  std::reverse(path.begin(), path.end());
  Play play;
  if (!recomputes()) {
    for (Vertex v : each(idle_inputs_)) {
      play.push_back({.kind = MoveKind::load, .vertex = v});
      play.push_back({.kind = MoveKind::erase, .vertex = v});
    }
  }
  for (std::uint32_t at : path) append_moves(nodes[nodes[at].parent].state, nodes[at].state, nodes[at].fired, play);
  return play;
}

ExactResult Search::run(std::size_t state_budget) {
  reach(start(), recomputes() ? Cost{} : load_of(words(idle_inputs_)), k_no_parent, 0);
  while (!open_.empty()) {
    const auto bucket = open_.begin();
    if (bucket->second.empty()) {
      open_.erase(bucket);
      continue;
    }
    const std::uint32_t index = bucket->second.back();
    const Cost bound = bucket->first;
    bucket->second.pop_back();
    Node& node = table_.nodes()[index];
    if (node.expanded) continue;
    node.expanded = true;
    if (finished(node.state)) {
      ExactResult result{
          .lower = node.cost.io,
          .cost = PlayCost{.loads = node.cost.io - node.cost.stores, .stores = node.cost.stores, .peak = 0},
          .play = reconstruct(index),
          .states = table_.nodes().size()};
      return result;
    }
    if (table_.nodes().size() > state_budget)
      return {.lower = bound.io, .cost = {}, .play = {}, .states = table_.nodes().size()};
    expand(index);
  }
  return {.lower = known_.io, .cost = {}, .play = {}, .states = table_.nodes().size()};
}

ExactResult solve_below(const Cdag& graph, Game game, Words fast, std::size_t state_budget, ExactResult known) {
  const Cost cost{.io = known.cost->total(), .stores = known.cost->stores};
  ExactResult found = Search(graph, game, fast, cost).run(state_budget);
  if (found.cost || found.lower < cost.io || found.states > state_budget) return found;
  known.lower = cost.io;
  known.states = found.states;
  return known;
}

}  // namespace

ExactResult solve_exactly(const Cdag& graph, Game game, Words fast, std::size_t state_budget) {
  if (graph.size() > k_exact_max_vertices) {
    throw core::ConfigurationError("exact",
                                   "the exact solver takes at most " + std::to_string(k_exact_max_vertices) +
                                       " vertices, this graph has " + std::to_string(graph.size()),
                                   "use a smaller size, or the bounds without --exact");
  }
  require_playable(graph, game, fast);
  // A play is known before the search: in some good order, and under hong_kung the best without recomputation.
  UpperBound ordered;
  if (minimum_fast_words(graph, {Rules::red_blue_white, game.sliding}) <= fast) {
    ordered = best_ordered_play(graph, game.sliding, fast);
  } else {
    return Search(graph, game, fast, {.io = k_unknown_cost, .stores = 0}).run(state_budget);
  }
  ExactResult best{.lower = 0,
                   .cost = PlayCost{.loads = ordered.loads, .stores = ordered.stores, .peak = 0},
                   .play = std::move(ordered.play),
                   .states = 0};
  if (game.rules == Rules::hong_kung) {
    ExactResult without = solve_below(graph, {Rules::red_blue_white, game.sliding}, fast, state_budget, best);
    if (without.cost) best = std::move(without);
  }
  return solve_below(graph, game, fast, state_budget, std::move(best));
}

}  // namespace cairn::pebble
