// FSDP (ZeRO 3) and offload: what a unit, that is one layer, moves to save memory, beside its operators' own transfers.
//
// Parameters that are sharded or off the device are fetched (gathered, copied) before the unit runs and freed after it;
// offloaded activations leave the device after the forward block and are fetched before the backward block. Fetches run
// ahead of computation by a distance d (prefetch): unit j issues the fetch of unit j+d when it starts, for then the
// memory of unit j-1 is free:
//   start(fetch j+d) >= end(unit j-1),   start(unit j) >= end(fetch j)
// The stream `fetched` (with distance 2 first `fetched_next`) records when a whole fetch has ended. The unit waits for
// that record alone, so what the communicators were given since does not delay it. With distance 0 a unit fetches for
// itself and waits. Kernels that gathered parameters still take (FrameworkBehaviour::copies_gathered) run on the
// compute stream once they have come, before the unit's first operator.
//
// Which unit fetches what, and when, is decided for a pass as a whole by src/plan/state/unit_passes.cpp: d is
// Strategy::prefetch, and the pass itself issues the fetches of its first d units as it begins.
#pragma once

#include <vector>

#include "cairn/program/parameter_group.h"
#include "cairn/program/program.h"

namespace cairn::plan {

// One hop of a fetch, for example from the drives to the host's memory: a collective or a copy.
struct Leg {
  program::Stream stream = program::Stream::data;
  program::Axis axis = program::Axis::data;
  program::Work work;
  friend bool operator==(const Leg&, const Leg&) = default;
};
Leg leg(const program::Transfer& transfer);
Leg leg(const program::Copy& copy);
// The Program step of a leg. Reading and writing drives launches no kernel.
program::Step step_of(const Leg& leg);

struct Fetch {
  std::vector<std::vector<Leg>> journeys;  // independent of each other; the legs of one run one after the other
  program::CategoryBytes bytes{};          // memory held from the moment the fetch is issued
  bool empty() const { return journeys.empty(); }
  friend bool operator==(const Fetch&, const Fetch&) = default;
};

struct UnitTraffic {
  Fetch fetch;                     // issued when the unit starts
  std::int64_t distance = 0;       // the unit it is for: this one (0), the next (1), the one after that (2)
  bool awaits = false;             // the unit waits for its own fetch, which an earlier unit issued
  std::vector<ir::Shard> kernels;  // that a gather of this unit's parameters takes beside the collective
  std::vector<program::Stream>
      closing;  // no fetch is left to issue: on these streams later passes still wait until this unit starts
  program::CategoryBytes given_up{};  // memory freed at the end of the unit
  std::vector<Leg> leaving;           // offload of saved activations after the unit: legs one after the other
  double left_bytes =
      0.0;  // activations that the unit before is copying out: computation waits for the copy, then they are freed

  bool nothing() const {
    return fetch.empty() && distance == 0 && !awaits && kernels.empty() && closing.empty() &&
           given_up == program::CategoryBytes{} && leaving.empty() && left_bytes == 0.0;
  }
  friend bool operator==(const UnitTraffic&, const UnitTraffic&) = default;
};

}  // namespace cairn::plan
