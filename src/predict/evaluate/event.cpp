#include "cairn/predict/evaluate/event.h"

#include <fmt/format.h>

#include "actor.h"
#include "at.h"
#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "cairn/predict/evaluate/stage_times.h"
#include "rank_classes.h"
#include "shared_step.h"
#include "stage_script.h"

namespace cairn::predict {
namespace {

void check(const program::Program& program, const EventOptions& options) {
  for (const SlowRank& slow : options.slow_ranks) {
    if (slow.rank < 0 || slow.rank >= program.mesh.ranks())
      throw core::ConfigurationError("simulation.faults", fmt::format("rank {} does not exist", slow.rank),
                                     fmt::format("ranks are 0 to {}", program.mesh.ranks() - 1));
    if (!(slow.speed > 0.0))
      throw core::ConfigurationError("simulation.faults",
                                     fmt::format("rank {} has compute speed {}", slow.rank, slow.speed),
                                     "a speed is above 0; 1 is as priced");
  }
}

// All actors, the messages between stages and the collectives in which actors meet.
class Engine final : public Surroundings {
 public:
  Engine(const RankClasses& classes, const StageScripts& scripts, const EventOptions& options)
      : classes_(classes), scripts_(scripts), progress_(options.progress), meetings_(classes.meeting_places()) {
    actors_.reserve(at(classes.actors()));
    for (std::int64_t id = 0; id < classes.actors(); ++id)
      actors_.emplace_back(id, classes.rank(id), scripts[classes.stage(id)], options);
    awake_.assign(actors_.size(), 0);
  }

  // An actor wakes at news; it sleeps where it cannot go on without. The last to wake goes first: actors that meet
  // often go on together, while what they work on is at hand.
  void run() {
    for (std::int64_t id = 0; id < classes_.actors(); ++id) wake(id);
    std::int64_t begun = 0;
    const std::int64_t all = instances();
    while (!waking_.empty()) {
      const std::int64_t id = waking_.back();
      waking_.pop_back();
      awake_[at(id)] = 0;
      Actor& actor = actors_[at(id)];
      begun -= actor.instances();
      actor.run(*this);
      begun += actor.instances();
      if (progress_) progress_(at(begun), at(all));
    }
    for (const Actor& actor : actors_) CAIRN_ASSERT(actor.done());
  }

  core::Picoseconds join(const Actor& actor, std::size_t stream, const Task& task, core::Picoseconds ready) override {
    const Communicator communicator = classes_.communicator(actor.id(), task.axis, *task.group);
    Meeting& meeting = meetings_[classes_.meeting_place(communicator, stream)];
    meeting.latest = std::max(meeting.latest, ready);
    if (++meeting.present < communicator.size) return k_unknown;
    const core::Picoseconds start = meeting.latest;
    meeting = Meeting{};
    for (std::int64_t index = 0; index < communicator.size; ++index)
      if (const std::int64_t id = classes_.member(communicator, index); id != actor.id()) {
        actors_[at(id)].joined(stream, start);
        wake(id);
      }
    return start;
  }

  void sent(const Actor& actor, std::int32_t pass, Span span) override {
    for (const PassId& consumer : scripts_[classes_.stage(actor.id())].consumers_of(pass))
      hand_over(actor, consumer, span);
  }

  Actor& operator[](std::int64_t id) { return actors_[at(id)]; }

  // The actor that ends last; the lowest rank on ties.
  const Actor& last() const {
    const Actor* last = &actors_.front();
    for (const Actor& actor : actors_)
      if (actor.times().end() > last->times().end() ||
          (actor.times().end() == last->times().end() && actor.rank() < last->rank()))
        last = &actor;
    return *last;
  }

  std::int64_t events() const {
    std::int64_t sum = 0;
    for (const Actor& actor : actors_) sum += actor.times().events();
    return sum;
  }

 private:
  struct Meeting {
    std::int64_t present = 0;
    core::Picoseconds latest = 0;
  };

  std::int64_t instances() const {
    std::int64_t sum = 0;
    for (std::int32_t stage = 0; stage < classes_.actors() / classes_.per_stage(); ++stage)
      sum += classes_.per_stage() * scripts_[stage].instances();
    return sum;
  }
  void hand_over(const Actor& actor, const PassId& consumer, Span message) {
    const std::int64_t id = classes_.across(actor.id(), consumer.stage);
    actors_[at(id)].arrived(consumer.position, message);
    wake(id);
  }
  void wake(std::int64_t id) {
    if (awake_[at(id)]) return;
    awake_[at(id)] = 1;
    waking_.push_back(id);
  }

  const RankClasses& classes_;
  const StageScripts& scripts_;
  const std::function<void(std::size_t, std::size_t)>& progress_;
  std::vector<Actor> actors_;
  std::vector<Meeting> meetings_;  // by first member, stream and level
  std::vector<std::int64_t> waking_;
  std::vector<char> awake_;
};

// Where nothing is left to happen: what an actor sends and whom it meets is known already.
class Nobody final : public Surroundings {
 public:
  core::Picoseconds join(const Actor&, std::size_t, const Task&, core::Picoseconds ready) override { return ready; }
  void sent(const Actor&, std::int32_t, Span) override {}
};

// Up to so many tasks everybody's are recorded in the first run, 16 bytes each; beyond it whose are wanted is known
// after it.
constexpr std::int64_t k_recorded_at_once = 1 << 22;

// The one whose timeline tells what limits the step: that which ends last where its stage does.
std::int64_t limiting_actor(const RankClasses& classes, const EventResult& result, std::int64_t last) {
  const std::int32_t stage = limiting_stage(result.passes, result.makespan);
  return stage == result.makespan.last_stage ? last : classes.first(stage);
}

// What a run tells of the passes of all stages: those of their first actors.
template <class Times>
PassTimes passes_of_all(const RankClasses& classes, Times times) {
  PassTimes result;
  for (std::int32_t stage = 0; stage < classes.actors() / classes.per_stage(); ++stage)
    result.push_back(times(classes.first(stage)));
  return result;
}

EventResult simulate_shared(const RankClasses& classes, const StageScripts& scripts, const EventOptions& options) {
  const std::int64_t stages = classes.actors() / classes.per_stage();
  const auto record_stages = [&](SharedStep& step) {
    if (options.all_timelines)
      for (std::int32_t stage = 0; stage < stages; ++stage) step.times(classes.first(stage)).record();
  };
  SharedStep step(classes, scripts, options);
  record_stages(step);
  if (options.passes)
    for (std::int32_t stage = 0; stage < stages; ++stage) step.times(classes.first(stage)).note_passes();
  const bool at_once = step.tasks() <= k_recorded_at_once;
  if (at_once)
    for (std::int64_t actor = 0; actor < classes.actors(); ++actor) step.times(actor).record();
  step.run();

  const std::int64_t last = step.last();
  EventResult result;
  result.makespan = {.time = step.times(last).end(), .last_stage = classes.stage(last)};
  result.events = step.events();
  result.actors = classes.actors();
  result.units = options.demands->units();
  result.uses = step.uses();
  if (options.all_timelines)
    for (std::int32_t stage = 0; stage < stages; ++stage)
      result.timelines.push_back(step.times(classes.first(stage)).timeline(stage));
  std::int64_t limiting = last;
  if (options.passes) {
    result.passes = passes_of_all(classes, [&](std::int64_t actor) { return step.times(actor).pass_times(); });
    limiting = limiting_actor(classes, result, last);
  }
  const auto tell = [&](const SharedStep& run) {
    result.last = run.times(last).timeline(classes.stage(last));
    if (options.passes) result.limiting = run.times(limiting).timeline(classes.stage(limiting));
  };
  if (at_once) {
    tell(step);
    return result;
  }
  SharedStep again(classes, scripts, options);
  again.times(last).record();
  again.times(limiting).record();
  again.run();
  tell(again);
  return result;
}

}  // namespace

EventResult simulate(const program::Program& program, PriceTable& prices, const EventOptions& options) {
  check(program, options);
  const RankClasses classes(program, options);
  const bool together = classes.per_stage() > 1;
  const StageScripts scripts(program, prices, together);
  if (options.demands != nullptr) return simulate_shared(classes, scripts, options);
  const auto stages = static_cast<std::int32_t>(program.stages());
  Engine engine(classes, scripts, options);
  if (options.all_timelines)
    for (std::int32_t stage = 0; stage < stages; ++stage) engine[classes.first(stage)].times().record();
  if (options.passes)
    for (std::int32_t stage = 0; stage < stages; ++stage) engine[classes.first(stage)].times().note_passes();
  engine.run();

  const std::int64_t last = engine.last().id();
  EventResult result;
  result.makespan = {.time = engine[last].times().end(), .last_stage = classes.stage(last)};
  result.events = engine.events();
  result.actors = classes.actors();
  if (options.all_timelines)
    for (std::int32_t stage = 0; stage < stages; ++stage)
      result.timelines.push_back(engine[classes.first(stage)].times().timeline(stage));
  std::int64_t limiting = last;
  if (options.passes) {
    result.passes = passes_of_all(classes, [&](std::int64_t actor) { return engine[actor].times().pass_times(); });
    limiting = limiting_actor(classes, result, last);
  }
  // Records of everybody would outweigh the simulation; instead those that are wanted run again, alone where they only
  // depend on the messages they received, with all others where they met some of them. All runs are identical.
  if (together) {
    Engine again(classes, scripts, options);
    again[last].times().record();
    again[limiting].times().record();
    again.run();
    result.last = again[last].times().timeline(classes.stage(last));
    if (options.passes) result.limiting = again[limiting].times().timeline(classes.stage(limiting));
  } else {
    const auto again = [&](std::int64_t id) {
      const Actor& first = engine[id];
      Actor actor(id, first.rank(), scripts[classes.stage(id)], options);
      actor.times().record();
      for (std::int32_t pass = 0; pass < static_cast<std::int32_t>(first.times().passes()); ++pass)
        actor.arrived(pass, first.times().arrival(pass));
      Nobody nobody;
      actor.run(nobody);
      return actor.times().timeline(classes.stage(id));
    };
    result.last = again(last);
    if (options.passes) result.limiting = limiting == last ? result.last : again(limiting);
  }
  return result;
}

}  // namespace cairn::predict
