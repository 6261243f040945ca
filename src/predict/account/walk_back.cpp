#include "walk_back.h"

#include <algorithm>

#include "at.h"
#include "evaluate/interpret.h"

namespace cairn::predict {
namespace {

using program::Stream;

// What the start of a step was decided by.
enum class Cause : std::uint8_t { stream, step, arrival, host };

struct Node {
  const program::Step* step = nullptr;
  Span span;
  core::Picoseconds ready = 0;  // when this rank could have started it
  std::int32_t before = -1;     // the node that decided; for the host, its last step of its own
  std::int32_t pass = 0;
  Cause cause = Cause::stream;
};

class WalkBack {
 public:
  WalkBack(const program::Program& program, PriceTable& prices, const StageTimeline& timeline,
           const Producers& producers)
      : prices_(prices),
        timeline_(timeline),
        passes_(passes_of(program, timeline.stage)),
        sources_(producers[at(timeline.stage)]) {
    latest_.fill(-1);
    last_of_pass_.reserve(passes_.size());
    std::size_t steps = 0;
    for (const program::Pass* pass : passes_)
      for (const program::BlockRun& run : pass->runs)
        steps += static_cast<std::size_t>(run.count) * run.block->steps.size();
    nodes_.reserve(steps);
    spells_.reserve(steps);
  }

  std::vector<Spell> run() && {
    for (std::size_t position = 0; position < passes_.size(); ++position) {
      for (const program::BlockRun& run : passes_[position]->runs)
        for (std::int64_t repeat = 0; repeat < run.count; ++repeat)
          walk_block(*run.block, static_cast<std::int32_t>(position));
      last_of_pass_.push_back(static_cast<std::int32_t>(nodes_.size()) - 1);
    }
    // The rank ends with its last step; what follows the last computation is awaited as if by one more.
    if (free_ < timeline_.end) gap_until(timeline_.end, last_ending(), /*ended=*/true);
    return std::move(spells_);
  }

 private:
  void walk_block(const program::Block& block, std::int32_t pass) {
    block_ = {.prices = &prices_.of(block),
              .entry = latest_,
              .first = static_cast<std::int32_t>(nodes_.size()),
              .pass = pass};
    interpret(block, *this);
  }

  friend void interpret<WalkBack>(const program::Block& block, WalkBack& machine);
  // Nodes are filled in place: there are as many as steps, and copying them would take longer than all the rest.
  void follow(std::size_t, const program::Step& step) {
    Node& node = nodes_.emplace_back();
    node.step = &step;
    node.before = latest_[at(step.stream)];
    node.pass = block_.pass;
    if (node.before >= 0) node.ready = nodes_[at(node.before)].span.end;
    if (step.stream == Stream::host) node.ready = host_free_;  // it issued kernels in between
  }
  void after_step(std::size_t other) {
    const std::int32_t before = block_.first + static_cast<std::int32_t>(other);
    consider(nodes_[at(before)].span.end, Cause::step, before);
  }
  void after_entry(std::size_t stream) {
    if (stream == at(Stream::arrival)) return after_arrival();
    if (const std::int32_t before = block_.entry[stream]; before >= 0)
      consider(nodes_[at(before)].span.end, Cause::step, before);
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
    consider(issued.end, Cause::host, latest_[at(Stream::host)]);
  }
  void run(std::size_t, const program::Step& step) {
    const auto id = static_cast<std::int32_t>(nodes_.size()) - 1;
    Node& node = nodes_.back();
    node.span = timeline_.steps[at(step.stream)][next_[at(step.stream)]++];
    if (step.stream == Stream::host) host_free_ = node.span.end;
    latest_[at(step.stream)] = id;
    if (step.stream == Stream::compute) account(id, step.work < 0 ? Price{} : (*block_.prices)[at(step.work)]);
  }
  // Something that the step under way waited for until `time`.
  void consider(core::Picoseconds time, Cause cause, std::int32_t before) {
    Node& node = nodes_.back();
    if (time <= node.ready) return;
    node.ready = time;
    node.cause = cause;
    node.before = before;
  }

  void account(std::int32_t id, const Price& price) {
    const Node& node = nodes_[at(id)];
    if (node.span.start > free_) gap_until(node.span.start, id);
    free_ = std::max(free_, node.span.end);
    const core::Picoseconds kernel = std::min(node.span.start + price.launch, node.span.end);
    tell(Spent::launch, node.span.start, kernel, node.pass);
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
    if (!spells_.empty() && what != Spent::message) {
      Spell& last = spells_.back();
      if (last.what == what && last.pass == pass && last.axis == axis && last.during.end == start) {
        last.during.end = end;
        return;
      }
    }
    Spell& spell = spells_.emplace_back();
    spell.what = what;
    spell.axis = axis;
    spell.pass = pass;
    spell.during.start = start;
    spell.during.end = end;
  }

  // Tells [free_, until), the wait of node `id` (if `ended`: also the node itself), from its end backwards.
  void gap_until(core::Picoseconds until, std::int32_t id, bool ended = false) {
    const core::Picoseconds from = free_;
    const std::int32_t pass = id < 0 ? 0 : nodes_[at(id)].pass;
    core::Picoseconds now = until;
    const auto spend = [&](core::Picoseconds back_to, Spent what, program::Axis axis = program::Axis::tensor) {
      back_to = std::clamp(back_to, from, now);
      tell(what, back_to, now, pass, axis);
      now = back_to;
    };
    bool waiting = !ended;  // the node itself has not started; afterwards we stand at its cause's end
    while (now > from && id >= 0) {
      const Node& node = nodes_[at(id)];
      if (!waiting) {
        if (node.step->stream == Stream::compute) break;
        if (node.step->kind == program::StepKind::transfer)
          spend(node.span.start, Spent::exchange, program::reported_as(node.step->axis));
        else
          spend(node.span.start, node.step->kind == program::StepKind::copy ? Spent::copy : Spent::host);
      }
      waiting = false;
      spend(node.ready, Spent::ranks);
      if (now <= from) break;
      if (node.cause == Cause::arrival) {
        tell(Spent::message, from, now, node.pass);
        return;
      }
      // Issuing without a pause since its last step of its own, which may have waited.
      if (node.cause == Cause::host || (node.cause == Cause::stream && node.step->stream == Stream::host))
        spend(node.before >= 0 ? nodes_[at(node.before)].span.end : from, Spent::host);
      id = node.before;
    }
    spend(from, Spent::other);
  }

  std::int32_t last_ending() const {
    std::int32_t best = -1;
    for (const std::int32_t id : latest_)
      if (id >= 0 && (best < 0 || nodes_[at(id)].span.end > nodes_[at(best)].span.end)) best = id;
    return best;
  }

  using Latest = std::array<std::int32_t, program::k_streams>;  // nodes, by stream; -1: none
  // The block under way.
  struct Walked {
    const BlockPrices* prices = nullptr;
    Latest entry{};
    std::int32_t first = 0;  // node
    std::int32_t pass = 0;
  };

  PriceTable& prices_;
  const StageTimeline& timeline_;
  std::vector<const program::Pass*> passes_;
  const std::vector<PassId>& sources_;      // by pass
  std::vector<std::int32_t> last_of_pass_;  // nodes
  std::vector<Node> nodes_;
  std::vector<Spell> spells_;
  Walked block_;
  Latest latest_{};
  std::array<std::size_t, program::k_streams> next_{};
  core::Picoseconds free_ = 0;
  core::Picoseconds host_free_ = 0;
};

}  // namespace

std::vector<Spell> walk_back(const program::Program& program, PriceTable& prices, const StageTimeline& timeline,
                             const Producers& producers) {
  return WalkBack(program, prices, timeline, producers).run();
}

}  // namespace cairn::predict
