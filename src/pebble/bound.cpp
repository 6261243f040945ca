#include "cairn/pebble/bound.h"

#include <algorithm>

#include "cairn/core/diagnostics.h"

namespace cairn::pebble {

namespace {

void append_new(std::vector<std::string>& all, const std::vector<std::string>& more) {
  for (const std::string& text : more) {
    if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(text);
  }
}

}  // namespace

LowerBound larger(const LowerBound& a, const LowerBound& b) {
  LowerBound result = a.words >= b.words ? a : b;
  result.games = a.games & b.games;
  result.assumptions = a.assumptions;
  append_new(result.assumptions, b.assumptions);
  return result;
}

LowerBound best_for(std::span<const LowerBound> bounds, Game game) {
  const LowerBound* best = nullptr;
  for (const LowerBound& bound : bounds) {
    if (bound.games.contains(game) && (best == nullptr || bound.words > best->words)) best = &bound;
  }
  if (best == nullptr) {
    throw core::ConfigurationError("game", "no bound at hand holds in game " + to_string(game),
                                   "ask for another game or method");
  }
  return *best;
}

LowerBound sum_of_disjoint_parts(std::span<const LowerBound> parts) {
  LowerBound total;
  total.games = GameSet::all();
  total.method = "sum over disjoint parts";
  for (const LowerBound& part : parts) {
    const Words words = std::max<Words>(part.words, 0);
    total.words += words;
    total.games = total.games & part.games;
    append_new(total.assumptions, part.assumptions);
    total.parts.push_back({.what = part.method, .words = words});
  }
  return total;
}

LowerBound untagged(const LowerBound& tagged, Words inputs, Words outputs) {
  LowerBound result = tagged;
  result.games = tagged.games & GameSet::with_rules(Rules::red_blue_white);
  result.words = std::max<Words>(0, tagged.words - inputs - outputs);
  result.parts.push_back({.what = "untagged values", .words = result.words - tagged.words});
  return result;
}

LowerBound compulsory_bound(const Cdag& graph, Rules rules) {
  LowerBound bound;
  bound.games = rules == Rules::hong_kung ? GameSet::all() : GameSet::with_rules(Rules::red_blue_white);
  bound.method = "compulsory";
  Words inputs = graph.input_words();
  if (rules == Rules::hong_kung) {
    std::vector<char> needed(graph.size(), 0);
    inputs = 0;
    for (auto v = graph.order().rbegin(); v != graph.order().rend(); ++v) {
      bool read = false;
      for (Vertex s : graph.successors(*v)) read = read || needed[s] != 0;
      needed[*v] = read || (graph.is_output(*v) && !graph.is_input(*v)) ? 1 : 0;
      if (graph.is_input(*v) && read) inputs += graph.weight(*v);
    }
  }
  bound.parts = {{.what = "inputs loaded", .words = inputs},
                 {.what = "outputs stored", .words = graph.stored_output_words()}};
  bound.words = inputs + graph.stored_output_words();
  return bound;
}

}  // namespace cairn::pebble
