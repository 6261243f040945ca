// What evaluation needs of a schedule: which pass every device runs after which, and what each awaits.
//
// A device's row is its operations, then the end of the step: the pass that finalizes gradients, the one that updates
// parameters. Where the schedule itself says when parameters are updated, each of its optimizer operations is those two
// passes, and no more follow the last. Devices that hold the same parameters, a replica group, tell each other that
// their gradients are final: with n members, an update awaits n - 1 messages, all but the last in entries of their own.
//
// Side rows, what runs beside a device's computation, are merged into the device's own order, where an operation s of a
// side row is issued right behind the operation that it awaits:
//
//   start(s) = max( end of s-1 on its stream, end of what it awaits )
//
// stays what it is, since nothing but s waits for it there. Who awaits s runs an entry of its own first, whose arrival
// is the end of s. An operation that some operation awaits brings something to the device (parameters of its chunk,
// activations from the host), one that none awaits takes something away (gradients of its chunk, activations to the
// host). What is brought and taken occupies memory at these moments of the device's order:
//
//   parameters    from the issue of what brings them until the last pass of their chunk that reads them
//   gradients     from the first pass that makes them until they are known to have gone: when something is awaited that
//                 the same row brings later, or at the end
//   activations   leave until computation waits for it: before the next set leaves, or like gradients; come back at the
//                 issue of what brings them
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cairn/pipeline/schedule.h"
#include "cairn/pipeline/sweep.h"
#include "cairn/program/pass_key.h"
#include "cairn/program/stream.h"

namespace cairn::program {

// Stages that hold the same parameters.
struct ReplicaGroups {
  std::vector<std::vector<std::int32_t>> groups;  // disjoint
  std::vector<std::int32_t> group_of_stage;       // -1: none
  bool whole = false;                             // the stages of a group hold copies of all they hold
  friend bool operator==(const ReplicaGroups&, const ReplicaGroups&) = default;
};

// A slot says which of its stage's passes an entry runs: the layout's number of a PassKey.
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
    // Its end is awaited on its own device.
    bool told_at_home() const { return sends_to != Stream::next && sends_to != Stream::previous; }
  };
  // `times` repetitions of two slots in turn; `then` is the layout's size, a slot past the last, where one repeats
  // alone.
  struct Stretch {
    std::uint16_t slot = 0;
    std::uint16_t then = 0;
    std::int32_t times = 1;
  };

  PassLayout layout;
  std::uint32_t told_streams = 0;         // bit by stream: what steps that are told at home send to
  std::vector<Entry> entries;             // device after device
  std::vector<std::int32_t> entry_begin;  // devices + 1 offsets into entries
  std::vector<Step> sweep;                // those of all devices, in an order that respects what they await
  // From here on `sweep` has the ends of the rows of devices that are in no replica group, two entries each: they await
  // nothing, and nobody awaits them.
  std::size_t tails = 0;
  std::vector<char> has_tail;           // by device
  std::vector<Stretch> stretches;       // device after device
  std::vector<std::int32_t> row_begin;  // devices + 1 offsets into stretches

  // Side rows must be such that can_merge() holds; a schedule that updates within the step has no `replicas`.
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
