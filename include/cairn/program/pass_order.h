// The order in which each device runs its passes, and what each pass waits for: what evaluation needs of a schedule.
//
// A device's row is its operations, then the end of the step: the pass that finalizes gradients, the one that updates
// parameters. Where the schedule itself says when parameters are updated, each of its optimizer operations is those two
// passes, and no more follow the last. Devices that hold the same parameters, a replica group, tell each other that
// their gradients are final: with n members, an update awaits n - 1 messages, all but the last in entries of their own.
//
// A side row lists transfers that run beside a device's computation (exchanges of parameters and gradients, copies of
// activations to the host and back). It is merged into the device's own order: transfer s is issued right behind the
// operation that it waits for, which keeps its start time,
//
//   start(s) = max( end of s-1 on its stream, end of what s waits for )
//
// An operation that waits for s runs an entry of its own first, which ends when s does. A transfer that some operation
// waits for brings data to the device (parameters of its chunk, activations); one that none waits for takes data away
// (gradients of its chunk, activations). The data occupy memory in the device's order:
//
//   parameters    from the issue of their transfer in to the last pass of their chunk that reads them
//   gradients     from the first pass that computes them until computation waits for their transfer out: before it uses
//                 the next data that the same row brings in, or at the end
//   activations   until computation waits for their transfer out: before the next set goes out, or as gradients do; and
//                 again from the issue of their transfer in
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cairn/pipeline/repetition.h"
#include "cairn/pipeline/schedule.h"
#include "cairn/pipeline/sweep.h"
#include "cairn/program/pass_key.h"
#include "cairn/program/stream.h"

namespace cairn::program {

// Stages that hold the same parameters.
struct ReplicaGroups {
  std::vector<std::vector<std::int32_t>> groups;  // disjoint
  std::vector<std::int32_t> group_of_stage;       // -1: none
  bool whole = false;                             // the stages of a group hold the same layers (model copies)
  friend bool operator==(const ReplicaGroups&, const ReplicaGroups&) = default;
};

// `slot` names the pass that an entry runs: it is PassLayout::slot() of its PassKey.
struct PassOrder {
  struct Entry {
    std::int32_t operation = -1;  // position in Schedule::operations; -1: the end of the step
    std::uint16_t slot = 0;
    PassKind kind = PassKind::forward;
  };
  struct Step {
    std::int32_t producer = -1;  // position in `sweep` of the step whose result must arrive; -1: none
    std::uint16_t device = 0;
    std::uint16_t slot = 0;
    Stream sends_to = Stream::next;
    bool awaited = false;  // it is the producer of some step
    // Whether another entry of the same device waits for its end (transfers of side rows).
    bool awaited_on_own_device() const { return sends_to != Stream::next && sends_to != Stream::previous; }
  };
  // Run-length code of a row: `slot` and `then` in turn, `times` times. `then` is the layout's size, which is no slot,
  // where `slot` repeats alone.
  struct Stretch {
    std::uint16_t slot = 0;
    std::uint16_t then = 0;
    std::int32_t times = 1;
  };

  PassLayout layout;
  std::uint32_t awaited_streams = 0;      // bit s: some step with awaited_on_own_device() sends to stream s
  std::vector<Entry> entries;             // device after device
  std::vector<std::int32_t> entry_begin;  // devices + 1 offsets into entries
  std::vector<Step> sweep;                // entries of all devices, each behind what it waits for
  // From position `tails` on, `sweep` holds the last two entries (finalize, update) of every device that is in no
  // replica group: they wait for no other device, and none waits for them.
  std::size_t tails = 0;
  std::vector<pipeline::Repetition> repetitions;  // of the sweep up to `tails`
  std::vector<char> has_tail;                     // by device
  // By device: the slot of the pass before the end of its step; that of an end where the schedule itself updates parameters,
  // or where there is no pass.
  std::vector<std::uint16_t> last_slot;
  std::vector<Stretch> stretches;       // device after device
  std::vector<std::int32_t> row_begin;  // devices + 1 offsets into stretches

  // Valid where can_merge() holds, and without `replicas` where the schedule updates parameters within the step.
  static PassOrder of(const pipeline::Schedule& schedule, const pipeline::SweepOrder& order,
                      const ReplicaGroups& replicas = {});
  static bool can_merge(const pipeline::Schedule& schedule);

  std::span<const Entry> row(std::int32_t device) const {
    const auto begin = static_cast<std::size_t>(entry_begin[static_cast<std::size_t>(device)]);
    const auto end = static_cast<std::size_t>(entry_begin[static_cast<std::size_t>(device) + 1]);
    return std::span(entries).subspan(begin, end - begin);
  }
};

}  // namespace cairn::program
