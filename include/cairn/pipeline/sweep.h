// When the operations of a schedule run: a max-plus sweep over its order lists.
//
//   start(o) = max(end(previous operation of the row), end(producer(o)) + delay, end(awaited) + delay ...)
//   end(o)   = start(o) + duration(virtual stage of o, phase of o)
//
// Missing terms are left out; no start is below 0. Joined operations start at the largest of their starts and take the
// sum of their durations, less what the first one's stage saves when they are a forward and a backward.
//
// delay is the latency of the link between the two devices; it occupies neither and is 0 between stages of one device.
// All times are integers, so nothing is rounded here. The order in which the equations are solved is a property of the
// schedule alone and is made once.
#pragma once

#include <cstdint>
#include <vector>

#include "cairn/core/time.h"
#include "cairn/pipeline/repetition.h"
#include "cairn/pipeline/schedule.h"

namespace cairn::pipeline {

struct SweepStep {
  std::int32_t device = 0;  // or a side row: stages + its index
  Operation operation;
  std::int32_t producer = -1;  // position of the step whose result must arrive from the neighbouring stage; -1: none
};

// All operations in one order that respects the order lists and the producers: sorted by (slot, device), where the slot
// is the time at which the operation would start if every operation took one unit. Steps of a device appear in the
// order of its row.
struct SweepOrder {
  std::int32_t stages = 0;
  std::int32_t virtual_stages = 0;
  std::vector<SweepStep> steps;          // joined ones stand side by side
  std::vector<Repetition> repetitions;   // disjoint, ascending; none where there are waits
  std::vector<Wait> waits;               // further edges, as positions in `steps`, ascending
  std::vector<std::int32_t> row_device;  // device of every row
  std::int32_t chunks = 1;
  std::vector<std::int32_t> stage_of;  // virtual stage of [row * chunks + chunk]

  // Of a step's row and chunk.
  std::size_t place(const SweepStep& step) const {
    return static_cast<std::size_t>(step.device) * static_cast<std::size_t>(chunks) +
           static_cast<std::size_t>(step.operation.chunk);
  }
  std::int32_t virtual_stage(const SweepStep& step) const { return stage_of[place(step)]; }
};

// Expects an otherwise valid schedule; throws core::ConfigurationError naming the cycle when order lists wait for each
// other.
SweepOrder sweep_order(const Schedule& schedule);
// Throws as sweep_order() does, without making the order.
void require_runs_through(const Schedule& schedule);
// Whether the schedule has no deadlock, so that sweep_order() does not throw.
bool runs_through(const Schedule& schedule);

// Durations and delays of the virtual stages, any integer unit (picoseconds in a prediction).
class StageTimes {
 public:
  explicit StageTimes(std::int32_t virtual_stages)
      : durations_(static_cast<std::size_t>(virtual_stages) * k_phases, 0),
        up_(virtual_stages, 0),
        down_(virtual_stages, 0),
        saving_(virtual_stages, 0) {}

  core::Picoseconds duration(std::int32_t virtual_stage, Phase phase) const {
    return durations_[index(virtual_stage, phase)];
  }
  // Of all phases, in their order.
  const core::Picoseconds* durations(std::int32_t virtual_stage) const {
    return durations_.data() + index(virtual_stage, Phase::forward);
  }
  void set_duration(std::int32_t virtual_stage, Phase phase, core::Picoseconds value) {
    durations_[index(virtual_stage, phase)] = value;
  }
  void set_duration(Phase phase, core::Picoseconds value);  // the same for all

  // Latency of the activation leaving the stage for the stage above, and of the gradient leaving it for the stage
  // below.
  core::Picoseconds delay(std::int32_t virtual_stage, Phase phase) const {
    return phase == Phase::forward ? up_[virtual_stage] : down_[virtual_stage];
  }
  void set_delay(std::int32_t virtual_stage, Phase phase, core::Picoseconds value) {
    (phase == Phase::forward ? up_ : down_)[virtual_stage] = value;
  }
  void set_delay(core::Picoseconds value);  // the same for all

  // What joining a forward with a backward saves, where the first of the two is on this stage.
  core::Picoseconds saving(std::int32_t virtual_stage) const { return saving_[virtual_stage]; }
  void set_saving(std::int32_t virtual_stage, core::Picoseconds value) { saving_[virtual_stage] = value; }
  std::int32_t virtual_stages() const { return static_cast<std::int32_t>(up_.size()); }

 private:
  static std::size_t index(std::int32_t virtual_stage, Phase phase) {
    return static_cast<std::size_t>(virtual_stage) * k_phases + static_cast<std::size_t>(phase);
  }
  std::vector<core::Picoseconds> durations_;  // [virtual stage][phase]
  std::vector<core::Picoseconds> up_;
  std::vector<core::Picoseconds> down_;
  std::vector<core::Picoseconds> saving_;
};

struct SweepResult {
  std::vector<core::Picoseconds> start;  // by position in the order
  std::vector<core::Picoseconds> end;
  core::Picoseconds makespan = 0;       // from 0 to the last end
  std::vector<core::Picoseconds> busy;  // per row: sum of durations
  std::vector<core::Picoseconds> idle;  // per row: makespan - busy
  std::vector<core::Picoseconds> span;  // per row: last end - first start
};

SweepResult sweep(const SweepOrder& order, const StageTimes& times);
SweepResult sweep(const Schedule& schedule, const StageTimes& times);

// The makespan alone, equal to that of sweep(order, times). In a repetition, once the times that later steps depend on
// have all moved by the same amount D over some periods, every further step moves by D over as many periods (max and +
// commute with a shift), so the rest of the stretch is jumped over: long schedules cost little more than short ones.
core::Picoseconds makespan(const SweepOrder& order, const StageTimes& times);

}  // namespace cairn::pipeline
