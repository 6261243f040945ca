// One simulated rank: streams that run their tasks first in, first out, each with a clock of its own.
//
// A task starts when the task before it on its stream and all its dependencies have ended. Inside an actor the Program
// alone decides that, so a stream may run ahead of the others, and no event queue is needed: if a dependency lies on a
// stream that lags, that stream is run first ("pulled"). A stream stops only where it needs news from outside: a
// message that another stage has not sent yet, or a collective for which another actor is not ready. This is
// conservative simulation with unlimited look-ahead; a time once known never changes, so the order in which actors and
// streams run has no influence on the result. Source: Chandy, Misra, "Distributed Simulation: A Case Study in Design
// and Verification of Distributed Programs", IEEE Trans. Software Engineering 5(5), 1979.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "rank_speed.h"
#include "rank_times.h"
#include "stage_script.h"

namespace cairn::predict {

class Actor;

// The other actors, as one actor sees them.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  // Called once per collective when `actor` is ready for it. Returns the start of the collective, or k_unknown while
  // another actor is not ready; then Actor::joined tells the start later.
  virtual core::Picoseconds join(const Actor& actor, std::size_t stream, const Task& task, core::Picoseconds ready) = 0;
  virtual void sent(const Actor& actor, std::int32_t pass, Span span) = 0;
};

class Actor {
 public:
  Actor(std::int64_t id, std::int64_t rank, const StageScript& script, const EventOptions& options);

  // Runs every stream until it needs news from outside or is done.
  void run(Surroundings& surroundings);
  // News from outside: a message has arrived, a collective starts. The next run() uses them.
  void arrived(std::int32_t pass, const Span& message) { times_.arrive(pass, message); }
  void joined(std::size_t stream, core::Picoseconds start);

  std::int64_t id() const { return id_; }
  bool done() const;
  std::int64_t instances() const { return made_; }  // of blocks, begun so far
  RankTimes& times() { return times_; }
  const RankTimes& times() const { return times_; }

 private:
  // One execution of a block, and the instants known of it.
  struct Instance {
    const BlockLayout* block = nullptr;
    std::int32_t pass = 0;
    std::vector<core::Picoseconds> known;  // by slot
  };
  // Where a stream stands: before task `task` of block instance `instance`, -1 before the first.
  struct Cursor {
    std::int64_t instance = -1;
    std::int32_t task = 0;
    bool running = false;                 // it is being run already, further up the call stack of pulls
    bool joining = false;                 // it waits for Actor::joined
    core::Picoseconds free = 0;           // end of the task before
    core::Picoseconds start = k_unknown;  // of the task it joins, once told
    bool past(std::int64_t index, std::int32_t last) const {
      return instance > index || (instance == index && task > last);
    }
  };

  std::size_t place(std::int64_t index) const { return static_cast<std::size_t>(index) & (ring_.size() - 1); }
  Instance& instance(std::int64_t index) { return ring_[place(index)]; }
  const Instance& instance(std::int64_t index) const { return ring_[place(index)]; }
  void make_instance();
  void make_room();
  bool has_left(const Cursor& cursor, std::size_t stream) const;
  bool enter_next(std::size_t stream);
  bool advance(std::size_t stream, std::int64_t index, std::int32_t task, Surroundings& surroundings);
  bool run_to(std::size_t stream, std::int64_t index, std::int32_t task, Surroundings& surroundings);
  bool pull(const Need& need, std::int64_t index, Surroundings& surroundings);
  bool execute(std::size_t stream, const BlockLayout& block, core::Picoseconds* known, std::int32_t pass,
               Surroundings& surroundings);

  std::int64_t id_;
  const StageScript* script_;
  RankSpeed speed_;
  std::array<Cursor, program::k_streams> cursors_{};
  std::vector<Instance> ring_;  // instances made and not yet left by every stream
  std::int64_t made_ = 0;
  std::int64_t oldest_ = 0;
  std::size_t stretch_ = 0;  // of the next instance to make
  std::int64_t repeat_ = 0;
  RankTimes times_;
};

}  // namespace cairn::predict
