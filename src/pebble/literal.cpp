#include <algorithm>
#include <queue>
#include <unordered_map>

#include "cairn/core/assert.h"
#include "cairn/pebble/exact.h"

namespace cairn::pebble {

namespace {

constexpr std::size_t k_max_vertices = 21;  // three masks in one 64-bit key

struct State {
  std::uint32_t red, blue, white;
  std::uint64_t key() const {
    return red | std::uint64_t{blue} << k_max_vertices | std::uint64_t{white} << 2 * k_max_vertices;
  }
};

using Cost = std::pair<Words, Words>;  // loads + stores, stores

class LiteralSearch {
 public:
  LiteralSearch(const Cdag& graph, Game game, Words fast) : graph_(graph), game_(game), fast_(fast) {}

  std::optional<PlayCost> run(std::size_t state_budget) {
    State start{.red = 0, .blue = 0, .white = 0};
    for (Vertex v = 0; v < graph_.size(); ++v) start.blue |= graph_.is_input(v) ? bit(v) : 0;
    reach(start, {0, 0});
    while (!queue_.empty()) {
      const auto [cost, key] = queue_.top();
      queue_.pop();
      if (cost != best_.at(key)) continue;
      const State state{.red = mask(key, 0), .blue = mask(key, 1), .white = mask(key, 2)};
      if (finished(state)) return PlayCost{.loads = cost.first - cost.second, .stores = cost.second, .peak = 0};
      if (best_.size() > state_budget) return std::nullopt;
      expand(state, cost);
    }
    return std::nullopt;
  }

 private:
  static std::uint32_t bit(Vertex v) { return std::uint32_t{1} << v; }
  static std::uint32_t mask(std::uint64_t key, std::size_t which) {
    return static_cast<std::uint32_t>(key >> which * k_max_vertices & ((std::uint64_t{1} << k_max_vertices) - 1));
  }

  void reach(State state, Cost cost) {
    Words held = 0;
    for (Vertex v = 0; v < graph_.size(); ++v) held += (state.red & bit(v)) != 0 ? graph_.weight(v) : 0;
    if (held > fast_) return;
    const auto [at, fresh] = best_.emplace(state.key(), cost);
    if (!fresh && at->second <= cost) return;
    at->second = cost;
    queue_.emplace(cost, state.key());
  }

  bool finished(State state) const {
    for (Vertex v = 0; v < graph_.size(); ++v) {
      if (game_.rules == Rules::red_blue_white && (state.white & bit(v)) == 0) return false;
      if (graph_.is_output(v) && (state.blue & bit(v)) == 0) return false;
    }
    return true;
  }

  bool may_fire(State state, Vertex v) const {
    if (graph_.is_input(v) || (game_.rules == Rules::red_blue_white && (state.white & bit(v)) != 0)) return false;
    const auto reads = graph_.predecessors(v);
    return std::all_of(reads.begin(), reads.end(), [&](Vertex p) { return (state.red & bit(p)) != 0; });
  }

  State with_red(State state, Vertex v) const {
    state.red |= bit(v);
    if (game_.rules == Rules::red_blue_white) state.white |= bit(v);
    return state;
  }

  void expand(State state, Cost cost) {
    for (Vertex v = 0; v < graph_.size(); ++v) {
      const Words w = graph_.weight(v);
      if ((state.blue & bit(v)) != 0) reach(with_red(state, v), {cost.first + w, cost.second});
      if ((state.red & bit(v)) != 0) {
        reach({.red = state.red, .blue = state.blue | bit(v), .white = state.white}, {cost.first + w, cost.second + w});
        reach({.red = state.red & ~bit(v), .blue = state.blue, .white = state.white}, cost);
      }
      if (!may_fire(state, v)) continue;
      reach(with_red(state, v), cost);
      if (game_.sliding == Sliding::forbidden) continue;
      for (Vertex p : graph_.predecessors(v)) {
        State slid = state;
        slid.red &= ~bit(p);
        reach(with_red(slid, v), cost);
      }
    }
  }

  const Cdag& graph_;
  Game game_;
  Words fast_;
  std::unordered_map<std::uint64_t, Cost> best_;
  std::priority_queue<std::pair<Cost, std::uint64_t>, std::vector<std::pair<Cost, std::uint64_t>>, std::greater<>>
      queue_;
};

}  // namespace

std::optional<PlayCost> solve_literally(const Cdag& graph, Game game, Words fast, std::size_t state_budget) {
  CAIRN_ASSERT(graph.size() <= k_max_vertices);
  require_playable(graph, game, fast);
  return LiteralSearch(graph, game, fast).run(state_budget);
}

}  // namespace cairn::pebble
