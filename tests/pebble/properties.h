// What must hold between optima and bounds on any graph; used by the fast and the slow fuzz. A fault can be planted to
// show that the checks bite.
#pragma once

#include <optional>
#include <sstream>
#include <string>

#include "cairn/pebble/exact.h"
#include "cairn/pebble/schedule.h"
#include "cairn/pebble/wavefront.h"
#include "pebble/graphs.h"

namespace cairn::pebble::testing {

enum class Fault : std::uint8_t { none, lower_doubled, upper_halved, optimum_halved, wavefront_under_hong_kung };

class Properties {
 public:
  explicit Properties(Fault fault = Fault::none) : fault_(fault) {}

  // Empty when everything holds.
  std::optional<std::string> check(core::Random& random, std::size_t max_vertices) const {
    const std::size_t vertices = 3 + random.below(max_vertices - 2);
    const Labels labels = random.below(3) == 0 ? Labels::compulsory : Labels::flexible;
    const Cdag graph = random_graph(random, {.vertices = vertices, .max_in_degree = 3, .labels = labels});
    const Words slack = static_cast<Words>(random.below(3));
    const Rules literal = random.below(2) == 0 ? Rules::hong_kung : Rules::red_blue_white;
    Words optimum[4];
    for (std::size_t i = 0; i < 4; ++i) {
      const Game game = k_all_games[i];
      const Words fast = memory(graph, game, slack);
      optimum[i] = exact(graph, game, fast);
      if (auto wrong = check_bounds(graph, game, fast, optimum[i])) return describe(graph, game, fast, *wrong);
      // The literal solver takes most of the time: it plays one of the two rules, each graph by turns.
      if (game.rules == literal)
        if (auto wrong = check_literally(graph, game, fast, optimum[i])) return describe(graph, game, fast, *wrong);
      if (auto wrong = check_decomposition(random, graph, game, fast, optimum[i]))
        return describe(graph, game, fast, *wrong);
    }
    return check_relations(random, graph, slack);
  }

 private:
  static Words memory(const Cdag& graph, Game game, Words slack) {
    return std::max<Words>(1, minimum_fast_words(graph, {Rules::red_blue_white, game.sliding})) + slack;
  }

  Words exact(const Cdag& graph, Game game, Words fast) const {
    const Words words = solve_exactly(graph, game, fast).cost.value().total();
    return fault_ == Fault::optimum_halved ? words / 2 : words;
  }

  std::optional<std::string> check_bounds(const Cdag& graph, Game game, Words fast, Words optimum) const {
    std::vector<LowerBound> bounds = {compulsory_bound(graph, Rules::hong_kung),
                                      compulsory_bound(graph, Rules::red_blue_white), wavefront_bound(graph, fast),
                                      wavefront_bound_by_stretches(graph, fast, 2), wavefront_bound(graph, fast, 2)};
    for (LowerBound& bound : bounds) {
      if (fault_ == Fault::lower_doubled) bound.words *= 2;
      if (fault_ == Fault::wavefront_under_hong_kung) bound.games = GameSet::all();
      if (bound.games.contains(game) && bound.words > optimum)
        return bound.method + " " + std::to_string(bound.words) + " above the optimum " + std::to_string(optimum);
    }
    const UpperBound upper = best_ordered_play(graph, game.sliding, fast);
    const Words words = fault_ == Fault::upper_halved ? upper.words / 2 : upper.words;
    if (upper.games.contains(game) && words < optimum) return upper.method + " below the optimum";
    return std::nullopt;
  }

  std::optional<std::string> check_literally(const Cdag& graph, Game game, Words fast, Words optimum) const {
    if (graph.size() > k_literal_vertices) return std::nullopt;
    const auto expected = solve_literally(graph, game, fast);
    if (!expected || expected->total() == optimum) return std::nullopt;
    return "solvers differ: " + std::to_string(optimum) + " and literally " + std::to_string(expected->total());
  }

  // Any partition: the parts' optima add up to no more than the whole's.
  std::optional<std::string> check_decomposition(core::Random& random, const Cdag& graph, Game game, Words fast,
                                                 Words optimum) const {
    std::vector<Vertex> parts[2];
    for (Vertex v = 0; v < graph.size(); ++v) parts[random.below(2)].push_back(v);
    Words sum = 0;
    for (const auto& part : parts) {
      if (!part.empty()) sum += exact(induced_part(graph, part), game, fast);
    }
    if (sum > optimum)
      return "decomposition: parts " + std::to_string(sum) + " above the whole " + std::to_string(optimum);
    return std::nullopt;
  }

  std::optional<std::string> check_relations(core::Random& random, const Cdag& graph, Words slack) const {
    constexpr Game rbw{Rules::red_blue_white, Sliding::forbidden}, slide{Rules::red_blue_white, Sliding::allowed},
        hk{Rules::hong_kung, Sliding::forbidden};
    const Words fast = memory(graph, rbw, slack);
    const Words here = exact(graph, rbw, fast);
    if (exact(graph, hk, fast) > here) return describe(graph, hk, fast, "recomputation costs more");
    if (exact(graph, rbw, fast + 1) > here) return describe(graph, rbw, fast, "more memory costs more");
    const Words sliding = exact(graph, slide, fast);
    if (sliding > here || exact(graph, rbw, fast + 1) > sliding)
      return describe(graph, slide, fast, "the sliding sandwich");
    // Tagging, red-blue-white only: labels added to sources and to any vertex cost at most a word each, and never less
    // than nothing.
    Relabelling more;
    for (Vertex v = 0; v < graph.size(); ++v) {
      if (graph.predecessors(v).empty() && !graph.is_input(v) && random.below(2) == 0) more.add_inputs.push_back(v);
      if (!graph.is_output(v) && random.below(3) == 0) more.add_outputs.push_back(v);
    }
    const Words tagged = exact(relabelled(graph, more), rbw, fast);
    if (here < tagged - static_cast<Words>(more.add_inputs.size() + more.add_outputs.size()))
      return describe(graph, rbw, fast, "tagging");
    // Names do not matter.
    std::vector<Vertex> names(graph.size());
    for (Vertex v = 0; v < graph.size(); ++v) names[v] = v;
    for (Vertex v = 0; v < graph.size(); ++v) std::swap(names[v], names[v + random.below(graph.size() - v)]);
    if (exact(renumbered(graph, names), rbw, fast) != here)
      return describe(graph, rbw, fast, "names of vertices matter");
    return std::nullopt;
  }

  static std::string describe(const Cdag& graph, Game game, Words fast, const std::string& what) {
    std::ostringstream text;
    text << to_string(game) << " S=" << fast << ": " << what << "; graph:";
    for (Vertex v = 0; v < graph.size(); ++v) {
      text << ' ' << v << (graph.is_input(v) ? "i" : "") << (graph.is_output(v) ? "o" : "") << "<-(";
      for (Vertex p : graph.predecessors(v)) text << p << ' ';
      text << ')';
    }
    return text.str();
  }

  static constexpr std::size_t k_literal_vertices = 7;
  Fault fault_;
};

}  // namespace cairn::pebble::testing
