// One step in the order of time, where work that overlaps shares units: the same scripts as actors run (actor.h), with
// one clock for all of them, since how long a transfer takes depends on what else happens meanwhile.
//
// A stream knows how many of its tasks have ended. Task i of the r-th repetition of a block needs task j of stream s of
// the same instance: that stream must have ended  base_s + r count_s + j + 1  tasks, base_s those of all blocks before;
// its entry into the instance is j = -1. So nothing is kept of instances, and a waiting stream waits for one number.
//
// What a task does with units is in cairn/predict/price/demands.h; a meeting of several actors starts one piece of work over
// the units of all of them. Work without demands takes its price. Where units suffice, all instants are those of the
// actors that run ahead, bit for bit. A slow rank's computation takes the longer time and accordingly less of memory;
// its windows of slowness are applied to the time that it would take alone.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "cairn/predict/evaluate/event.h"
#include "cairn/predict/price/demands.h"
#include "cairn/sim/event_queue.h"
#include "cairn/sim/shared_work.h"
#include "meetings.h"
#include "rank_classes.h"
#include "rank_speed.h"
#include "rank_times.h"
#include "stage_script.h"
#include "unit_instances.h"
#include "unit_usage.h"

namespace cairn::predict {

class SharedStep {
 public:
  SharedStep(const RankClasses& classes, const StageScripts& scripts, const EventOptions& options);

  void run();

  RankTimes& times(std::int64_t actor) { return runners_[static_cast<std::size_t>(actor)].times; }
  const RankTimes& times(std::int64_t actor) const { return runners_[static_cast<std::size_t>(actor)].times; }
  std::int64_t tasks() const;  // of all actors
  // By stage and unit, those that were used, over the [0, end] of the step.
  std::vector<UnitUse> uses(core::Picoseconds end) const;

 private:
  using Tag = sim::SharedWork::Tag;  // a stream of an actor

  struct Order {  // of a stage's blocks
    const StageScript* script = nullptr;
    std::vector<std::array<std::int64_t, program::k_streams>> base;  // by stretch
    std::vector<const std::vector<UnitDemands>*> demands;            // by stretch, of each work of its block
  };
  struct Lane {  // a stream: the task it runs or is about to
    std::size_t stretch = 0;
    std::int64_t repeat = 0;
    std::int32_t task = 0;
    bool running = false;  // or waiting for others to join
    std::int64_t ended = 0;
    std::int64_t awaited = 0;  // what another stream must have ended
    core::Picoseconds start = 0;
  };
  struct Runner {
    Runner(const Order& its, const EventOptions& options, std::int64_t rank);
    const Order* order;
    RankSpeed speed;
    std::array<Lane, program::k_streams> lanes{};
    std::array<std::uint32_t, program::k_streams> waiting{};  // by stream: lanes that wait for it
    RankTimes times;
  };
  enum class Kind : std::uint32_t { end, wake };
  struct Event {
    Kind kind;
    std::uint32_t which;  // a tag, or a slot of the shared work
  };
  using Flow = boost::container::small_vector<sim::Demand, 8>;

  Tag tag(std::int64_t actor, std::size_t stream) const {
    return static_cast<Tag>(static_cast<std::size_t>(actor) * program::k_streams + stream);
  }
  void order_blocks(const StageScripts& scripts, Demands& demands);
  const std::vector<UnitDemands>& demands_of(const BlockLayout& layout, Demands& demands);
  bool at_task(const Order& order, Lane& lane, std::size_t stream) const;
  bool may_start(Runner& runner, std::size_t stream) const;
  void try_start(Tag tag);
  void meet(std::int64_t actor, std::size_t stream, const Task& task);
  void start(std::int64_t actor, std::size_t stream, const Task& task);
  void add(Flow& flow, std::int64_t actor, const UnitDemand& demand, double scale) const;
  void share(Tag tag, const Flow& flow, core::Picoseconds duration, double dominant);
  void end_work(Tag tag);
  void finish(std::int64_t actor, std::size_t stream);
  void arrive(std::int64_t sender, const PassId& consumer, Span message);
  void free_waiting(std::int64_t actor, std::size_t stream);
  void drain();
  void settle();

  const RankClasses& classes_;
  const std::function<void(std::size_t, std::size_t)>& progress_;
  std::int64_t done_ = 0;  // tasks
  const std::vector<SharedUnit>& units_;
  const bool interferes_;  // what kernels lose to transfers follows from demands
  UnitInstances instances_;
  UnitUsage usage_;
  std::unordered_map<const BlockLayout*, std::unique_ptr<std::vector<UnitDemands>>> known_;
  std::vector<Order> orders_;  // by stage
  std::vector<Runner> runners_;
  Meetings meetings_;
  std::vector<std::vector<sim::Demand>> flows_;  // by tag, while it shares
  std::vector<Tag> ready_;                       // streams that may be able to start
  sim::SharedWork work_;
  sim::EventQueue<Event> queue_;
  std::vector<Tag> ended_;            // in one wake
  std::vector<sim::LinkId> touched_;  // since the last settle
  bool changed_ = false;
};

}  // namespace cairn::predict
