#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "cairn/splits/autoddl.h"

namespace cairn::splits {
namespace {

using choice::CostNetwork;
using choice::Option;
using choice::Vertex;

// A cost network that loses vertices of at most two neighbours: what the best of their options costs is added to the
// neighbours' costs.
class FoldedNetwork {
 public:
  explicit FoldedNetwork(const CostNetwork& whole) : edges_(whole.vertices()) {
    for (std::size_t v = 0; v < whole.vertices(); ++v) costs_.push_back(whole.costs(static_cast<Vertex>(v)));
    for (const choice::Edge& edge : whole.edges()) add_edge(edge.first, edge.second, edge.costs);
    kept_.assign(costs_.size(), 1);
  }

  // Vertices of more neighbours stay.
  void fold(Vertex vertex) {
    Fold fold{.vertex = vertex, .neighbours = {}};
    for (const auto& [other, costs] : edges_[index(vertex)]) fold.neighbours.push_back({other, costs});
    if (fold.neighbours.empty() || fold.neighbours.size() > 2) return;
    kept_[index(vertex)] = 0;
    for (const Neighbour& each : fold.neighbours) edges_[index(each.vertex)].erase(vertex);
    edges_[index(vertex)].clear();
    const Vertex first = fold.neighbours.front().vertex;
    if (fold.neighbours.size() == 1) {
      for (std::size_t i = 0; i < costs_[index(first)].size(); ++i)
        costs_[index(first)][i] += best(fold, {static_cast<Option>(i)}).first;
    } else {
      const Vertex second = fold.neighbours.back().vertex;
      std::vector<double> costs;
      for (std::size_t i = 0; i < costs_[index(first)].size(); ++i)
        for (std::size_t j = 0; j < costs_[index(second)].size(); ++j)
          costs.push_back(best(fold, {static_cast<Option>(i), static_cast<Option>(j)}).first);
      add_edge(first, second, costs);
    }
    folds_.push_back(std::move(fold));
  }

  // The vertices that are left, in order.
  CostNetwork rest() const {
    CostNetwork result;
    std::map<Vertex, Vertex> place;
    for (std::size_t v = 0; v < costs_.size(); ++v)
      if (kept_[v] != 0) place[static_cast<Vertex>(v)] = result.add_vertex(costs_[v]);
    for (const auto& [first, at] : place)
      for (const auto& [second, costs] : edges_[index(first)])
        if (first < second) result.add_edge(at, place.at(second), costs);
    return result;
  }

  std::vector<Option> of_rest(const std::vector<Option>& options) const {
    std::vector<Option> result;
    for (std::size_t v = 0; v < options.size(); ++v)
      if (kept_[v] != 0) result.push_back(options[v]);
    return result;
  }

  std::vector<Option> of_whole(const std::vector<Option>& of_rest) const {
    std::vector<Option> options(costs_.size(), 0);
    for (std::size_t v = 0, next = 0; v < options.size(); ++v)
      if (kept_[v] != 0) options[v] = of_rest[next++];
    for (auto fold = folds_.rbegin(); fold != folds_.rend(); ++fold) {
      std::vector<Option> around;
      for (const Neighbour& each : fold->neighbours) around.push_back(options[index(each.vertex)]);
      options[index(fold->vertex)] = best(*fold, around).second;
    }
    return options;
  }

 private:
  struct Neighbour {
    Vertex vertex = 0;
    std::vector<double> costs;  // one row per option of the folded vertex
  };
  struct Fold {
    Vertex vertex = 0;
    std::vector<Neighbour> neighbours;
  };

  static std::size_t index(Vertex vertex) { return static_cast<std::size_t>(vertex); }

  void add_edge(Vertex first, Vertex second, const std::vector<double>& costs) {
    const std::size_t rows = costs_[index(first)].size(), columns = costs_[index(second)].size();
    std::vector<double>& there = edges_[index(first)][second];
    std::vector<double>& back = edges_[index(second)][first];
    there.resize(costs.size(), 0.0);
    back.resize(costs.size(), 0.0);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) {
        there[i * columns + j] += costs[i * columns + j];
        back[j * rows + i] += costs[i * columns + j];
      }
  }

  std::pair<double, Option> best(const Fold& fold, const std::vector<Option>& around) const {
    const std::vector<double>& own = costs_[index(fold.vertex)];
    std::pair<double, Option> result{std::numeric_limits<double>::infinity(), 0};
    for (std::size_t option = 0; option < own.size(); ++option) {
      double cost = own[option];
      for (std::size_t i = 0; i < around.size(); ++i) {
        const std::vector<double>& costs = fold.neighbours[i].costs;
        cost += costs[option * (costs.size() / own.size()) + static_cast<std::size_t>(around[i])];
      }
      if (cost < result.first) result = {cost, static_cast<Option>(option)};
    }
    return result;
  }

  std::vector<std::vector<double>> costs_;
  std::vector<std::map<Vertex, std::vector<double>>> edges_;
  std::vector<char> kept_;
  std::vector<Fold> folds_;
};

}  // namespace

choice::Choice descend(const PlacementProblem& problem, const choice::Descent& descent) {
  FoldedNetwork folded(problem.costs);
  for (std::size_t i = 0; i < problem.operators.size(); ++i)
    if (problem.operators[i].passes_on) folded.fold(static_cast<Vertex>(i));
  choice::Descent of_rest{.starts = {}, .restarts = descent.restarts, .seed = descent.seed};
  for (const std::vector<Option>& start : descent.starts) of_rest.starts.push_back(folded.of_rest(start));
  const std::vector<Option> options = folded.of_whole(choice::coordinate_descent(folded.rest(), of_rest).options);
  return {.cost = problem.costs.cost(options), .options = options};
}

}  // namespace cairn::splits
