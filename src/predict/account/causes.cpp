#include "cairn/predict/account/causes.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "at.h"
#include "walk_back.h"

namespace cairn::predict {
namespace {

// Sums of time by cause, axis and stage.
class CauseSums {
 public:
  void add(Cause cause, std::int32_t stage, core::Picoseconds time, program::Axis axis = program::Axis::tensor) {
    if (time > 0) sums_[{cause, axis, stage}] += time;
  }
  // Moves up to `time` of one cause to another; what was moved.
  void move(Cause from, Cause to, std::int32_t stage, core::Picoseconds time) {
    const auto found = sums_.find({from, program::Axis::tensor, stage});
    if (found == sums_.end()) return;
    const core::Picoseconds moved = std::min(time, found->second);
    found->second -= moved;
    add(to, stage, moved);
  }
  void add(const CauseSums& more) {
    for (const auto& [key, time] : more.sums_) sums_[key] += time;
  }
  std::vector<CauseTime> longest_first() const {
    std::vector<CauseTime> result;
    for (const auto& [key, time] : sums_)
      if (time > 0)
        result.push_back(
            {.cause = std::get<0>(key), .axis = std::get<1>(key), .stage = std::get<2>(key), .time = time});
    std::stable_sort(result.begin(), result.end(),
                     [](const CauseTime& a, const CauseTime& b) { return a.time > b.time; });
    return result;
  }

 private:
  std::map<std::tuple<Cause, program::Axis, std::int32_t>, core::Picoseconds> sums_;
};

// Finds why a stage waited for a message, by walking back through the passes of other stages.
class PassWalk {
 public:
  PassWalk(const program::Program& program, Analytic& analytic, const PassTimes& passes, const Producers& producers,
           std::int32_t reference)
      : program_(program), analytic_(analytic), passes_(passes), producers_(producers), reference_(reference) {}

  // Accounts for the interval `during`, in which pass `waiting` waited for its message.
  void await(PassId waiting, Span during, CauseSums& sums) const {
    core::Picoseconds now = during.end;
    const auto back_to = [&](core::Picoseconds time) {
      time = std::clamp(time, during.start, now);
      const core::Picoseconds before = std::exchange(now, time);
      return before - time;
    };
    while (now > during.start) {
      const PassId source = producers_[at(waiting.stage)][at(waiting.position)];
      if (source.stage < 0) break;
      // Time after the message had arrived: other ranks of the stage got theirs later.
      sums.add(Cause::ranks, source.stage, back_to(time(waiting).arrival.end));
      // Time in which the message was sent, or was queued behind earlier ones.
      sums.add(Cause::message, source.stage, back_to(std::min(time(waiting).arrival.start, time(source).end)));
      waiting = source;
      while (now > during.start) {
        const core::Picoseconds earlier = waiting.position > 0 ? time({waiting.stage, waiting.position - 1}).end : 0;
        const core::Picoseconds arrived = time(waiting).arrival.end;
        add_pass(waiting, back_to(std::max(earlier, arrived)), sums);
        if (arrived > earlier || waiting.position == 0) break;
        --waiting.position;
      }
    }
    sums.add(Cause::schedule, reference_, back_to(during.start));
  }

  // Accounts for time that went into a pass of another stage than the one whose waiting is explained.
  void add_pass(PassId pass, core::Picoseconds spent, CauseSums& sums) const {
    if (!in_schedule(pass)) return sums.add(Cause::exchange, pass.stage, spent, program::Axis::data);
    const std::uint16_t slot = program_.row(pass.stage)[at(pass.position)].slot;
    const core::Picoseconds beyond =
        analytic_.alone(program_.pass(pass.stage, slot)) - analytic_.alone(program_.pass(reference_, slot));
    const core::Picoseconds longer = std::clamp<core::Picoseconds>(beyond, 0, spent);
    sums.add(Cause::imbalance, pass.stage, longer);
    sums.add(Cause::schedule, reference_, spent - longer);
  }

  bool in_schedule(PassId pass) const { return program_.row(pass.stage)[at(pass.position)].operation >= 0; }

 private:
  const PassTime& time(PassId pass) const { return passes_[at(pass.stage)][at(pass.position)]; }

  const program::Program& program_;
  Analytic& analytic_;
  const PassTimes& passes_;
  const Producers& producers_;
  std::int32_t reference_;
};

Cause cause_of(Spent spent) {
  switch (spent) {
    case Spent::compute:
      return Cause::compute;
    case Spent::recompute:
      return Cause::recompute;
    case Spent::optimizer:
      return Cause::optimizer;
    case Spent::launch:
      return Cause::launch;
    case Spent::exchange:
      return Cause::exchange;
    case Spent::copy:
      return Cause::copy;
    case Spent::host:
      return Cause::host;
    case Spent::message:
      return Cause::message;
    case Spent::ranks:
      return Cause::ranks;
    case Spent::other:
      break;
  }
  return Cause::schedule;
}

// What the computation of a stage takes by its prices.
std::map<Cause, core::Picoseconds> priced(const program::Program& program, PriceTable& prices, std::int32_t stage) {
  std::map<Cause, core::Picoseconds> result;
  for (const auto& [block, count] : block_counts(program, stage)) {
    const BlockPrices& each = prices.of(*block);
    for (const program::Step& step : block->steps) {
      if (step.stream != program::Stream::compute || step.work < 0 || step.kind == program::StepKind::beside) continue;
      const Price& price = each[static_cast<std::size_t>(step.work)];
      const core::Picoseconds launch = std::min(price.launch, price.duration);
      result[Cause::launch] += count * launch;
      result[step.term == program::Term::compute     ? Cause::compute
             : step.term == program::Term::recompute ? Cause::recompute
                                                     : Cause::optimizer] += count * (price.duration - launch);
    }
  }
  return result;
}

// What a stage computes beyond the average one counts as imbalance.
void part_imbalance(const program::Program& program, PriceTable& prices, std::int32_t limiting, CauseSums& sums) {
  const auto stages = static_cast<std::int32_t>(program.stages());
  if (stages == 1) return;
  std::map<Cause, core::Picoseconds> mean;
  for (std::int32_t stage = 0; stage < stages; ++stage)
    for (const auto& [cause, time] : priced(program, prices, stage)) mean[cause] += time;
  for (const auto& [cause, time] : priced(program, prices, limiting))
    sums.move(cause, Cause::imbalance, limiting, std::max<core::Picoseconds>(0, time - mean[cause] / stages));
}

// The time of the stage that ends last in which it waited for others, by cause.
class Bubble {
 public:
  Bubble(const PassWalk& others, const StageTimeline& last) : others_(others), last_(last) {}

  void read(const Spell& spell) {
    if (spell.what == Spent::ranks) parts_.ranks += spell.time();
    if (spell.what != Spent::message) return;
    // While its own message is under way it waits for that, not in a bubble.
    const core::Picoseconds sent = last_.arrivals[at(spell.pass)].start;
    others_.await({last_.stage, spell.pass},
                  {spell.during.start, std::clamp(sent, spell.during.start, spell.during.end)}, sums_);
  }
  BubbleParts parts() const {
    BubbleParts result = parts_;
    for (const CauseTime& part : sums_.longest_first())
      (part.cause == Cause::schedule    ? result.schedule
       : part.cause == Cause::imbalance ? result.imbalance
                                        : result.transfers) += part.time;
    return result;
  }

 private:
  const PassWalk& others_;
  const StageTimeline& last_;
  BubbleParts parts_;
  CauseSums sums_;
};

// The causes of the step's time: what the limiting stage does until it is through, then what the last one still does.
class StepCauses {
 public:
  StepCauses(const PassWalk& others, std::int32_t limiting) : others_(others), limiting_(limiting) {}

  void read_limiting(const Spell& spell) {
    if (spell.what == Spent::message)
      others_.await({limiting_, spell.pass}, spell.during, sums_);
    else
      own_[static_cast<std::size_t>(spell.what)][static_cast<std::size_t>(spell.axis)] += spell.time();
  }
  // A spell of stage `last`; only what lies after `through`, when the limiting stage ends.
  void read_last(const Spell& spell, std::int32_t last, core::Picoseconds through) {
    const Span left{std::max(spell.during.start, through), spell.during.end};
    if (left.end <= left.start) return;
    const PassId pass{last, spell.pass};
    if (spell.what == Spent::message)
      others_.await(pass, left, after_);
    else if (others_.in_schedule(pass))
      others_.add_pass(pass, left.end - left.start, after_);
    else
      after_.add(cause_of(spell.what), last, left.end - left.start, spell.axis);
  }
  std::vector<CauseTime> parts(const program::Program& program, PriceTable& prices, core::Picoseconds links) const {
    CauseSums sums = sums_;
    for (std::size_t what = 0; what < own_.size(); ++what)
      for (std::size_t axis = 0; axis < own_[what].size(); ++axis)
        sums.add(cause_of(static_cast<Spent>(what)), limiting_, own_[what][axis], static_cast<program::Axis>(axis));
    part_imbalance(program, prices, limiting_, sums);
    sums.add(after_);
    sums.add(Cause::links, limiting_, links);
    return sums.longest_first();
  }

 private:
  const PassWalk& others_;
  std::int32_t limiting_;
  std::array<std::array<core::Picoseconds, program::k_axes>, k_spent> own_{};
  CauseSums sums_;
  CauseSums after_;  // the limiting stage is through
};

}  // namespace

Account account(const program::Program& program, PriceTable& prices, Analytic& analytic, const Makespan& work,
                core::Picoseconds links, EventResult* event, Detail detail) {
  // What nothing disturbs runs as the analytic engine says.
  const bool disturbed = event != nullptr && !event->passes.empty();
  Account result;
  const PassTimes& passes = result.passes = disturbed ? std::move(event->passes) : analytic.pass_times(program);
  const std::int32_t stage = limiting_stage(passes, work);
  result.causes.stages = stage_times(passes, work);
  result.causes.limiting = stage;
  if (detail == Detail::stages) return result;
  result.breakdown.links = links;
  const Producers sources = producers(program);
  const bool last_limits = stage == work.last_stage;
  const bool causes = detail == Detail::causes;

  const PassWalk behind_limiting(program, analytic, passes, sources, stage);
  StepCauses step(behind_limiting, stage);
  core::Picoseconds through = work.time;
  if (causes && !last_limits) {  // one timeline at a time: they are what takes memory
    const StageTimeline limiting = disturbed ? std::move(event->limiting) : analytic.timeline(program, stage);
    walk_back(program, prices, limiting, sources, [&](const Spell& spell) { step.read_limiting(spell); });
    through = limiting.end;
  }
  const StageTimeline last = event != nullptr ? std::move(event->last) : analytic.timeline(program, work.last_stage);
  const PassWalk behind_last(program, analytic, passes, sources, last.stage);
  Bubble bubble(behind_last, last);
  walk_back(program, prices, last, sources, [&](const Spell& spell) {
    attribute(spell, last, result.breakdown);
    if (!causes) return;
    bubble.read(spell);
    if (last_limits)
      step.read_limiting(spell);
    else
      step.read_last(spell, last.stage, through);
  });
  if (!causes) return result;
  result.causes.parts = step.parts(program, prices, links);
  result.causes.bubble = bubble.parts();
  return result;
}

}  // namespace cairn::predict
