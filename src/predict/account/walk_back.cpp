#include "walk_back.h"

#include <algorithm>

#include "at.h"
#include "evaluate/interpret.h"

namespace cairn::predict {
namespace {

using program::Stream;

// What the start of a step was decided by.
enum class Cause : std::uint8_t { stream, step, arrival, host };

using NodeId = std::int32_t;  // steps in issue order; -1: none

struct Node {
  const program::Step* step = nullptr;
  Span span;
  core::Picoseconds ready = 0;  // when this rank could have started it
  NodeId before = -1;           // the node that decided; for the host, its last step of its own
  std::int32_t pass = 0;
  Cause cause = Cause::stream;
};

// Nodes of earlier blocks that a gap may still be walked back to, in issue order.
class EarlierNodes {
 public:
  // `awaited`: a later pass of this stage waits for it, so that it is kept whatever has ended since.
  void keep(NodeId id, const Node& node, bool awaited) {
    if (kept_.empty() || kept_.back().id != id) kept_.push_back({.id = id, .node = node});
    kept_.back().awaited |= awaited;
  }
  // Drops, now and then, what ended by `free`: no gap begins earlier than that.
  void drop_ended(core::Picoseconds free) {
    if (kept_.size() < next_drop_) return;
    std::erase_if(kept_, [&](const Kept& each) { return !each.awaited && each.node.span.end <= free; });
    next_drop_ = std::max(k_few, 2 * kept_.size());
  }
  const Node* find(NodeId id) const {
    const auto at = std::lower_bound(kept_.begin(), kept_.end(), id,
                                     [](const Kept& each, NodeId wanted) { return each.id < wanted; });
    return at != kept_.end() && at->id == id ? &at->node : nullptr;
  }

 private:
  struct Kept {
    NodeId id = -1;
    bool awaited = false;
    Node node;
  };
  static constexpr std::size_t k_few = 64;

  std::vector<Kept> kept_;
  std::size_t next_drop_ = k_few;
};

class WalkBack {
 public:
  WalkBack(const program::Program& program, PriceTable& prices, const StageTimeline& timeline,
           const Producers& producers, const SpellReader& tell)
      : prices_(prices),
        timeline_(timeline),
        passes_(passes_of(program, timeline.stage)),
        sources_(producers[at(timeline.stage)]),
        awaited_(passes_.size(), false),
        tell_(tell) {
    last_of_pass_.reserve(passes_.size());
    for (const PassId& source : sources_)
      if (source.stage == timeline.stage) awaited_[at(source.position)] = true;
  }

  void run() && {
    for (std::size_t position = 0; position < passes_.size(); ++position) {
      for (const program::BlockRun& run : passes_[position]->runs)
        for (std::int64_t repeat = 0; repeat < run.count; ++repeat)
          walk_block(*run.block, static_cast<std::int32_t>(position));
      if (awaited_[position] && !nodes_.empty()) earlier_.keep(next_id() - 1, nodes_.back(), /*awaited=*/true);
      last_of_pass_.push_back(next_id() - 1);
    }
    // The rank ends with its last step; what follows the last computation is awaited as if by one more.
    if (free_ < timeline_.end) gap_until(timeline_.end, last_ending(), /*ended=*/true);
    flush();
  }

 private:
  void walk_block(const program::Block& block, std::int32_t pass) {
    block_ = {.prices = &prices_.of(block), .entry = latest_, .first = next_id(), .pass = pass};
    nodes_.clear();
    interpret(block, *this);
    for (std::size_t index = 0; index < nodes_.size(); ++index)
      if (nodes_[index].span.end > free_)
        earlier_.keep(block_.first + static_cast<NodeId>(index), nodes_[index], /*awaited=*/false);
    earlier_.drop_ended(free_);
  }

  friend void interpret<WalkBack>(const program::Block& block, WalkBack& machine);
  // Nodes are filled in place: there are as many as steps, and copying them would take longer than all the rest.
  void follow(std::size_t, const program::Step& step) {
    Node& node = nodes_.emplace_back();
    const Latest& before = latest_[at(step.stream)];
    node.step = &step;
    node.before = before.id;
    node.pass = block_.pass;
    node.ready = before.end;
    if (step.stream == Stream::host) node.ready = host_free_;  // it issued kernels in between
  }
  void after_step(std::size_t other) {
    consider(nodes_[other].span.end, Cause::step, block_.first + static_cast<NodeId>(other));
  }
  void after_entry(std::size_t stream) {
    if (stream == at(Stream::arrival)) return after_arrival();
    if (const Latest& before = block_.entry[stream]; before.id >= 0) consider(before.end, Cause::step, before.id);
  }
  void after_arrival() {
    const core::Picoseconds arrived = timeline_.arrivals[at(block_.pass)].end;
    const PassId& source = sources_[at(block_.pass)];
    if (source.stage == timeline_.stage)
      consider(arrived, Cause::step, last_of_pass_[at(source.position)]);
    else
      consider(arrived, Cause::arrival, -1);
  }
  void after_launch(const program::Step&) {
    const Span& issued = timeline_.steps[at(Stream::host)][next_[at(Stream::host)]++];
    host_free_ = issued.end;
    consider(issued.end, Cause::host, latest_[at(Stream::host)].id);
  }
  void run(std::size_t, const program::Step& step) {
    Node& node = nodes_.back();
    node.span = timeline_.steps[at(step.stream)][next_[at(step.stream)]++];
    if (step.stream == Stream::host) host_free_ = node.span.end;
    latest_[at(step.stream)] = {.id = next_id() - 1, .end = node.span.end};
    if (step.stream == Stream::compute) account(node, step.work < 0 ? Price{} : (*block_.prices)[at(step.work)]);
  }
  // Something that the step under way waited for until `time`.
  void consider(core::Picoseconds time, Cause cause, NodeId before) {
    Node& node = nodes_.back();
    if (time <= node.ready) return;
    node.ready = time;
    node.cause = cause;
    node.before = before;
  }

  void account(const Node& node, const Price& price) {
    if (node.span.start > free_) gap_until(node.span.start, next_id() - 1);
    free_ = std::max(free_, node.span.end);
    const core::Picoseconds kernel = std::min(node.span.start + price.launch, node.span.end);
    tell(Spent::launch, node.span.start, kernel, node.pass);
    if (node.step->kind == program::StepKind::beside)
      tell(Spent::exchange, kernel, node.span.end, node.pass, program::reported_as(node.step->axis));
    else
      tell(busy(node.step->term), kernel, node.span.end, node.pass);
  }

  static Spent busy(program::Term term) {
    switch (term) {
      case program::Term::compute:
        return Spent::compute;
      case program::Term::recompute:
        return Spent::recompute;
      case program::Term::optimizer:
        return Spent::optimizer;
    }
    return Spent::other;
  }

  void tell(Spent what, core::Picoseconds start, core::Picoseconds end, std::int32_t pass,
            program::Axis axis = program::Axis::tensor) {
    if (end <= start) return;
    if (what == Spent::message || last_.what != what || last_.pass != pass || last_.axis != axis ||
        last_.during.end != start) {
      flush();
      last_ = {.what = what, .axis = axis, .pass = pass, .during = {.start = start, .end = end}};
    } else {
      last_.during.end = end;
    }
  }
  // Spells of one label in a row are told as one.
  void flush() {
    if (last_.time() > 0) tell_(last_);
  }

  // Tells [free_, until), the wait of node `id` (if `ended`: also the node itself), from its end backwards.
  void gap_until(core::Picoseconds until, NodeId id, bool ended = false) {
    const core::Picoseconds from = free_;
    const Node* node = find(id);
    const std::int32_t pass = node == nullptr ? 0 : node->pass;
    core::Picoseconds now = until;
    const auto spend = [&](core::Picoseconds back_to, Spent what, program::Axis axis = program::Axis::tensor) {
      back_to = std::clamp(back_to, from, now);
      tell(what, back_to, now, pass, axis);
      now = back_to;
    };
    bool waiting = !ended;  // the node itself has not started; afterwards we stand at its cause's end
    for (; now > from && node != nullptr; node = find(node->before)) {
      if (!waiting) {
        if (node->step->stream == Stream::compute) break;
        if (node->step->kind == program::StepKind::transfer)
          spend(node->span.start, Spent::exchange, program::reported_as(node->step->axis));
        else
          spend(node->span.start, node->step->kind == program::StepKind::copy ? Spent::copy : Spent::host);
      }
      waiting = false;
      spend(node->ready, Spent::ranks);
      if (now <= from) break;
      if (node->cause == Cause::arrival) {
        tell(Spent::message, from, now, node->pass);
        return;
      }
      // Issuing without a pause since its last step of its own, which may have waited.
      if (node->cause == Cause::host || (node->cause == Cause::stream && node->step->stream == Stream::host)) {
        const Node* before = find(node->before);
        spend(before != nullptr ? before->span.end : from, Spent::host);
      }
    }
    spend(from, Spent::other);
  }

  NodeId last_ending() const {
    Latest best;
    for (const Latest& each : latest_)
      if (each.id >= 0 && (best.id < 0 || each.end > best.end)) best = each;
    return best.id;
  }

  NodeId next_id() const { return block_.first + static_cast<NodeId>(nodes_.size()); }
  // None for what ended before the gap under way.
  const Node* find(NodeId id) const {
    if (id >= block_.first) return &nodes_[at(id - block_.first)];
    return id < 0 ? nullptr : earlier_.find(id);
  }

  struct Latest {
    NodeId id = -1;
    core::Picoseconds end = 0;
  };
  using LatestByStream = std::array<Latest, program::k_streams>;
  // The block under way.
  struct Walked {
    const BlockPrices* prices = nullptr;
    LatestByStream entry{};
    NodeId first = 0;
    std::int32_t pass = 0;
  };

  PriceTable& prices_;
  const StageTimeline& timeline_;
  std::vector<const program::Pass*> passes_;
  const std::vector<PassId>& sources_;  // by pass
  std::vector<bool> awaited_;           // by pass: another of this stage waits for it
  std::vector<NodeId> last_of_pass_;
  std::vector<Node> nodes_;  // of the block under way
  EarlierNodes earlier_;
  Walked block_;
  LatestByStream latest_{};
  std::array<std::size_t, program::k_streams> next_{};
  core::Picoseconds free_ = 0;
  core::Picoseconds host_free_ = 0;
  Spell last_;  // not yet told
  const SpellReader& tell_;
};

}  // namespace

void walk_back(const program::Program& program, PriceTable& prices, const StageTimeline& timeline,
               const Producers& producers, const SpellReader& tell) {
  WalkBack(program, prices, timeline, producers, tell).run();
}

}  // namespace cairn::predict
