#include "cairn/choice/elimination.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "cairn/core/assert.h"

namespace cairn::choice {
namespace {

using Neighbours = std::vector<std::vector<Vertex>>;

std::size_t at(Vertex vertex) { return static_cast<std::size_t>(vertex); }

Neighbours neighbours_of_all(const CostNetwork& network) {
  Neighbours result(network.vertices());
  for (std::size_t v = 0; v < result.size(); ++v) result[v] = network.neighbours(static_cast<Vertex>(v));
  return result;
}

// Takes `vertex` out: its neighbours become neighbours of one another.
void take_out(Vertex vertex, Neighbours& neighbours) {
  const std::vector<Vertex>& own = neighbours[at(vertex)];
  std::vector<Vertex> joined;
  for (const Vertex each : own) {
    std::vector<Vertex>& others = neighbours[at(each)];
    joined.clear();
    std::set_union(others.begin(), others.end(), own.begin(), own.end(), std::back_inserter(joined));
    std::erase_if(joined, [&](Vertex other) { return other == vertex || other == each; });
    others.swap(joined);
  }
}

// Costs of the combinations of options of some vertices, the last vertex fastest.
struct Table {
  std::vector<Vertex> over;
  std::vector<double> costs;
};

// The same table with its vertices in another order.
std::vector<double> arranged(const Table& table, std::span<const Vertex> order, const CostNetwork& network) {
  if (std::equal(order.begin(), order.end(), table.over.begin(), table.over.end())) return table.costs;
  std::vector<std::size_t> strides(order.size()), sizes(order.size()), index(order.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    sizes[i] = network.options(order[i]);
    std::size_t stride = 1;
    for (std::size_t j = table.over.size(); j-- > 0 && table.over[j] != order[i];)
      stride *= network.options(table.over[j]);
    strides[i] = stride;
  }
  std::vector<double> result(table.costs.size());
  std::size_t from = 0;
  for (double& cost : result) {
    cost = table.costs[from];
    for (std::size_t i = order.size(); i-- > 0;) {
      from += strides[i];
      if (++index[i] < sizes[i]) break;
      from -= strides[i] * sizes[i];
      index[i] = 0;
    }
  }
  return result;
}

// The minimum over the options of one vertex, for all combinations of the options of those it depends on. The sums of
// tables that name only the first l of these change with those alone and are kept in row l: most combinations add the
// tables of the last vertex and nothing else.
class Minimum {
 public:
  Minimum(const CostNetwork& network, Vertex vertex, std::vector<Vertex> dependents)
      : network_(network), vertex_(vertex), dependents_(std::move(dependents)), parts_(dependents_.size() + 1) {}

  void add(const Table& table) {
    std::vector<Vertex> order;
    std::size_t level = 0;
    for (std::size_t i = 0; i < dependents_.size(); ++i)
      if (std::find(table.over.begin(), table.over.end(), dependents_[i]) != table.over.end()) {
        order.push_back(dependents_[i]);
        level = i + 1;
      }
    order.push_back(vertex_);
    Part part{.costs = arranged(table, order, network_), .strides = std::vector<std::size_t>(level, 0)};
    std::size_t stride = options();
    for (std::size_t i = level; i-- > 0;) {
      if (std::find(order.begin(), order.end(), dependents_[i]) == order.end()) continue;
      part.strides[i] = stride;
      stride *= network_.options(dependents_[i]);
    }
    parts_[level].push_back(std::move(part));
  }

  // The least costs over `dependents`, and in `best` the options that have them.
  Table take(std::vector<Option>& best) {
    std::size_t combinations = 1;
    for (const Vertex each : dependents_) combinations *= network_.options(each);
    Table result{.over = dependents_, .costs = std::vector<double>(combinations)};
    best.resize(combinations);
    std::vector<std::size_t> index(dependents_.size(), 0);
    rows_.assign((dependents_.size() + 1) * options(), 0.0);
    std::copy(network_.costs(vertex_).begin(), network_.costs(vertex_).end(), rows_.begin());
    for (const Part& part : parts_[0]) add_to(row(0), part.costs.data());
    std::size_t changed = 1;
    for (std::size_t combination = 0; combination < combinations; ++combination) {
      for (std::size_t level = changed; level <= dependents_.size(); ++level) fill(level, index);
      const double* const last = row(dependents_.size());
      const double* const least = std::min_element(last, last + options());
      result.costs[combination] = *least;
      best[combination] = static_cast<Option>(least - last);
      changed = dependents_.size();
      while (changed > 0 && ++index[changed - 1] == network_.options(dependents_[changed - 1])) index[--changed] = 0;
    }
    return result;
  }

 private:
  struct Part {
    std::vector<double> costs;
    std::vector<std::size_t> strides;  // of the dependents up to its level
  };

  std::size_t options() const { return network_.options(vertex_); }
  double* row(std::size_t level) { return rows_.data() + level * options(); }
  void add_to(double* to, const double* from) const {
    for (std::size_t x = 0; x < options(); ++x) to[x] += from[x];
  }
  void fill(std::size_t level, const std::vector<std::size_t>& index) {
    std::copy_n(row(level - 1), options(), row(level));
    for (const Part& part : parts_[level]) {
      std::size_t offset = 0;
      for (std::size_t i = 0; i < level; ++i) offset += part.strides[i] * index[i];
      add_to(row(level), part.costs.data() + offset);
    }
  }

  const CostNetwork& network_;
  Vertex vertex_;
  std::vector<Vertex> dependents_;
  std::vector<std::vector<Part>> parts_;  // by level
  std::vector<double> rows_;
};

double combinations_of(const CostNetwork& network, Vertex vertex, const std::vector<Vertex>& dependents) {
  auto combinations = static_cast<double>(network.options(vertex));
  for (const Vertex each : dependents) combinations *= static_cast<double>(network.options(each));
  return combinations;
}

}  // namespace

std::vector<Vertex> fewest_dependents_order(const CostNetwork& network) {
  Neighbours neighbours = neighbours_of_all(network);
  std::vector<Vertex> order;
  std::vector<char> taken(network.vertices(), 0);
  while (order.size() < network.vertices()) {
    Vertex next = -1;
    for (std::size_t v = 0; v < taken.size(); ++v)
      if (!taken[v] && (next < 0 || neighbours[v].size() < neighbours[at(next)].size())) next = static_cast<Vertex>(v);
    taken[at(next)] = 1;
    order.push_back(next);
    take_out(next, neighbours);
  }
  return order;
}

std::vector<Vertex> breadth_first_order(const CostNetwork& network) {
  std::vector<Vertex> order;
  std::vector<char> met(network.vertices(), 0);
  for (std::size_t from = 0; from < met.size(); ++from) {
    if (met[from]) continue;
    met[from] = 1;
    order.push_back(static_cast<Vertex>(from));
    for (std::size_t next = order.size() - 1; next < order.size(); ++next)
      for (const Vertex each : network.neighbours(order[next]))
        if (!std::exchange(met[at(each)], 1)) order.push_back(each);
  }
  return order;
}

std::vector<std::vector<Vertex>> dependents(const CostNetwork& network, std::span<const Vertex> order) {
  Neighbours neighbours = neighbours_of_all(network);
  std::vector<std::vector<Vertex>> result;
  for (const Vertex vertex : order) {
    take_out(vertex, neighbours);
    result.push_back(neighbours[at(vertex)]);
  }
  return result;
}

Effort effort(const CostNetwork& network, std::span<const Vertex> order) {
  Effort result;
  const std::vector<std::vector<Vertex>> later = dependents(network, order);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double combinations = combinations_of(network, order[i], later[i]);
    result.most_dependents = std::max(result.most_dependents, later[i].size());
    result.most_combinations = std::max(result.most_combinations, combinations);
    result.combinations += combinations;
  }
  return result;
}

Choice eliminate(const CostNetwork& network, std::span<const Vertex> order, const EliminationProgress& progress) {
  CAIRN_ASSERT(order.size() == network.vertices());
  const double of = progress ? effort(network, order).combinations : 0.0;
  double done = 0.0;
  const std::vector<std::vector<Vertex>> later = dependents(network, order);
  std::vector<char> gone(network.vertices(), 0);
  std::vector<std::vector<Table>> waiting(network.vertices());  // results, at the vertex of theirs that is taken next
  std::vector<std::size_t> position(network.vertices());
  for (std::size_t i = 0; i < order.size(); ++i) position[at(order[i])] = i;
  std::vector<std::vector<Option>> best(network.vertices());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Vertex vertex = order[i];
    if (progress) progress(done, of);
    done += combinations_of(network, vertex, later[i]);
    Minimum minimum(network, vertex, later[i]);
    for (const std::size_t each : network.edges_at(vertex)) {
      const Edge& edge = network.edges()[each];
      const Vertex other = edge.first == vertex ? edge.second : edge.first;
      if (!gone[at(other)]) minimum.add({.over = {edge.first, edge.second}, .costs = edge.costs});
    }
    for (const Table& table : std::exchange(waiting[at(vertex)], {})) minimum.add(table);
    Table result = minimum.take(best[at(vertex)]);
    gone[at(vertex)] = 1;
    if (result.over.empty()) continue;
    const Vertex next = *std::min_element(result.over.begin(), result.over.end(),
                                          [&](Vertex a, Vertex b) { return position[at(a)] < position[at(b)]; });
    waiting[at(next)].push_back(std::move(result));
  }

  Choice choice{.options = std::vector<Option>(network.vertices(), 0)};
  for (std::size_t i = order.size(); i-- > 0;) {
    std::size_t combination = 0;
    for (const Vertex each : later[i])
      combination = combination * network.options(each) + static_cast<std::size_t>(choice.options[at(each)]);
    choice.options[at(order[i])] = best[at(order[i])][combination];
  }
  choice.cost = network.cost(choice.options);
  return choice;
}

}  // namespace cairn::choice
