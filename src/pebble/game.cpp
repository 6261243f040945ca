#include "cairn/pebble/game.h"

#include <algorithm>

#include "cairn/core/diagnostics.h"
#include "cairn/pebble/play_file.h"

namespace cairn::pebble {

std::string to_string(Game game) {
  return std::string(game.rules == Rules::hong_kung ? "HK" : "RBW") +
         (game.sliding == Sliding::allowed ? "_slide" : "");
}

Game parse_game(const std::string& text) {
  std::vector<std::string> names;
  for (Game game : k_all_games) {
    names.push_back(to_string(game));
    if (names.back() == text) return game;
  }
  const std::string near = core::nearest(text, names);
  throw core::ConfigurationError(
      "game", "unknown game '" + text + "'",
      near.empty() ? "games are HK, HK_slide, RBW, RBW_slide" : "did you mean '" + near + "'?");
}

std::string to_string(GameSet games) {
  std::string text;
  for (Game game : k_all_games) {
    if (games.contains(game)) text += (text.empty() ? "" : ", ") + to_string(game);
  }
  return text;
}

Words minimum_fast_words(const Cdag& graph, Game game) {
  // Under Hong-Kung rules a vertex that no output depends on need never be touched.
  std::vector<char> needed(graph.size(), game.rules == Rules::red_blue_white ? 1 : 0);
  for (auto v = graph.order().rbegin(); v != graph.order().rend(); ++v) {
    if (graph.is_output(*v) && !graph.is_input(*v)) needed[*v] = 1;
    for (Vertex s : graph.successors(*v)) needed[*v] |= needed[s];
  }
  Words minimum = 0;
  for (Vertex v = 0; v < graph.size(); ++v) {
    if (needed[v] == 0) continue;
    Words read = 0, largest_read = 0;
    for (Vertex p : graph.predecessors(v)) {
      read += graph.weight(p);
      largest_read = std::max(largest_read, graph.weight(p));
    }
    Words during = read + graph.weight(v);
    if (game.sliding == Sliding::allowed) during = std::max(read, during - largest_read);
    minimum = std::max(minimum, during);
  }
  return minimum;
}

void require_playable(const Cdag& graph, Game game, Words fast) {
  const Words minimum = minimum_fast_words(graph, game);
  if (fast >= minimum) return;
  throw core::ConfigurationError("fast",
                                 "a fast memory of " + std::to_string(fast) +
                                     " words cannot hold the operands of every vertex in game " + to_string(game),
                                 "give at least " + std::to_string(minimum) + " words");
}

namespace {

// Vertices by number where they have no names.
class VertexNames {
 public:
  explicit VertexNames(std::span<const std::string> names) : names_(names) {}
  std::string operator()(Vertex v) const { return v < names_.size() ? names_[v] : std::to_string(v); }

 private:
  std::span<const std::string> names_;
};

}  // namespace

std::string to_string(const Move& move) { return to_string(move, {}); }

std::string to_string(const Move& move, std::span<const std::string> names) {
  const VertexNames name(names);
  const std::string v = name(move.vertex);
  switch (move.kind) {
    case MoveKind::load:
      return "load " + v;
    case MoveKind::store:
      return "store " + v;
    case MoveKind::compute:
      return "compute " + v;
    case MoveKind::slide:
      return "slide " + name(move.from) + " -> " + v;
    case MoveKind::erase:
      return "erase " + v;
    case MoveKind::forget:
      return "forget " + v;
  }
  return {};
}

namespace {

class Referee {
 public:
  Referee(const Cdag& graph, Game game, Words fast, VertexNames names)
      : graph_(graph),
        game_(game),
        fast_(fast),
        name_(names),
        red_(graph.size()),
        blue_(graph.size()),
        white_(graph.size()) {
    for (Vertex v = 0; v < graph.size(); ++v) blue_[v] = graph.is_input(v);
  }

  // Empty when legal.
  std::string play(const Move& move) {
    const Vertex v = move.vertex;
    if (v >= graph_.size() || (move.kind == MoveKind::slide && move.from >= graph_.size())) return "no such vertex";
    switch (move.kind) {
      case MoveKind::load:
        return load(v);
      case MoveKind::store:
        return store(v);
      case MoveKind::compute:
        return compute(v);
      case MoveKind::slide:
        return slide(move.from, v);
      case MoveKind::erase:
        return remove(red_, v, "it is not in fast memory");
      case MoveKind::forget:
        return remove(blue_, v, "it is not in slow memory");
    }
    return "unknown kind of move";
  }

  std::string finish() const {
    for (Vertex v = 0; v < graph_.size(); ++v) {
      const std::string name = name_(v);
      if (game_.rules == Rules::red_blue_white && !white_[v])
        return (graph_.is_input(v) ? "input " + name + " was never loaded" : "vertex " + name + " was never computed");
      if (graph_.is_output(v) && !blue_[v]) return "output " + name + " is not in slow memory at the end";
    }
    return {};
  }

  const PlayCost& cost() const { return cost_; }

 private:
  std::string place_red(Vertex v) {
    if (!red_[v]) held_ += graph_.weight(v);
    red_[v] = true;
    white_[v] = true;
    cost_.peak = std::max(cost_.peak, held_);
    return held_ <= fast_
               ? std::string()
               : "fast memory would hold " + std::to_string(held_) + " of " + std::to_string(fast_) + " words";
  }

  std::string load(Vertex v) {
    if (!blue_[v]) return "it is not in slow memory";
    cost_.loads += graph_.weight(v);
    return place_red(v);
  }

  std::string store(Vertex v) {
    if (!red_[v]) return "it is not in fast memory";
    cost_.stores += graph_.weight(v);
    blue_[v] = true;
    return {};
  }

  std::string may_fire(Vertex v) const {
    if (graph_.is_input(v)) return "an input is loaded, not computed";
    if (game_.rules == Rules::red_blue_white && white_[v]) return "it was computed before";
    for (Vertex p : graph_.predecessors(v)) {
      if (!red_[p]) return "its predecessor " + name_(p) + " is not in fast memory";
    }
    return {};
  }

  std::string compute(Vertex v) {
    const std::string wrong = may_fire(v);
    return wrong.empty() ? place_red(v) : wrong;
  }

  std::string slide(Vertex from, Vertex v) {
    if (game_.sliding == Sliding::forbidden) return "the game has no sliding";
    const auto predecessors = graph_.predecessors(v);
    if (std::find(predecessors.begin(), predecessors.end(), from) == predecessors.end())
      return "a pebble slides along an edge only";
    const std::string wrong = may_fire(v);
    if (!wrong.empty()) return wrong;
    remove(red_, from, "");
    return place_red(v);
  }

  std::string remove(std::vector<bool>& pebbles, Vertex v, const char* reason) {
    if (!pebbles[v]) return reason;
    pebbles[v] = false;
    if (&pebbles == &red_) held_ -= graph_.weight(v);
    return {};
  }

  const Cdag& graph_;
  Game game_;
  Words fast_;
  VertexNames name_;
  std::vector<bool> red_, blue_, white_;
  Words held_ = 0;
  PlayCost cost_;
};

}  // namespace

Verdict verify(const Cdag& graph, Game game, Words fast, const Play& moves) {
  return verify(graph, game, fast, moves, {});
}

Verdict verify(const Cdag& graph, Game game, Words fast, const Play& moves, std::span<const std::string> names) {
  Referee referee(graph, game, fast, VertexNames(names));
  for (std::size_t i = 0; i < moves.size(); ++i) {
    const std::string wrong = referee.play(moves[i]);
    if (!wrong.empty())
      return {.cost = {}, .illegal = Illegal{.move = i, .reason = to_string(moves[i], names) + ": " + wrong}};
  }
  const std::string wrong = referee.finish();
  if (!wrong.empty()) return {.cost = {}, .illegal = Illegal{.move = moves.size(), .reason = wrong}};
  return {.cost = referee.cost(), .illegal = {}};
}

}  // namespace cairn::pebble
