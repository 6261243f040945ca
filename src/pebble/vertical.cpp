#include "cairn/pebble/vertical.h"

#include <queue>
#include <unordered_map>

#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "cairn/pebble/graph_bracket.h"

namespace cairn::pebble {

namespace {

constexpr Game k_rbw{Rules::red_blue_white, Sliding::forbidden};

using State = std::uint64_t;

// A state is a row of bit fields, one of n bits for each unit of each level, then the computed and the blue vertices.
class VerticalSearch {
 public:
  VerticalSearch(const Cdag& graph, const Machine& machine, std::size_t level)
      : graph_(graph), machine_(machine), level_(level), n_(graph.size()) {
    for (const MemoryLevel& each : machine.levels) {
      first_.push_back(units_);
      units_ += each.units;
    }
    if (n_ * (units_ + 2) > 64)
      throw core::ConfigurationError("graph", "too many vertices and units for a state of 64 bits",
                                     "use a smaller graph");
  }

  std::optional<Words> run(std::size_t budget) {
    State start = 0;
    for (Vertex v = 0; v < n_; ++v)
      if (graph_.is_input(v)) start = with(start, blue(), v);
    reach(start, 0);
    while (!queue_.empty()) {
      const auto [words, state] = queue_.top();
      queue_.pop();
      if (words > best_.at(state)) continue;
      if (finished(state)) return words;
      if (best_.size() > budget) return std::nullopt;
      expand(state, words);
    }
    return std::nullopt;
  }

 private:
  std::size_t field(std::size_t level, std::size_t unit) const { return first_[level] + unit; }
  std::size_t white() const { return units_; }
  std::size_t blue() const { return units_ + 1; }
  bool has(State state, std::size_t field, Vertex v) const { return ((state >> (field * n_ + v)) & 1U) != 0; }
  State with(State state, std::size_t field, Vertex v) const { return state | (State{1} << (field * n_ + v)); }
  State without(State state, std::size_t field, Vertex v) const { return state & ~(State{1} << (field * n_ + v)); }

  void reach(State state, Words words) {
    const auto [slot, fresh] = best_.try_emplace(state, words);
    if (!fresh && slot->second <= words) return;
    slot->second = words;
    queue_.emplace(words, state);
  }

  bool finished(State state) const {
    for (Vertex v = 0; v < n_; ++v)
      if (!has(state, white(), v) || (graph_.is_output(v) && !has(state, blue(), v))) return false;
    return true;
  }

  // Puts a copy into a unit, if it fits.
  void place(State state, std::size_t level, std::size_t unit, Vertex v, Words words) {
    if (has(state, field(level, unit), v)) return;
    Words held = graph_.weight(v);
    for (Vertex u = 0; u < n_; ++u)
      if (has(state, field(level, unit), u)) held += graph_.weight(u);
    if (held > machine_.levels[level].capacity) return;
    reach(with(with(state, field(level, unit), v), white(), v), words);
  }

  void expand(State state, Words words) {
    const std::size_t top = machine_.levels.size() - 1;
    for (Vertex v = 0; v < n_; ++v) {
      for (std::size_t level = 0; level <= top; ++level)
        for (std::size_t unit = 0; unit < machine_.levels[level].units; ++unit) visit(state, words, level, unit, v);
      for (std::size_t processor = 0; processor < machine_.levels[0].units; ++processor)
        if (can_compute(state, processor, v)) place(state, 0, processor, v, words);
    }
  }

  void visit(State state, Words words, std::size_t level, std::size_t unit, Vertex v) {
    const std::size_t top = machine_.levels.size() - 1;
    if (level == top && has(state, blue(), v)) place(state, level, unit, v, words);
    if (!has(state, field(level, unit), v)) return;
    reach(without(state, field(level, unit), v), words);
    if (level == top) {
      if (!has(state, blue(), v)) reach(with(state, blue(), v), words);
      for (std::size_t other = 0; other < machine_.levels[top].units; ++other)
        if (other != unit) place(state, top, other, v, words);
    } else {
      const std::size_t parent = machine_.parent(level, static_cast<std::uint32_t>(unit));
      place(state, level + 1, parent, v, words + price(level, v));
    }
    if (level == 0) return;
    for (std::size_t child = 0; child < machine_.levels[level - 1].units; ++child)
      if (machine_.parent(level - 1, static_cast<std::uint32_t>(child)) == unit)
        place(state, level - 1, child, v, words + price(level - 1, v));
  }

  Words price(std::size_t lower_level, Vertex v) const { return lower_level == level_ ? graph_.weight(v) : 0; }

  bool can_compute(State state, std::size_t processor, Vertex v) const {
    if (graph_.is_input(v) || has(state, white(), v)) return false;
    for (Vertex p : graph_.predecessors(v))
      if (!has(state, field(0, processor), p)) return false;
    return true;
  }

  using Entry = std::pair<Words, State>;
  const Cdag& graph_;
  const Machine& machine_;
  std::size_t level_, n_, units_ = 0;
  std::vector<std::size_t> first_;
  std::unordered_map<State, Words> best_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace

std::vector<LowerBound> vertical_lower_bounds(const Cdag& graph, const Machine& machine, std::size_t level) {
  machine.check();
  CAIRN_ASSERT(level + 1 < machine.levels.size());
  Words capacity = 0;
  for (std::size_t below = 0; below <= level; ++below)
    capacity += static_cast<Words>(machine.levels[below].units) * machine.levels[below].capacity;
  Words unread = 0;
  for (Vertex v = 0; v < graph.size(); ++v)
    if (graph.is_input(v) && graph.successors(v).empty()) unread += graph.weight(v);
  std::vector<LowerBound> bounds = lower_bounds(graph, capacity, k_rbw);
  for (LowerBound& bound : bounds) {
    bound.games = GameSet::of(k_rbw);
    bound.assumptions.push_back("all units at and below the link as one memory of " + std::to_string(capacity) +
                                " words");
    if (unread == 0) continue;
    bound.words -= unread;
    bound.parts.push_back({.what = "inputs that nothing reads", .words = -unread});
  }
  return bounds;
}

std::optional<Words> least_vertical_words(const Cdag& graph, const Machine& machine, std::size_t level,
                                          std::size_t state_budget) {
  machine.check();
  CAIRN_ASSERT(level + 1 < machine.levels.size());
  return VerticalSearch(graph, machine, level).run(state_budget);
}

}  // namespace cairn::pebble
