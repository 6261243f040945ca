#include "cairn/predict/evaluate/event.h"

#include <fmt/format.h>

#include "actor.h"
#include "at.h"
#include "cairn/core/assert.h"
#include "cairn/core/diagnostics.h"
#include "cairn/core/out_of_range.h"
#include "cairn/predict/evaluate/stage_times.h"
#include "meetings.h"
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

// Refuses what would take longer than some ten seconds.
void require_brief(const RankClasses& classes, const StageScripts& scripts, const EventOptions& options) {
  std::int64_t tasks = 0;
  for (std::int32_t stage = 0; stage < classes.actors() / classes.per_stage(); ++stage)
    tasks += classes.per_stage() * scripts[stage].tasks();
  const bool shared = options.demands != nullptr;
  if (const std::int64_t most = shared ? k_most_sharing : k_most_simulated; tasks > most)
    core::raise_too_many(
        tasks, most,
        {.key_path = shared ? "simulation.contention" : "training.global_batch",
         .what = shared ? "pieces of work that share links" : "pieces of work to simulate",
         .hint = shared ? "turn contention and interference off, or take fewer sequences: the time grows in proportion"
                        : "use --engine analytic, or fewer sequences: the time grows in proportion"});
}

// All actors, the messages between stages and the collectives in which actors meet.
class Engine final : public Surroundings {
 public:
  Engine(const RankClasses& classes, const StageScripts& scripts, const EventOptions& options)
      : classes_(classes), scripts_(scripts), progress_(options.progress), meetings_(classes) {
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
    const core::Picoseconds start = meetings_.join(communicator, stream, ready);
    if (start == k_unknown) return k_unknown;
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

  RankTimes& times(std::int64_t actor) { return actors_[at(actor)].times(); }
  const RankTimes& times(std::int64_t actor) const { return actors_[at(actor)].times(); }

 private:
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
  Meetings meetings_;
  std::vector<std::int64_t> waking_;
  std::vector<char> awake_;
};

// Where nothing is left to happen: what an actor sends and whom it meets is known already.
class Nobody final : public Surroundings {
 public:
  core::Picoseconds join(const Actor&, std::size_t, const Task&, core::Picoseconds ready) override { return ready; }
  void sent(const Actor&, std::int32_t, Span) override {}
};

// What a run of all actors tells, and whose timelines are wanted, which may only be known after it.
struct Told {
  EventResult result;
  std::int64_t last = 0;      // the actor that ends last; the lowest rank on ties
  std::int64_t limiting = 0;  // the one whose timeline tells what limits the step: `last` where its stage does
};

// One call of simulate(). A Step runs all actors: ahead of each other (Engine) or on one clock (SharedStep).
class Simulation {
 public:
  Simulation(const RankClasses& classes, const StageScripts& scripts, const EventOptions& options)
      : classes_(classes), scripts_(scripts), options_(options) {}

  EventResult alone() const {
    Engine engine(classes_, scripts_, options_);
    watch(engine);
    engine.run();
    Told told = tell(engine);
    // Records of everybody would outweigh the simulation; instead those that are wanted run again, alone where they
    // only depend on the messages they received, with all others where they met some of them. All runs are identical.
    if (classes_.per_stage() > 1) {
      run_again(told);
    } else {
      told.result.last = replay(engine, told.last);
      if (options_.passes)
        told.result.limiting = told.limiting == told.last ? told.result.last : replay(engine, told.limiting);
    }
    return std::move(told.result);
  }

  EventResult shared() const {
    SharedStep step(classes_, scripts_, options_);
    watch(step);
    // Whose record is wanted is known at the end; everybody's takes 16 bytes a task.
    for (std::int64_t actor = 0; actor < classes_.actors(); ++actor) step.times(actor).record();
    step.run();
    Told told = tell(step);
    told.result.units = options_.demands->units();
    told.result.uses = step.uses(told.result.makespan.time);
    add_timelines(step, told);
    return std::move(told.result);
  }

 private:
  std::int32_t stages() const { return static_cast<std::int32_t>(classes_.actors() / classes_.per_stage()); }

  // Keeps what was asked for of the first actor of every stage.
  template <class Step>
  void watch(Step& step) const {
    for (std::int32_t stage = 0; stage < stages(); ++stage) {
      RankTimes& times = step.times(classes_.first(stage));
      if (options_.all_timelines) times.record();
      if (options_.passes) times.note_passes();
    }
  }

  template <class Step>
  Told tell(const Step& step) const {
    Told told;
    EventResult& result = told.result;
    for (std::int64_t actor = 0; actor < classes_.actors(); ++actor) {
      const core::Picoseconds end = step.times(actor).end(), latest = step.times(told.last).end();
      if (end > latest || (end == latest && classes_.rank(actor) < classes_.rank(told.last))) told.last = actor;
      result.events += step.times(actor).events();
    }
    told.limiting = told.last;
    result.makespan = {.time = step.times(told.last).end(), .last_stage = classes_.stage(told.last)};
    result.actors = classes_.actors();
    for (std::int32_t stage = 0; stage < stages(); ++stage) {
      const RankTimes& times = step.times(classes_.first(stage));
      if (options_.all_timelines) result.timelines.push_back(times.timeline(stage));
      if (options_.passes) result.passes.push_back(times.pass_times());
    }
    if (options_.passes)
      if (const std::int32_t stage = limiting_stage(result.passes, result.makespan);
          stage != result.makespan.last_stage)
        told.limiting = classes_.first(stage);
    return told;
  }

  template <class Step>
  void add_timelines(const Step& step, Told& told) const {
    told.result.last = step.times(told.last).timeline(classes_.stage(told.last));
    if (options_.passes) told.result.limiting = step.times(told.limiting).timeline(classes_.stage(told.limiting));
  }

  void run_again(Told& told) const {
    Engine engine(classes_, scripts_, options_);
    engine.times(told.last).record();
    engine.times(told.limiting).record();
    engine.run();
    add_timelines(engine, told);
  }

  StageTimeline replay(const Engine& engine, std::int64_t id) const {
    const RankTimes& first = engine.times(id);
    Actor actor(id, classes_.rank(id), scripts_[classes_.stage(id)], options_);
    actor.times().record();
    for (std::int32_t pass = 0; pass < static_cast<std::int32_t>(first.passes()); ++pass)
      actor.arrived(pass, first.arrival(pass));
    Nobody nobody;
    actor.run(nobody);
    return actor.times().timeline(classes_.stage(id));
  }

  const RankClasses& classes_;
  const StageScripts& scripts_;
  const EventOptions& options_;
};

}  // namespace

EventResult simulate(const program::Program& program, PriceTable& prices, const EventOptions& options) {
  check(program, options);
  const RankClasses classes(program, options);
  const StageScripts scripts(program, prices, classes.per_stage() > 1);
  require_brief(classes, scripts, options);
  const Simulation simulation(classes, scripts, options);
  return options.demands != nullptr ? simulation.shared() : simulation.alone();
}

}  // namespace cairn::predict
