#include "cairn/pebble/schedule.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <set>
#include <tuple>

#include "cairn/core/assert.h"

namespace cairn::pebble {

namespace {

constexpr std::int64_t k_no_use = std::numeric_limits<std::int64_t>::max();

class Player {
 public:
  Player(const Cdag& graph, Sliding sliding, Words fast, const OrderedPlay& plan)
      : graph_(graph),
        sliding_(sliding),
        fast_(fast),
        plan_(plan),
        position_(graph.size(), -1),
        next_(graph.size(), 0),
        uses_(graph.size()),
        red_(graph.size(), 0),
        blue_(graph.size(), 0),
        key_(graph.size(), 0) {
    CAIRN_ASSERT(plan.order.size() == graph.size());
    for (std::size_t i = 0; i < plan.order.size(); ++i) position_[plan.order[i]] = static_cast<std::int64_t>(i);
    for (Vertex v : plan.order) {
      CAIRN_ASSERT(position_[v] >= 0);
      blue_[v] = graph.is_input(v) ? 1 : 0;
      for (Vertex p : graph.predecessors(v)) {
        CAIRN_ASSERT(position_[p] < position_[v]);
        uses_[p].push_back(position_[v]);
      }
    }
  }

  UpperBound run() {
    for (Vertex v : plan_.order) {
      if (!graph_.is_input(v)) {
        fire(v);
      } else if (graph_.successors(v).empty()) {
        touch_idle_input(v);
      }
    }
    bound_.words = bound_.loads + bound_.stores;
    bound_.games = slid_ ? GameSet::of({Rules::hong_kung, Sliding::allowed}) |
                               GameSet::of({Rules::red_blue_white, Sliding::allowed})
                         : GameSet::all();
    return std::move(bound_);
  }

 private:
  void record(MoveKind kind, Vertex v, Vertex from = 0) {
    bound_.play.push_back({.kind = kind, .vertex = v, .from = from});
  }
  std::int64_t next_use(Vertex v) const { return next_[v] < uses_[v].size() ? uses_[v][next_[v]] : k_no_use; }
  bool dead(Vertex v) const { return next_use(v) == k_no_use; }

  // Victims are taken from the front; operands of the firing at hand stand at the back under either rule.
  void rekey(Vertex v) {
    const bool held = red_[v] != 0;
    if (held) by_key_.erase({key_[v], v});
    key_[v] = plan_.replacement == Replacement::farthest_next_use ? -next_use(v) : now_;
    if (held) by_key_.insert({key_[v], v});
  }

  void place(Vertex v) {
    red_[v] = 1;
    held_ += graph_.weight(v);
    rekey(v);
    by_key_.insert({key_[v], v});
  }

  void take(Vertex v) {
    by_key_.erase({key_[v], v});
    red_[v] = 0;
    held_ -= graph_.weight(v);
  }

  void erase(Vertex v) {
    take(v);
    record(MoveKind::erase, v);
  }

  void save(Vertex v) {
    if (blue_[v] != 0) return;
    blue_[v] = 1;
    bound_.stores += graph_.weight(v);
    record(MoveKind::store, v);
  }

  void load(Vertex v) {
    bound_.loads += graph_.weight(v);
    record(MoveKind::load, v);
    place(v);
  }

  void touch_idle_input(Vertex v) {
    make_room(v, graph_.weight(v));
    load(v);
    erase(v);
  }

  bool is_operand(Vertex candidate, Vertex v) const {
    const auto reads = graph_.predecessors(v);
    return std::find(reads.begin(), reads.end(), candidate) != reads.end();
  }

  // Evicts until `words` more fit; false when only operands of v are left.
  bool make_room(Vertex v, Words words) {
    while (held_ + words > fast_) {
      if (by_key_.empty()) return false;
      // Among equally far ones a victim that needs no store.
      auto victim = by_key_.begin();
      for (auto other = victim; other != by_key_.end() && other->first == victim->first; ++other) {
        if (blue_[other->second] != 0 && !is_operand(other->second, v)) {
          victim = other;
          break;
        }
      }
      const Vertex u = victim->second;
      if (is_operand(u, v)) return false;
      save(u);
      erase(u);
    }
    return true;
  }

  void fire(Vertex v) {
    now_ = position_[v];
    Words missing = 0;
    for (Vertex p : graph_.predecessors(v)) {
      if (red_[p] == 0) missing += graph_.weight(p);
      rekey(p);
    }
    Vertex slid = v;
    const Words w = graph_.weight(v);
    if (sliding_ == Sliding::allowed) slid = dying_operand(v);
    const bool slides_free = slid != v && held_ + missing + w > fast_;
    const Words wanted = slides_free ? std::max(missing, missing + w - graph_.weight(slid)) : missing + w;
    if (!make_room(v, wanted)) {
      // Only operands are left: the one that makes most room slides.
      CAIRN_ASSERT(sliding_ == Sliding::allowed);
      slid = roomiest_operand(v);
    }
    for (Vertex p : graph_.predecessors(v)) {
      if (red_[p] == 0) load(p);
    }
    for (Vertex p : graph_.predecessors(v)) ++next_[p];
    if (held_ + w <= fast_) {
      record(MoveKind::compute, v);
    } else {
      CAIRN_ASSERT(slid != v);
      slid_ = true;
      if (!dead(slid)) save(slid);
      take(slid);
      record(MoveKind::slide, v, slid);
    }
    place(v);
    if (graph_.is_output(v)) save(v);
    for (Vertex p : graph_.predecessors(v)) {
      if (red_[p] == 0) continue;
      if (dead(p))
        erase(p);
      else
        rekey(p);
    }
    if (dead(v)) erase(v);
  }

  // An operand read for the last time that makes enough room by sliding; v itself when there is none.
  Vertex dying_operand(Vertex v) const {
    Vertex best = v;
    for (Vertex p : graph_.predecessors(v)) {
      if (next_[p] + 1 == uses_[p].size() && (best == v || graph_.weight(p) > graph_.weight(best))) best = p;
    }
    return best;
  }

  // The heaviest operand, of equals the one read again last.
  Vertex roomiest_operand(Vertex v) const {
    const auto after = [&](Vertex p) { return next_[p] + 1 < uses_[p].size() ? uses_[p][next_[p] + 1] : k_no_use; };
    Vertex best = graph_.predecessors(v).front();
    for (Vertex p : graph_.predecessors(v)) {
      if (std::pair(graph_.weight(p), after(p)) > std::pair(graph_.weight(best), after(best))) best = p;
    }
    return best;
  }

  const Cdag& graph_;
  Sliding sliding_;
  Words fast_;
  OrderedPlay plan_;
  std::vector<std::int64_t> position_;
  std::vector<std::size_t> next_;                // of uses_: the first still to come
  std::vector<std::vector<std::int64_t>> uses_;  // positions of the readers, increasing
  std::vector<char> red_, blue_;
  std::vector<std::int64_t> key_;
  std::set<std::pair<std::int64_t, Vertex>> by_key_;  // what is in fast memory
  std::int64_t now_ = 0;
  Words held_ = 0;
  bool slid_ = false;
  UpperBound bound_;
};

}  // namespace

UpperBound play_in_order(const Cdag& graph, Sliding sliding, Words fast, const OrderedPlay& plan) {
  require_playable(graph, {Rules::red_blue_white, sliding}, fast);
  UpperBound bound = Player(graph, sliding, fast, plan).run();
  bound.method = plan.replacement == Replacement::farthest_next_use ? "farthest next use" : "least recently used";
  return bound;
}

std::vector<Vertex> depth_first_order(const Cdag& graph) {
  std::vector<Vertex> order;
  std::vector<char> entered(graph.size(), 0);
  std::vector<std::pair<Vertex, std::size_t>> stack;
  for (Vertex sink : graph.order()) {
    if (!graph.successors(sink).empty()) continue;
    stack.emplace_back(sink, 0);
    entered[sink] = 1;
    while (!stack.empty()) {
      auto& [v, next] = stack.back();
      const auto reads = graph.predecessors(v);
      while (next < reads.size() && entered[reads[next]] != 0) ++next;
      if (next == reads.size()) {
        order.push_back(v);
        stack.pop_back();
      } else {
        const Vertex p = reads[next];
        entered[p] = 1;
        stack.emplace_back(p, 0);
      }
    }
  }
  return order;
}

std::vector<Vertex> greedy_order(const Cdag& graph) {
  const std::size_t n = graph.size();
  std::vector<std::size_t> waiting(n), readers_left(n);
  std::vector<std::int64_t> made(n, -1);
  for (Vertex v = 0; v < n; ++v) {
    waiting[v] = graph.predecessors(v).size();
    readers_left[v] = graph.successors(v).size();
  }
  // Words that v adds when fired now, less those that die; and how old its newest operand is. Recomputed when taken:
  // only ever gets better as other readers of its operands are fired.
  struct Choice {
    Words growth;
    std::int64_t age;
    Vertex v;
    bool operator>(const Choice& other) const {
      return std::tie(growth, age, v) > std::tie(other.growth, other.age, other.v);
    }
  };
  const auto judge = [&](Vertex v) {
    Choice choice{.growth = readers_left[v] > 0 ? graph.weight(v) : 0, .age = 0, .v = v};
    for (Vertex p : graph.predecessors(v)) {
      if (graph.is_input(p) && made[p] < 0) choice.growth += graph.weight(p);
      if (readers_left[p] == 1) choice.growth -= graph.weight(p);
      choice.age = std::min(choice.age, -made[p]);
    }
    return choice;
  };
  std::priority_queue<Choice, std::vector<Choice>, std::greater<>> ready;
  std::vector<Vertex> order;
  const auto release = [&](Vertex v) {
    for (Vertex s : graph.successors(v)) {
      if (--waiting[s] == 0) ready.push(judge(s));
    }
  };
  for (Vertex v = 0; v < n; ++v) {
    if (waiting[v] != 0) continue;
    if (graph.is_input(v)) {
      order.push_back(v);
      release(v);
    } else {
      ready.push(judge(v));
    }
  }
  std::vector<char> fired(n, 0);
  std::int64_t clock = 0;
  while (!ready.empty()) {
    const Vertex v = ready.top().v;
    ready.pop();
    if (fired[v] != 0) continue;
    fired[v] = 1;
    made[v] = ++clock;
    order.push_back(v);
    for (Vertex p : graph.predecessors(v)) {
      if (made[p] < 0) made[p] = clock;
      if (--readers_left[p] != 1) continue;
      for (Vertex s : graph.successors(p)) {
        if (waiting[s] == 0 && fired[s] == 0) ready.push(judge(s));  // now the last reader of p
      }
    }
    release(v);
  }
  return order;
}

UpperBound best_ordered_play(const Cdag& graph, Sliding sliding, Words fast) {
  struct Candidate {
    std::string name;
    std::vector<Vertex> order;
  };
  const Candidate candidates[] = {{"program order", graph.order()},
                                  {"depth first", depth_first_order(graph)},
                                  {"greedy by live words", greedy_order(graph)},
                                  {"convex partition", convex_partition_order(graph, fast)}};
  std::optional<UpperBound> best;
  for (const Candidate& candidate : candidates) {
    UpperBound play = play_in_order(graph, sliding, fast, {.order = candidate.order});
    play.method = candidate.name + ", " + play.method;
    if (!best || play.words < best->words) best = std::move(play);
  }
  return *best;
}

}  // namespace cairn::pebble
