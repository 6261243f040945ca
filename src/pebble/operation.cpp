#include "cairn/pebble/operation.h"

#include <algorithm>
#include <set>

#include "cairn/core/diagnostics.h"
#include "cairn/pebble/exact.h"

namespace cairn::pebble {

namespace {

Words moved_by_nobody_twice(const Operation& operation) { return operation.inputs + operation.outputs; }

// A later contraction reads for nothing what an earlier one has been charged for.
std::vector<Contraction> charged_once(const Operation& operation) {
  std::vector<Contraction> parts = operation.contractions;
  std::set<std::string> charged;
  for (Contraction& part : parts) {
    std::set<std::string> here;
    for (Access& access : part.accesses) {
      if (access.role != Role::read) continue;
      if (charged.contains(access.array)) access.role = Role::read_free;
      here.insert(access.array);
    }
    charged.merge(here);
  }
  return parts;
}

}  // namespace

std::vector<LowerBound> lower_bounds(const Operation& operation, Words fast) {
  std::vector<LowerBound> all;
  LowerBound compulsory;
  compulsory.words = moved_by_nobody_twice(operation);
  compulsory.games = GameSet::all();
  compulsory.method = "compulsory";
  compulsory.assumptions = operation.notes;
  compulsory.parts = {{.what = "inputs loaded", .words = operation.inputs},
                      {.what = "outputs stored", .words = operation.outputs}};
  all.push_back(std::move(compulsory));

  std::vector<std::vector<LowerBound>> by_part;
  for (const Contraction& part : charged_once(operation)) by_part.push_back(projection_bounds(part, fast));
  for (Game game : k_all_games) {
    if (by_part.empty()) break;
    std::vector<LowerBound> best;
    for (const auto& bounds : by_part) best.push_back(best_for(bounds, game));
    LowerBound sum = best.size() == 1 ? best.front() : sum_of_disjoint_parts(best);
    sum.games = GameSet::of(game);
    sum.assumptions.insert(sum.assumptions.begin(), operation.notes.begin(), operation.notes.end());
    all.push_back(std::move(sum));
  }
  for (const auto& prove : operation.proved) {
    for (LowerBound& bound : prove(fast)) {
      bound.assumptions.insert(bound.assumptions.begin(), operation.notes.begin(), operation.notes.end());
      all.push_back(std::move(bound));
    }
  }
  return all;
}

Words minimum_fast_words(const Operation& operation, Game game) {
  return operation.max_operands + (game.sliding == Sliding::allowed ? 0 : 1);
}

Cdag small_graph(const Operation& operation) {
  const std::string limit = "an exact search takes at most " + std::to_string(k_exact_max_vertices) + " vertices";
  if (!operation.graph)
    throw core::ConfigurationError("bound.exact", "no graph is known of " + operation.name,
                                   "leave the exact search out");
  // Operands and results are vertices, and a vertex is at most one operation per operand and one more.
  const Words most = k_exact_max_vertices;
  if (operation.inputs + operation.outputs > most || operation.flops > 2 * most * most)
    throw core::ConfigurationError("bound.exact", operation.name + " at these sizes is larger", limit);
  Cdag graph = operation.graph();
  if (graph.size() > k_exact_max_vertices)
    throw core::ConfigurationError(
        "bound.exact", operation.name + " at these sizes has " + std::to_string(graph.size()) + " vertices", limit);
  return graph;
}

Bracket bracket(const Operation& operation, Words fast, Game game) {
  Bracket result{.lower = best_for(lower_bounds(operation, fast), game), .upper = {}};
  for (const auto& schedule : operation.schedules) {
    std::optional<UpperBound> upper = schedule(fast, game.sliding);
    if (upper && upper->games.contains(game) && (!result.upper || upper->words < result.upper->words))
      result.upper = std::move(upper);
  }
  return result;
}

}  // namespace cairn::pebble
