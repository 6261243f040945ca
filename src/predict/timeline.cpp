#include "cairn/predict/timeline.h"

#include <algorithm>
#include <unordered_map>

#include "cairn/core/assert.h"

namespace cairn::predict {
namespace {

using plan::Stream;

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }
std::size_t at(Stream stream) { return static_cast<std::size_t>(stream); }

// What the start of a step was decided by.
enum class Cause : std::uint8_t { stream, step, arrival, host };

struct Node {
  const plan::Step* step = nullptr;
  Span span;
  Cause cause = Cause::stream;
  std::int32_t before = -1;   // the node that decided; for the host, its last step of its own
  core::Picoseconds ready = 0;  // when this rank could have started it
  std::int32_t pass = 0;
};

class Attribution {
 public:
  Attribution(const plan::Program& program, PriceTable& prices, const StageTimeline& timeline)
      : prices_(prices),
        timeline_(timeline),
        passes_(passes_of(program, timeline.stage)),
        sources_(std::move(producers(program)[at(timeline.stage)])) {
    latest_.fill(-1);
    last_of_pass_.reserve(passes_.size());
    std::size_t steps = 0;
    for (const plan::Pass* pass : passes_)
      for (const plan::BlockRun& run : pass->runs) steps += static_cast<std::size_t>(run.count) * run.block->steps.size();
    nodes_.reserve(steps);
  }

  Breakdown run() {
    for (std::size_t position = 0; position < passes_.size(); ++position) {
      for (const plan::BlockRun& run : passes_[position]->runs)
        for (std::int64_t repeat = 0; repeat < run.count; ++repeat) walk_block(*run.block, static_cast<std::int32_t>(position));
      last_of_pass_.push_back(static_cast<std::int32_t>(nodes_.size()) - 1);
    }
    // The rank ends with its last step; what follows the last computation is awaited as if by one more.
    if (free_ < timeline_.end) gap_until(timeline_.end, last_ending(), /*ended=*/true);
    return breakdown_;
  }

 private:
  void walk_block(const plan::Block& block, std::int32_t pass) {
    const BlockPrices& prices = prices_.of(block);
    const auto entry = latest_;
    const auto first = static_cast<std::int32_t>(nodes_.size());
    for (const plan::Step& step : block.steps) {
      Node node{.step = &step, .span = {}, .cause = Cause::stream, .before = latest_[at(step.stream)], .ready = 0, .pass = pass};
      if (node.before >= 0) node.ready = nodes_[at(node.before)].span.end;
      if (step.stream == Stream::host) node.ready = host_free_;  // it issued kernels in between
      const auto consider = [&](core::Picoseconds time, Cause cause, std::int32_t before) {
        if (time <= node.ready) return;
        node.ready = time;
        node.cause = cause;
        node.before = before;
      };
      for (std::size_t d = step.first_dependency; d < step.first_dependency + step.dependencies; ++d) {
        const plan::Dependency dependency = block.dependencies[d];
        if (dependency >= 0) {
          consider(nodes_[at(first + dependency)].span.end, Cause::step, first + dependency);
        } else if (~dependency == static_cast<plan::Dependency>(Stream::arrival)) {
          const PassId& source = sources_[at(pass)];
          if (source.stage == timeline_.stage)
            consider(timeline_.arrivals[at(pass)].end, Cause::step, last_of_pass_[at(source.position)]);
          else
            consider(timeline_.arrivals[at(pass)].end, Cause::arrival, -1);
        } else if (entry[at(~dependency)] >= 0) {
          consider(nodes_[at(entry[at(~dependency)])].span.end, Cause::step, entry[at(~dependency)]);
        }
      }
      if (step.launches > 0) {
        const Span& issued = timeline_.steps[at(Stream::host)][next_[at(Stream::host)]++];
        host_free_ = issued.end;
        consider(issued.end, Cause::host, latest_[at(Stream::host)]);
      }
      node.span = timeline_.steps[at(step.stream)][next_[at(step.stream)]++];
      if (step.stream == Stream::host) host_free_ = node.span.end;
      const auto id = static_cast<std::int32_t>(nodes_.size());
      nodes_.push_back(node);
      latest_[at(step.stream)] = id;
      if (step.stream == Stream::compute) account(id, step.work < 0 ? Price{} : prices[at(step.work)]);
    }
  }

  void account(std::int32_t id, const Price& price) {
    const Node& node = nodes_[at(id)];
    if (node.span.start > free_) gap_until(node.span.start, id);
    free_ = std::max(free_, node.span.end);
    const core::Picoseconds busy = node.span.end - node.span.start;
    const core::Picoseconds launch = std::min(busy, price.launch);
    breakdown_.launch += launch;
    const core::Picoseconds rest = busy - launch;
    if (node.step->term == plan::Term::compute) breakdown_.compute += rest;
    if (node.step->term == plan::Term::recompute) breakdown_.recompute += rest;
    if (node.step->term == plan::Term::optimizer) breakdown_.optimizer += rest;
  }

  // Attributes [free_, until), the wait of node `id` (if `ended`: also the node itself), from its end backwards.
  void gap_until(core::Picoseconds until, std::int32_t id, bool ended = false) {
    const core::Picoseconds from = free_;
    core::Picoseconds now = until;
    const auto spend = [&](core::Picoseconds back_to, core::Picoseconds& term) {
      back_to = std::clamp(back_to, from, now);
      term += now - back_to;
      now = back_to;
    };
    bool waiting = !ended;  // the node itself has not started; afterwards we stand at its cause's end
    while (now > from && id >= 0) {
      const Node& node = nodes_[at(id)];
      if (!waiting) {
        if (node.step->stream == Stream::compute) break;
        if (node.step->kind == plan::StepKind::transfer)
          spend(node.span.start, breakdown_.exposed[static_cast<std::size_t>(plan::reported_as(node.step->axis))]);
        else if (node.step->kind == plan::StepKind::copy)
          spend(node.span.start, breakdown_.offload);
        else
          spend(node.span.start, breakdown_.host);
      }
      waiting = false;
      spend(node.ready, breakdown_.bubble);  // a peer came later
      if (now <= from) break;
      if (node.cause == Cause::arrival) {
        spend(timeline_.arrivals[at(node.pass)].start, breakdown_.exposed[static_cast<std::size_t>(plan::Axis::pipeline)]);
        spend(from, breakdown_.bubble);
      } else if (node.cause == Cause::host || (node.cause == Cause::stream && node.step->stream == Stream::host)) {
        // Issuing without a pause since its last step of its own, which may have waited.
        spend(node.before >= 0 ? nodes_[at(node.before)].span.end : from, breakdown_.host);
      }
      id = node.before;
    }
    spend(from, breakdown_.other);
  }

  std::int32_t last_ending() const {
    std::int32_t best = -1;
    for (const std::int32_t id : latest_)
      if (id >= 0 && (best < 0 || nodes_[at(id)].span.end > nodes_[at(best)].span.end)) best = id;
    return best;
  }

  PriceTable& prices_;
  const StageTimeline& timeline_;
  std::vector<const plan::Pass*> passes_;
  std::vector<PassId> sources_;              // by pass
  std::vector<std::int32_t> last_of_pass_;  // nodes
  std::vector<Node> nodes_;
  std::array<std::int32_t, plan::k_streams> latest_{};
  std::array<std::size_t, plan::k_streams> next_{};
  core::Picoseconds free_ = 0;
  core::Picoseconds host_free_ = 0;
  Breakdown breakdown_;
};

}  // namespace

core::Picoseconds Breakdown::total() const {
  core::Picoseconds sum = compute + recompute + optimizer + launch + offload + bubble + host + links + other;
  for (const core::Picoseconds part : exposed) sum += part;
  return sum;
}

std::vector<const plan::Pass*> passes_of(const plan::Program& program, std::int32_t stage) {
  std::vector<const plan::Pass*> passes;
  for (const plan::PassOrder::Entry& entry : program.row(stage)) passes.push_back(&program.pass(stage, entry.slot));
  const plan::Stage& description = program.stage(at(stage));
  passes.push_back(description.settle);
  passes.push_back(description.update);
  return passes;
}

std::vector<std::pair<const plan::Block*, std::int64_t>> block_counts(const plan::Program& program,
                                                                      std::int32_t stage) {
  std::vector<std::pair<const plan::Block*, std::int64_t>> counts;
  std::unordered_map<const plan::Block*, std::size_t> known;
  for (const plan::Pass* pass : passes_of(program, stage))
    for (const plan::BlockRun& run : pass->runs) {
      const auto [at, fresh] = known.emplace(run.block, counts.size());
      if (fresh) counts.emplace_back(run.block, 0);
      counts[at->second].second += run.count;
    }
  return counts;
}

std::vector<std::vector<PassId>> producers(const plan::Program& program) {
  std::vector<std::vector<PassId>> result(program.stages());
  const std::vector<plan::PassOrder::Step>& sweep = program.pass_order->sweep;
  std::vector<PassId> made;
  made.reserve(sweep.size());
  for (const plan::PassOrder::Step& step : sweep) {
    auto& row = result[step.device];
    made.push_back({step.device, static_cast<std::int32_t>(row.size())});
    PassId source;
    if (step.producer >= 0) {
      const plan::PassOrder::Step& producer = sweep[at(step.producer)];
      const bool told = producer.told_at_home() && !program.pass(producer.device, producer.slot).runs.empty();
      if (told || producer.device != step.device) source = made[at(step.producer)];
    }
    row.push_back(source);
  }
  for (std::size_t stage = 0; stage < result.size(); ++stage) {
    result[stage].push_back(PassId{});
    result[stage].push_back(PassId{});
  }
  for (std::size_t stage = 0; stage < result.size(); ++stage) {
    const std::span<const std::int32_t> circle = program.circle(static_cast<std::int32_t>(stage));
    if (circle.empty()) continue;
    const std::int32_t other = circle.front() == static_cast<std::int32_t>(stage) ? circle[1] : circle.front();
    result[stage].back() = {.stage = other, .position = static_cast<std::int32_t>(result[at(other)].size()) - 2};
  }
  return result;
}

Breakdown attribute(const plan::Program& program, PriceTable& prices, const StageTimeline& timeline) {
  return Attribution(program, prices, timeline).run();
}

}  // namespace cairn::predict
