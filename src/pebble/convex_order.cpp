#include <algorithm>
#include <deque>
#include <optional>

#include "cairn/pebble/schedule.h"

namespace cairn::pebble {

namespace {

// Grows one convex part after another; the order of growth is the order of execution.
class ConvexPartition {
 public:
  ConvexPartition(const Cdag& graph, Words fast)
      : graph_(graph),
        fast_(fast),
        waiting_(graph.size()),
        readers_left_(graph.size()),
        sibling_(graph.size(), 0),
        done_(graph.size(), 0),
        at_hand_(graph.size(), 0) {
    for (Vertex v = 0; v < graph.size(); ++v) {
      waiting_[v] = static_cast<std::uint32_t>(graph.predecessors(v).size());
      readers_left_[v] = static_cast<std::uint32_t>(graph.successors(v).size());
    }
  }

  std::vector<Vertex> run() {
    for (Vertex v : graph_.order()) {
      if (graph_.is_input(v)) finish(v);
    }
    // The earliest vertex not done yet is ready, since the order is a topological one.
    for (Vertex seed : graph_.order()) {
      if (done_[seed] != 0) continue;
      grow_from(seed);
    }
    return std::move(order_);
  }

 private:
  void finish(Vertex v) {
    done_[v] = 1;
    order_.push_back(v);
    for (Vertex s : graph_.successors(v)) --waiting_[s];
  }

  void hold(Vertex v) {
    if (at_hand_[v] != 0) return;
    at_hand_[v] = 1;
    held_.push_back(v);
    live_ += graph_.weight(v);
  }

  Words growth(Vertex v) const {
    Words more = graph_.weight(v);
    for (Vertex p : graph_.predecessors(v)) more += at_hand_[p] == 0 ? graph_.weight(p) : 0;
    return more;
  }

  void grow_from(Vertex seed) {
    for (Vertex v : held_) at_hand_[v] = 0;
    held_.clear();
    live_ = 0;
    std::deque<Vertex> frontier{seed};
    bool first = true;
    while (!frontier.empty()) {
      const Vertex v = frontier.front();
      frontier.pop_front();
      if (done_[v] != 0 || waiting_[v] != 0) continue;
      if (!first && live_ + growth(v) > fast_) continue;
      first = false;
      fire(v);
      // What reads v, then what reads the same operands.
      const auto readers = graph_.successors(v);
      frontier.insert(frontier.begin(), readers.begin(), readers.end());
      for (Vertex p : graph_.predecessors(v)) {
        if (const auto sibling = next_sibling(p)) frontier.push_back(*sibling);
      }
    }
  }

  // The first reader of p that is not done; each is passed over once, so that a value which everything reads costs no
  // more than its edges.
  std::optional<Vertex> next_sibling(Vertex p) {
    const auto readers = graph_.successors(p);
    while (sibling_[p] < readers.size() && done_[readers[sibling_[p]]] != 0) ++sibling_[p];
    if (sibling_[p] == readers.size()) return std::nullopt;
    return readers[sibling_[p]];
  }

  void fire(Vertex v) {
    for (Vertex p : graph_.predecessors(v)) hold(p);
    hold(v);
    finish(v);
    for (Vertex p : graph_.predecessors(v)) {
      if (--readers_left_[p] == 0) live_ -= graph_.weight(p);
    }
    if (readers_left_[v] == 0) live_ -= graph_.weight(v);
  }

  const Cdag& graph_;
  Words fast_;
  std::vector<std::uint32_t> waiting_, readers_left_, sibling_;
  std::vector<char> done_, at_hand_;
  std::vector<Vertex> held_, order_;
  Words live_ = 0;
};

}  // namespace

std::vector<Vertex> convex_partition_order(const Cdag& graph, Words fast) { return ConvexPartition(graph, fast).run(); }

}  // namespace cairn::pebble
