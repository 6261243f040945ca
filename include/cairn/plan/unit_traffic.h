// What a unit (a layer) moves for the sake of memory, beside the transfers its operators need.
//
// Parameters that live in shards or off the device are fetched before the unit runs and given up after it; saved
// activations that live off the device leave after the forward block and are fetched before the backward block. Fetches
// run ahead of computation by `distance` units d: when unit j starts (so that what unit j-1 held is free), the fetch of
// unit j+d is asked for, and
//   start(fetch j+d) >= end(unit j-1),   start(unit j) >= end(fetch j)
// Everything of one fetch must have come: its end is noted on the stream `fetched` (with distance 2 first on
// `fetched_next`), where the unit finds it whatever else has been put on the communicators in between. With distance 0
// a unit asks for itself and waits.
#pragma once

#include <vector>

#include "cairn/program/parameter_group.h"
#include "cairn/program/program.h"

namespace cairn::plan {

// One stretch of the way: a collective or a copy.
struct Leg {
  program::Stream stream = program::Stream::data;
  program::Axis axis = program::Axis::data;
  program::Work work;
  friend bool operator==(const Leg&, const Leg&) = default;
};
Leg leg(const program::Transfer& transfer);
Leg leg(const program::Copy& copy);
// The step that does it. Drives are read and written without a kernel.
program::Step step_of(const Leg& leg);

struct Fetch {
  std::vector<std::vector<Leg>> journeys;  // each a chain
  program::CategoryBytes bytes{};          // held from the moment it is asked for
  bool empty() const { return journeys.empty(); }
  friend bool operator==(const Fetch&, const Fetch&) = default;
};

struct UnitTraffic {
  Fetch fetch;                // asked for when the unit starts
  std::int64_t distance = 0;  // whose it is: this unit's (0), the next one's (1), the one's after (2)
  bool awaits = false;        // the unit's own fetch was asked for earlier
  std::vector<program::Stream>
      closing;  // nothing more to ask for: what a later pass fetches on these waits like a fetch here would
  program::CategoryBytes given_up{};  // at the end of the unit
  std::vector<Leg> leaving;           // after the unit: a chain (saved activations)
  double left_bytes =
      0.0;  // activations whose copying was asked for by the unit before: computation waits, then they are free

  bool nothing() const {
    return fetch.empty() && distance == 0 && !awaits && closing.empty() && given_up == program::CategoryBytes{} &&
           leaving.empty() && left_bytes == 0.0;
  }
  friend bool operator==(const UnitTraffic&, const UnitTraffic&) = default;
};

}  // namespace cairn::plan
